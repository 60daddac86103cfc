"""Small random CRFs with every group of potentials mixed, from a seed."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import (
    BoxAgreement,
    BoxSupport,
    Custom,
    Potential,
    Potts,
    Tables,
)
from policrf.testing.random_groups import BUILT_IN, random_cliques, random_edges
from policrf.types import FloatArray, IntArray

PAPER_GROUPS = ("potts", "hop1", "hop2", "tables", "custom")
GROUPS = (*PAPER_GROUPS, *BUILT_IN)


def spread(labels: IntArray, parameters: FloatArray) -> float:
    """A custom potential: `parameters[0]` for every distinct label of the clique but the first."""
    distinct = 0
    for i in range(len(labels)):
        new = True
        for j in range(i):
            if labels[i] == labels[j]:
                new = False
        distinct += new
    return float(parameters[0] * (distinct - 1))


def random_crf(
    seed: int,
    *,
    n_nodes: int = 6,
    n_labels: int = 3,
    groups: Collection[str] = PAPER_GROUPS,
    forbidden: float = 0.0,
    ragged: bool = False,
    scale: float = 1.0,
    tree: bool = False,
    partial: str = "complete",
) -> CRF:
    """A CRF of random structure and energies.

    Parameters
    ----------
    seed
        The same seed gives the same CRF.
    n_nodes
        N.
    n_labels
        L, the largest number of labels of a node.
    groups
        Which of `GROUPS` to put in.
    forbidden
        The share of labels, and of table entries, that are forbidden (+inf).
    ragged
        Whether nodes have different numbers of labels.
    scale
        Multiplies every energy.
    tree
        Whether Potts edges form a tree.
    partial
        How hop1, hop2 and tables are asked about a part: "complete" or "lowest".
    """
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, n_labels + 1, n_nodes) if ragged else np.full(n_nodes, n_labels)
    cards[rng.integers(n_nodes)] = n_labels
    unary = rng.normal(size=(n_nodes, n_labels)) * scale
    unary[rng.random(unary.shape) < forbidden] = np.inf
    unary[:, 0] = np.where(np.isinf(unary[:, 0]), 0.0, unary[:, 0])
    unary[np.arange(n_labels) >= cards[:, None]] = np.inf
    built: list[Potential] = []
    for group in groups:
        potential = _random_group(group, rng, cards, n_labels, scale, forbidden, tree, partial)
        if potential is not None:
            built.append(potential)
    return CRF(unary, *built, cardinalities=cards)


def _random_group(
    group: str,
    rng: np.random.Generator,
    cards: IntArray,
    n_labels: int,
    scale: float,
    forbidden: float,
    tree: bool,
    partial: str,
) -> Potential | None:
    n_nodes = len(cards)
    count = int(rng.integers(1, 4))
    if group == "potts":
        edges = _tree(rng, n_nodes) if tree else random_edges(rng, n_nodes)
        return Potts(edges, rng.random(len(edges)) * scale) if len(edges) else None
    if group == "hop1":
        cliques = random_cliques(rng, n_nodes, count, n_nodes)
        weights, labels = rng.random(count) * scale, rng.integers(0, n_labels, count)
        return BoxAgreement(cliques, labels, weights, partial)
    if group == "hop2":
        cliques = random_cliques(rng, n_nodes, count, n_nodes)
        wanted = [rng.integers(0, len(clique) + 2) for clique in cliques]
        penalties = 2 * rng.random(count) * scale
        labels = rng.integers(0, n_labels, count)
        return BoxSupport(cliques, labels, penalties, wanted, partial)
    if group == "tables":
        scopes = random_cliques(rng, n_nodes, count, min(3, n_nodes))
        tables = [rng.normal(size=cards[scope]) * scale for scope in scopes]
        for table in tables:
            table[rng.random(table.shape) < forbidden] = np.inf
            table.reshape(-1)[0] = 0.0
        return Tables(scopes, tables, partial)
    if group == "custom":
        cliques = random_cliques(rng, n_nodes, count, min(4, n_nodes))
        return Custom(cliques, spread, rng.normal(size=(count, 1)) * scale)
    if group in BUILT_IN:
        return BUILT_IN[group](rng, cards, n_labels, scale, forbidden)
    raise ValueError(f"unknown group {group!r}; there are {', '.join(GROUPS)}")


def _tree(rng: np.random.Generator, n_nodes: int) -> IntArray:
    return np.array([[rng.integers(i), i] for i in range(1, n_nodes)], np.int64).reshape(-1, 2)
