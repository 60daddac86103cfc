"""Record + Energy -> Instance: here the weights meet the raw quantities, in a millisecond."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policrf.crf.instance import Instance
from policrf.crf.model import CRF
from policrf.crf.potentials import BoxAgreement, BoxSupport, Potential, Potts
from policrf.crf.selection import parse_potentials
from policrf.types import FloatArray
from policrf.vision.energy.band import NO_EDGES, WeightedEdges, free_nodes, pinned
from policrf.vision.energy.node_features import Members, edge_weights, node_features
from policrf.vision.energy.weights import Energy
from policrf.vision.record import Record


def to_instance(
    record: Record,
    energy: Energy,
    *,
    potentials: str = "u+p+hop1+hop2",
    features: str = "paper",
    label_names: Sequence[str] = (),
    source: dict[str, Any] | None = None,
) -> Instance:
    """The instance of one image under one energy.

    Parameters
    ----------
    record, energy
        The image's raw quantities, and the weights that meet them here.
    potentials
        Which terms the energy has, joined by +.
    features
        "paper", "appearance", "ridden", or several joined by +.
    label_names
        L names, or none.
    source
        More to say about where it comes from.
    """
    kinds = parse_potentials(potentials)
    members = box_members(record, energy.foreground)
    costs = unary(record, energy)
    edges = weighted_edges(record, energy) if Potts in kinds else NO_EDGES
    if energy.band > 0:
        best = costs.argmin(axis=1)
        costs, edges = pinned(costs, edges, best, free_nodes(record, best, energy))
    groups: list[Potential] = [Potts(*edges)] if Potts in kinds else []
    if BoxAgreement in kinds:
        groups += agreement(record, members, energy)
    if BoxSupport in kinds:
        groups += support(record, members, energy)
    values, names = node_features(record, members, features)
    return Instance(
        crf=CRF(costs, *groups),
        features=values,
        edges=record.edges.astype(np.int64),
        edge_weights=edge_weights(record, energy.temperature),
        truth=record.truth,
        label_names=tuple(label_names),
        feature_names=names,
        source={"name": record.name, "potentials": potentials} | dict(source or {}),
        positions=record.centres(),
    )


def unary(record: Record, energy: Energy) -> FloatArray:
    """−log of the mean class distribution, or minus the sum of log-probabilities, `[N, L]`."""
    if energy.unary == "pixels":
        mean = np.maximum(record.log_probability.astype(np.float64), np.log(energy.floor))
        return -mean * record.pixels[:, None]
    return -np.log(np.maximum(record.distribution.astype(np.float64), energy.floor))


def pairwise(record: Record, energy: Energy) -> Potts:
    """All edges as a potential, whatever the band."""
    return Potts(*weighted_edges(record, energy))


def weighted_edges(record: Record, energy: Energy) -> WeightedEdges:
    """The edges whose gate is open and the long-range edges; pairs that are both add up."""
    weights = energy.alpha * (
        contrast(record, energy) if energy.gate == "contrast" else gated(record, energy)
    )
    edges = record.edges
    if energy.long_range > 0 and len(record.far_edges):
        edges, weights = added_up(
            np.concatenate([edges, record.far_edges]),
            np.concatenate([weights, energy.long_range * long_range(record, energy)]),
            record.n_nodes,
        )
    chosen = weights > 1e-9
    return WeightedEdges(edges[chosen].astype(np.int64), weights[chosen])


def gated(record: Record, energy: Energy) -> FloatArray:
    """1 (with unary = pixels: the border's length) where a hard gate is open, `[M]`."""
    strength = np.abs(record.product)
    chosen = strength < energy.beta if energy.gate == "below" else strength >= energy.beta
    return np.asarray(chosen * (record.length if energy.unary == "pixels" else 1.0), np.float64)


def long_range(record: Record, energy: Energy) -> FloatArray:
    """Weights of the long-range edges that sum to about 1 a pixel of a superpixel, `[K]`.

    DenseCRF's appearance kernel on superpixels, normalised as D^(−1/2) K D^(−1/2) over pixels.
    """
    first, second = record.far_edges[:, 0], record.far_edges[:, 1]
    feature = np.concatenate(
        [record.position * (record.working_size / energy.reach), record.colour / energy.sigma_far],
        axis=1,
    ).astype(np.float64)
    kernel = np.exp(-0.5 * ((feature[first] - feature[second]) ** 2).sum(axis=1))
    sizes, count = record.pixels.astype(np.float64), record.n_nodes
    mass = sizes + np.bincount(first, sizes[second] * kernel, count)
    mass += np.bincount(second, sizes[first] * kernel, count)
    return np.asarray(sizes[first] * sizes[second] * kernel / np.sqrt(mass[first] * mass[second]))


def added_up(
    edges: NDArray[np.int32], weights: FloatArray, count: int
) -> tuple[NDArray[np.int32], FloatArray]:
    """Each pair of nodes once, with the sum of its weights; pairs have the lower number first."""
    keys = edges[:, 0].astype(np.int64) * count + edges[:, 1]
    unique, at = np.unique(keys, return_inverse=True)
    pairs = np.stack([unique // count, unique % count], axis=1).astype(np.int32)
    return pairs, np.asarray(np.bincount(at, weights), np.float64)


def contrast(record: Record, energy: Energy) -> FloatArray:
    """Border length · exp(−distance in colour and features), `[M]`."""
    first, second = record.edges[:, 0], record.edges[:, 1]
    colour = ((record.colour[first] - record.colour[second]) ** 2).sum(axis=1, dtype=np.float64)
    feature = 1.0 - record.product.astype(np.float64)
    exponent = colour / (2 * energy.sigma_colour**2) + feature / energy.sigma_feature
    return np.asarray(record.length * np.exp(-exponent))


def box_members(record: Record, foreground: float) -> Members:
    """I_b of every box: the superpixels that are mostly foreground; never empty.

    Where no superpixel is foreground enough, the one with the largest share stands for the box.
    """
    members = []
    for b in range(len(record.box_scores)):
        part = slice(record.box_ptr[b], record.box_ptr[b + 1])
        nodes, shares = record.box_nodes[part].astype(np.int64), record.box_shares[part]
        inside = shares >= foreground
        members.append(nodes[inside] if inside.any() else nodes[np.argsort(-shares)[:1]])
    return members


def node_weight(
    record: Record, members: Members, chosen: Sequence[int], energy: Energy
) -> FloatArray:
    """What a node of each chosen box counts: 1, or the mean number of pixels of its nodes."""
    if energy.unary == "mean":
        return np.ones(len(chosen))
    return np.asarray([record.pixels[members[b]].mean() for b in chosen], np.float64)


def agreement(record: Record, members: Members, energy: Energy) -> list[BoxAgreement]:
    """HOP1 for every box with a label."""
    chosen = [int(b) for b in np.flatnonzero(record.box_labels > 0) if len(members[b])]
    if not chosen or energy.w == 0:
        return []
    weights = energy.w * record.box_scores[chosen] * node_weight(record, members, chosen, energy)
    labels = record.box_labels[chosen].astype(np.int64)
    return [BoxAgreement([members[b] for b in chosen], labels, weights)]


def support(record: Record, members: Members, energy: Energy) -> list[BoxSupport]:
    """HOP2 for the special boxes, with the label that each of them asks for, or for all boxes."""
    wanted = record.box_support
    if energy.support == "all":
        wanted = np.where(
            wanted >= 0, wanted, np.where(record.box_labels > 0, record.box_labels, -1)
        )
    chosen = [int(b) for b in np.flatnonzero(wanted >= 0) if len(members[b])]
    if not chosen or energy.lambda_ == 0:
        return []
    labels = wanted[chosen].astype(np.int64)
    sizes = np.asarray([len(members[b]) for b in chosen], np.float64)
    scale = np.ones_like(sizes)
    if energy.penalty == "per_node":
        weight = node_weight(record, members, chosen, energy)
        scale = sizes * record.box_scores[chosen] * weight
    penalties = energy.lambda_ * scale
    return [BoxSupport([members[b] for b in chosen], labels, penalties, sizes / energy.C)]
