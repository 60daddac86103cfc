"""What no expansion move takes, refused by name with what to use instead.

Taken exactly: unaries, Potts with w ≥ 0, HOP1 and

- tables of order 1, and those of order 2 (`Tables`, `Pairwise`) whose every move is submodular:
  θ(α,α) + θ(b,c) ≤ θ(b,α) + θ(α,c) for all labels allowed at the two nodes;
- label costs ≥ 0;
- robust Potts where no two labels can both have fewer than Q members against them, so that at most
  one label of the members that stay is dominant: 2 (⌈Q⌉ − 1) < the clique's size.

HOP2 is left to repairs and prices.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.model import CRF
from policrf.crf.potentials import (
    BoxAgreement,
    BoxSupport,
    CliquePotential,
    LabelCost,
    Pairwise,
    Potential,
    Potts,
    RobustPotts,
    Tables,
)
from policrf.errors import UnsupportedPotential
from policrf.types import FloatArray

ROUNDING = 1e-9  # of the sum of four entries: what counts as equal
TAKEN: tuple[type[Potential], ...] = (
    Potts, BoxAgreement, BoxSupport, Tables, Pairwise, LabelCost, RobustPotts,
)  # fmt: skip


def refuse_what_no_cut_takes(crf: CRF, solver: str) -> None:
    """Raise `UnsupportedPotential` for the first group that expansion moves do not see exactly."""
    start = 0
    for group in crf.potentials:
        if not isinstance(group, TAKEN):
            raise UnsupportedPotential(
                f"{solver} cannot take {group.name}, which no cut represents; try refine or exact"
            )
        match group:
            case Potts():
                _refuse_negative_potts(group, solver)
            case Tables():
                _refuse_tables(crf, group, start, solver)
            case Pairwise():
                _refuse_pairwise(crf, group, start, solver)
            case LabelCost():
                _refuse_label_costs(group, solver)
            case RobustPotts():
                _refuse_robust_potts(group, solver)
        start += len(group) if isinstance(group, CliquePotential) else 0


def _refuse_negative_potts(group: Potts, solver: str) -> None:
    if (group.weights < 0).any():
        e = int(np.argmax(group.weights < 0))
        raise UnsupportedPotential(
            f"{solver} cannot take Potts with negative weights: weights[{e}] is "
            f"{group.weights[e]}, which no cut represents; try tree_reweighted or exact"
        )


def _refuse_tables(crf: CRF, group: Tables, start: int, solver: str) -> None:
    large = np.flatnonzero(group.cliques.sizes > 2)
    if large.size:
        t = int(large[0])
        raise UnsupportedPotential(
            f"{solver} cannot take Tables of order {group.cliques.sizes[t]} (table {t}, nodes "
            f"{group.cliques[t].tolist()}); it takes order 1 and 2. Try belief_propagation or exact"
        )
    c = int(_first_non_metric(crf.arrays, start, start + len(group)))
    if c >= 0:
        t = c - start
        raise UnsupportedPotential(
            f"{solver} cannot take Tables: table {t} (nodes {group.cliques[t].tolist()}) is "
            "non-metric: θ(a,a) + θ(b,c) > θ(b,a) + θ(a,c), or infinite, for labels its nodes may "
            "have, so an expansion move is no minimum cut. Try tree_reweighted or exact"
        )


def _refuse_pairwise(crf: CRF, group: Pairwise, start: int, solver: str) -> None:
    if (group.weights >= 0).all() and is_metric(group.table):
        return
    c = int(_first_non_metric(crf.arrays, start, start + len(group)))
    if c >= 0:
        e = c - start
        raise UnsupportedPotential(
            f"{solver} cannot take Pairwise: at edge {e} {group.edges[e].tolist()} of weight "
            f"{group.weights[e]:g} the table is non-metric: w θ(a,a) + w θ(b,c) > w θ(b,a) + "
            "w θ(a,c), or infinite, for labels its nodes may have, so an expansion move is no "
            "minimum cut. Try tree_reweighted or exact"
        )


def _refuse_label_costs(group: LabelCost, solver: str) -> None:
    if (group.costs < 0).any():
        at = [int(k) for k in np.argwhere(np.atleast_1d(group.costs) < 0)[0]]
        raise UnsupportedPotential(
            f"{solver} cannot take LabelCost with negative costs: costs{at} is "
            f"{np.atleast_1d(group.costs)[tuple(at)]}, which no cut represents; try exact or refine"
        )


def _refuse_robust_potts(group: RobustPotts, solver: str) -> None:
    sizes, lowest = group.cliques.sizes, group.label_costs.min(initial=np.inf)
    several = 2 * (np.ceil(group.truncations) - 1) >= sizes
    bad = np.flatnonzero(several & (sizes > 1) & (group.penalties > lowest))
    if bad.size:
        c = int(bad[0])
        raise UnsupportedPotential(
            f"{solver} cannot take RobustPotts with truncations above half a clique: "
            f"truncations[{c}] is {group.truncations[c]:g} of {sizes[c]} nodes, so two labels can "
            "be dominant at once and an expansion move is no minimum cut. Give "
            f"{(sizes[c] + 1) // 2} or less, or try refine or exact"
        )


def is_metric(table: FloatArray) -> bool:
    """Whether a table of pairs `[L, L]` is finite and submodular in every move."""
    if not np.isfinite(table).all():
        return False
    for alpha in range(len(table)):
        # θ(b,α) + θ(α,c) − θ(α,α) − θ(b,c) over all b and c
        to, at = table[:, alpha, None], table[alpha, None, :]
        size = np.abs(to) + np.abs(at) + np.abs(table) + abs(table[alpha, alpha])
        if (table + table[alpha, alpha] > to + at + ROUNDING * size).any():
            return False
    return True


@leaf
def _first_non_metric(a: Arrays, start: int, stop: int) -> int:
    """The first order-2 table among cliques start … stop − 1 with a move that no cut represents."""
    for c in range(start, stop):
        entry = a.clique_ptr[c]
        if a.clique_ptr[c + 1] - entry == 2 and not _is_metric_clique(a, c, entry):
            return c
    return -1


@inner
def _is_metric_clique(a: Arrays, c: int, entry: int) -> bool:
    """Whether an order-2 table is finite and submodular in every move its nodes can make."""
    i, j = a.clique_nodes[entry], a.clique_nodes[entry + 1]
    at, stride, factor = a.data_start[c], a.clique_stride[entry], a.clique_weight[c]
    for x in range(a.cardinalities[i]):
        if np.isinf(a.unary[i, x]):
            continue
        for y in range(a.cardinalities[j]):
            if np.isinf(a.unary[j, y]):
                continue
            neither = factor * a.data[at + x * stride + y]
            if np.isinf(neither):
                return False
            for alpha in range(min(a.cardinalities[i], a.cardinalities[j])):
                if np.isinf(a.unary[i, alpha]) or np.isinf(a.unary[j, alpha]):
                    continue
                both = factor * a.data[at + alpha * stride + alpha]
                first = factor * a.data[at + x * stride + alpha]
                second = factor * a.data[at + alpha * stride + y]
                size = abs(both) + abs(neither) + abs(first) + abs(second)
                if both + neither > first + second + ROUNDING * size:
                    return False
    return True
