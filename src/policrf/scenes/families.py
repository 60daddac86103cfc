"""Families of hard potentials: CRFs with terms that no solver knows from inside.

Each is a grid with unaries from exponential(1), Potts edges of 0.3 and a `Custom` group whose
cliques are rectangles of about 36 nodes, all nodes, or columns. All can be asked half-way, as
functions of counts where the order of the members does not matter.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import Custom, Potts
from policrf.errors import InvalidOption, UnknownName
from policrf.random_numbers import checked_seed
from policrf.types import FloatArray, IntArray

FAMILIES: dict[str, str] = {
    "two_labels": "A region should hold no more than two labels.",
    "absent_or_many": "A label is absent from a region, or has 14 of 36 of its nodes or more.",
    "label_cost": "Every label that is used anywhere has its price, 8 for 144 nodes.",
    "co_occurrence": "Some pairs of labels should not meet in a region.",
    "size_prior": "A label should have none, a third or all of a region.",
    "parity": "A label should have an even number of a region's nodes.",
    "random_network": "A random network looks at the shares of the labels in a region.",
    "order": "Labels should not fall from the top of a column to its bottom.",
    "connectivity": "The nodes of a label in a region should be connected.",
    "black_box": "A simulation judges a region; a call costs some 10 µs.",
}
"""What each family asks for, by name."""

EDGE = 0.3  # weight of the Potts edges
LABEL_PRICE = 8 / 144  # a node
REGION = 36  # nodes of a region, about
NETWORK_SEED = 77  # one network for the whole family, whatever the instance
MOST_LABELS = 32  # rows of that network


class _Grid(NamedTuple):
    """N nodes, row by row; the last row may be shorter."""

    rows: IntArray  # [N]
    columns: IntArray  # [N]
    regions: list[IntArray]


def make_family(name: str, n_nodes: int, n_labels: int = 6, seed: int = 0) -> CRF:
    """A CRF of a family; the same one for the same arguments.

    Parameters
    ----------
    name
        One of `FAMILIES`.
    n_nodes
        Number of nodes, 4 or more.
    n_labels
        Number of labels, 2 to 32.
    seed
        Of the unaries, and of the pairs of labels in "co_occurrence".

    >>> make_family("parity", 64)
    CRF(64 nodes, 6 labels, Potts(112 edges), Custom(4 cliques, sizes 16–16))
    """
    if name not in FAMILIES:
        raise UnknownName(
            f"no family of potentials is called {name!r}; there are {', '.join(FAMILIES)}"
        )
    if n_nodes < 4 or not 2 <= n_labels <= MOST_LABELS:
        raise InvalidOption(
            f"a family needs 4 nodes or more and 2 to {MOST_LABELS} labels, not {n_nodes} and "
            f"{n_labels}"
        )
    rng = np.random.default_rng(checked_seed(seed))
    grid = _grid(n_nodes)
    group = _group(name, grid, n_labels, rng)
    unary = rng.exponential(size=(n_nodes, n_labels))
    return CRF(unary, Potts(_edges(grid), EDGE), group)


def _grid(n_nodes: int) -> _Grid:
    """As square as the number of nodes allows."""
    root = math.isqrt(n_nodes)
    height = max(k for k in range(1, root + 1) if n_nodes % k == 0)
    if height < root / 2:
        height = root  # a shorter last row instead of a strip
    width = -(-n_nodes // height)
    rows, columns = np.divmod(np.arange(n_nodes), width)
    down = min(height, max(2, round(height / 6)))
    across = min(width, max(2, round(n_nodes / REGION / down)))
    place = (rows * down // height) * across + columns * across // width
    regions = [np.flatnonzero(place == k) for k in range(down * across)]
    return _Grid(rows, columns, [members for members in regions if len(members)])


def _edges(grid: _Grid) -> IntArray:
    n_nodes, width = len(grid.rows), int(grid.columns.max()) + 1
    nodes = np.arange(n_nodes)
    right = nodes[(grid.columns < width - 1) & (nodes < n_nodes - 1)]
    below = nodes[nodes + width < n_nodes]
    pairs = [np.stack([right, right + 1], 1), np.stack([below, below + width], 1)]
    return np.concatenate(pairs)


def _group(name: str, grid: _Grid, n_labels: int, rng: np.random.Generator) -> Custom:
    from policrf.scenes import family_functions

    function = getattr(family_functions, name)
    cliques = grid.regions
    if name == "label_cost":
        cliques = [np.arange(len(grid.rows))]
    elif name == "order":
        cliques = [np.flatnonzero(grid.columns == k) for k in range(int(grid.columns.max()) + 1)]
    parameters = _parameters(name, grid, cliques, n_labels, rng)
    if name == "connectivity":
        return Custom(cliques, function, parameters, partial=function)
    if name in ("order", "black_box"):
        return Custom(cliques, function, parameters, partial="subset")
    return Custom(cliques, function, parameters, of="counts")


def _parameters(
    name: str, grid: _Grid, cliques: list[IntArray], n_labels: int, rng: np.random.Generator
) -> list[FloatArray] | None:
    """What the function needs to know of every clique; see `family_functions`."""
    match name:
        case "absent_or_many":
            return [np.array([int(14 * len(clique) / REGION + 0.5)], float) for clique in cliques]
        case "label_cost":
            # It grows with N: the price of one label would not matter to many nodes.
            return [np.array([LABEL_PRICE * len(clique)]) for clique in cliques]
        case "size_prior":
            return [np.array([len(clique)], float) for clique in cliques]
        case "co_occurrence":
            half = np.triu(rng.random((n_labels, n_labels)) < 0.5, 1) * 6.0
            return [(half + half.T).reshape(-1)] * len(cliques)
        case "random_network":
            return [_network(n_labels)] * len(cliques)
        case "connectivity":
            return [np.array([np.ptp(grid.columns[clique]) + 1], float) for clique in cliques]
        case "black_box":
            return [np.array([n_labels], float)] * len(cliques)
    return None


def _network(n_labels: int) -> FloatArray:
    """First layer `[L, H]`, its bias `[H]` and the second layer `[H]`, flat."""
    from policrf.scenes.family_functions import HIDDEN

    rng = np.random.default_rng(NETWORK_SEED)
    first = rng.normal(size=(MOST_LABELS, HIDDEN)) * 3
    bias, second = rng.normal(size=(2, HIDDEN))
    parts = [first[:n_labels].reshape(-1), bias, second / math.sqrt(HIDDEN)]
    return np.concatenate(parts)
