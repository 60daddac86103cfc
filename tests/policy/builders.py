"""Instances and policies that the tests of the engine share."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from scipy.spatial import Delaunay

import policrf as pc
from policrf.crf.features import softmax_over_neighbours
from policrf.policy.network import Spec

KINDS = [
    ("paper", "partial"),
    ("residual", "partial"),
    ("residual", "completed"),
    ("residual", "relaxed"),
    ("residual", "expected"),
    ("shared", "partial"),
    ("shared", "completed"),
    ("shared", "expected"),
]


def random_instance(
    n_nodes: int, seed: int, *, hub: int = 0, parts: int = 1, n_labels: int = 5, n_features: int = 7
) -> pc.Instance:
    """Planar graphs with Potts, HOP1 and HOP2 terms; in `parts` pieces, or with a hub."""
    rng = np.random.default_rng(seed)
    points = rng.random((n_nodes, 2))
    piece = np.arange(n_nodes) * parts // n_nodes
    points[:, 0] += 10.0 * piece
    triangles = Delaunay(points).simplices
    pairs = np.sort(
        np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [0, 2]]])
    )
    edges = np.unique(pairs, axis=0)
    edges = edges[piece[edges[:, 0]] == piece[edges[:, 1]]]
    if hub:
        spokes = np.stack([np.zeros(hub, np.int64), 1 + rng.permutation(n_nodes - 1)[:hub]], axis=1)
        edges = np.unique(np.concatenate([edges, spokes]), axis=0)
    boxes = [np.sort(rng.choice(n_nodes, max(3, n_nodes // 6), replace=False)) for _ in range(4)]
    crf = pc.CRF(
        rng.normal(size=(n_nodes, n_labels)),
        pc.Potts(
            edges[:: 1 if n_nodes < 100 else 2],
            rng.random(len(edges[:: 1 if n_nodes < 100 else 2])),
        ),
        pc.BoxAgreement(boxes[:2], rng.integers(0, n_labels, 2), rng.random(2)),
        pc.BoxSupport(
            boxes[1:], rng.integers(0, n_labels, 3), 3.0 + rng.random(3), [3, n_nodes // 12, 2]
        ),
    )
    weights = softmax_over_neighbours(edges, rng.normal(size=len(edges)), n_nodes)
    return pc.Instance(crf, rng.normal(size=(n_nodes, n_features)), edges, weights)


def climbs(labels, parameters):
    """For every fall from one member to the next."""
    return float(parameters[0] * np.sum(labels[:-1] > labels[1:]))


def gaps(labels, parameters):
    """For every label beside another one, with members that have none left open."""
    known = labels[labels >= 0]
    return float(parameters[0] * np.sum(known[:-1] != known[1:]) - 0.2 * np.sum(labels < 0))


def distinct(counts, parameters):
    """For every label but the first."""
    return float(parameters[0] * max(0, np.sum(counts > 0) - 1))


def odd(counts, parameters):
    """For every label with an odd number of members."""
    return float(parameters[0] * np.sum(counts % 2))


HALFWAY = ("subset", "marked", "counts", "parity")


def halfway_crf(
    seed: int, *, n_nodes: int = 18, size: int = 7, forms: Collection[str] = HALFWAY
) -> pc.CRF:
    """Four labels, a chain, and overlapping cliques that are asked half-way in these forms."""
    rng = np.random.default_rng(seed)
    cliques = [np.sort(rng.choice(n_nodes, size, replace=False)) for _ in range(3)]
    groups = {
        "subset": pc.Custom(cliques, climbs, [[0.7]] * 3, partial="subset"),
        "marked": pc.Custom(cliques[1:], gaps, [[0.4]] * 2, partial=gaps),
        "counts": pc.Custom(cliques[:2], distinct, [[1.1]] * 2, of="counts"),
        "parity": pc.Custom(cliques[1:], odd, [[0.3]] * 2, of="counts"),
    }
    edges = [[i, i + 1] for i in range(n_nodes - 1)]
    unary = rng.exponential(size=(n_nodes, 4))
    return pc.CRF(unary, pc.Potts(edges, 0.3), *(groups[form] for form in forms))


def halfway_instance(seed: int, **options) -> pc.Instance:
    """The same with plain features."""
    return pc.Instance.from_crf(halfway_crf(seed, **options))


def random_policy(
    instance: pc.Instance, kind: str, costs: str, seed: int, *, layers: int = 3, width: int = 32
) -> pc.Policy:
    """Every tensor random, the correction too; hidden sizes that are not whole lanes."""
    spec = Spec(
        n_labels=instance.crf.n_labels,
        n_features=instance.features.shape[1],
        kind=kind,
        layers=layers,
        width=width,
        head_width=10,
        costs=costs,
        foresight=seed % 3,
        squash=seed % 2 == 0,
        units=seed % 3 != 2,
    )
    rng = np.random.default_rng(seed)
    weights = {
        name: (rng.normal(size=shape) / np.sqrt(max(1, shape[-1]))).astype(np.float32)
        for name, shape in spec.shapes().items()
    }
    return pc.Policy(spec, weights)
