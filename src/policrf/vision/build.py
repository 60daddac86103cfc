"""Record + Energy -> Instance: here the weights meet the raw quantities, in a millisecond."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from policrf.crf.instance import Instance
from policrf.crf.model import CRF
from policrf.crf.potentials import BoxAgreement, BoxSupport, Potential, Potts
from policrf.crf.selection import parse_potentials
from policrf.types import FloatArray
from policrf.vision.energy_weights import Energy
from policrf.vision.node_features import Members, edge_weights, node_features
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
        "paper", "appearance" or "paper+appearance".
    label_names
        L names, or none.
    source
        More to say about where it comes from.
    """
    kinds = parse_potentials(potentials)
    members = box_members(record, energy.foreground)
    groups: list[Potential] = []
    if Potts in kinds:
        groups.append(pairwise(record, energy))
    if BoxAgreement in kinds:
        groups += agreement(record, members, energy)
    if BoxSupport in kinds:
        groups += support(record, members, energy)
    values, names = node_features(record, members, features)
    return Instance(
        crf=CRF(unary(record, energy), *groups),
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
    """−log of the mean class distribution, `[N, L]`."""
    return -np.log(np.maximum(record.distribution.astype(np.float64), energy.floor))


def pairwise(record: Record, energy: Energy) -> Potts:
    """The edges whose gate is open, with their weights."""
    if energy.gate == "contrast":
        weights = energy.alpha * contrast(record, energy)
        chosen = weights > 1e-9
        return Potts(record.edges[chosen].astype(np.int64), weights[chosen])
    strength = np.abs(record.product)
    chosen = strength < energy.beta if energy.gate == "below" else strength >= energy.beta
    return Potts(record.edges[chosen].astype(np.int64), energy.alpha)


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


def agreement(record: Record, members: Members, energy: Energy) -> list[BoxAgreement]:
    """HOP1 for every box with a label."""
    chosen = [b for b in np.flatnonzero(record.box_labels > 0) if len(members[b])]
    if not chosen or energy.w == 0:
        return []
    weights = energy.w * record.box_scores[chosen].astype(np.float64)
    labels = record.box_labels[chosen].astype(np.int64)
    return [BoxAgreement([members[b] for b in chosen], labels, weights)]


def support(record: Record, members: Members, energy: Energy) -> list[BoxSupport]:
    """HOP2 for the special boxes, with the label that each of them asks for, or for all boxes."""
    wanted = record.box_support
    if energy.support == "all":
        wanted = np.where(
            wanted >= 0, wanted, np.where(record.box_labels > 0, record.box_labels, -1)
        )
    chosen = [b for b in np.flatnonzero(wanted >= 0) if len(members[b])]
    if not chosen or energy.lambda_ == 0:
        return []
    labels = wanted[chosen].astype(np.int64)
    sizes = np.asarray([len(members[b]) for b in chosen], np.float64)
    scale = sizes * record.box_scores[chosen] if energy.penalty == "per_node" else 1.0
    penalties = energy.lambda_ * scale * np.ones_like(sizes)
    return [BoxSupport([members[b] for b in chosen], labels, penalties, sizes / energy.C)]
