"""Cut moves: expansion moves over the labels in use, quotas priced, brought to their counts after.

Alpha-expansion's moves (`expansion_move`) find the best of 2^N labelings, but see no quota (HOP2),
and none of the terms that no cut represents. Here they only propose. In a move, every quota gets a
price for each member with its label: at a quota just met, halfway between what its most expensive
holder would gain by leaving and what the cheapest other member would lose by joining; at a missed
one, λ shared by the count. Expansion moves at these prices, from the current labels or from the
cheapest ones, exchange whole patches of holders. What they reach is brought to the quotas node by
node (`fill_quota`, `thin_quota`), traded and descended from, and mixed with the labeling before the
move, region by region, by the exact energy of all terms (`mix`). The caller keeps the result if the
energy fell.

`cuts.quota_moves` also fills and thins quotas, on a plain `State` and a sixteenth of the members at
a time. Here the rows of `LocalSearch` are at hand: every member changes what the next one costs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, kernel, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.changes import relabel
from policrf.crf.model import CRF
from policrf.crf.potentials import SUPPORT, BoxAgreement, BoxSupport, Potential, Potts
from policrf.crf.state import State
from policrf.errors import UnsupportedPotential
from policrf.solvers.cuts.crossover import connected_region, take_region
from policrf.solvers.cuts.expansion_problem import MoveProblem, move_problem, own_costs
from policrf.solvers.cuts.move_state import MoveState, count_matches, move_state
from policrf.solvers.cuts.refusals import TAKEN, refuse_what_no_cut_takes
from policrf.solvers.moves.cheapest import cheapest_other
from policrf.solvers.moves.indexed_heap import Heap
from policrf.solvers.moves.local_search import (
    N_CHANGED,
    LocalSearch,
    adopt,
    flush,
    is_gain,
    price,
    row,
)
from policrf.solvers.refine.refine_boxes import take_label
from policrf.solvers.refine.refine_trades import trade_moves
from policrf.types import BoolArray, FloatArray, IntArray


class Cuts(NamedTuple):
    """N nodes, L labels. Mutable."""

    problem: MoveProblem
    costs: FloatArray  # [N, L]; those of the problem: they carry the prices
    unpriced: FloatArray  # [N, L]
    state: MoveState
    movable: BoolArray  # [L]; whether a node with a choice may take the label
    order: IntArray  # [L]; the labels to move to come first


def new_cuts(crf: CRF, alive: BoolArray | None = None) -> Cuts:
    """Lay the terms out that a cut represents; moves take no other labels than `alive` [N, L]."""
    taken = _what_a_cut_takes(crf)
    costs = own_costs(taken)
    if alive is not None:
        costs[~alive] = np.inf
    problem = move_problem(taken, costs)
    n_nodes, n_labels = costs.shape
    allowed = np.isfinite(costs)
    choices = np.count_nonzero(allowed, axis=1, keepdims=True)
    movable: BoolArray = np.any(allowed & (choices > 1), axis=0)
    return Cuts(
        problem=problem,
        costs=costs,
        unpriced=costs.copy(),
        state=move_state(problem, np.zeros(n_nodes, np.int64)),
        movable=movable,
        order=np.zeros(n_labels, np.int64),
    )


def _what_a_cut_takes(crf: CRF) -> CRF:
    """The CRF itself if a cut takes all but its quotas, else one of the groups that it takes."""
    groups: list[Potential] = []
    same = True
    for group in crf.potentials:
        if isinstance(group, Potts) and (group.weights < 0).any():
            groups.append(Potts(group.edges, np.maximum(group.weights, 0.0)))
            same = False
        elif isinstance(group, Potts | BoxAgreement | BoxSupport) or _is_cut(crf, group):
            groups.append(group)
        else:
            same = False
    return crf if same else crf.with_potentials(*groups)


def _is_cut(crf: CRF, group: Potential) -> bool:
    """Whether every expansion move sees the group exactly."""
    if not isinstance(group, TAKEN):
        return False
    try:
        alone = crf.with_potentials(group)
        refuse_what_no_cut_takes(alone, "refine")
    except UnsupportedPotential:
        return False
    return True


@leaf
def prepare_cuts(a: Arrays, s: State, q: LocalSearch, cuts: Cuts, restart: bool) -> int:
    """Price the quotas and let the moves start from the labels of `s`; how many labels to move to.

    With `restart`, from every node's cheapest label instead: what comes of that depends little on
    the labels of `s`.
    """
    p, m, costs = cuts.problem, cuts.state, cuts.costs
    n_nodes, n_labels = costs.shape
    for label in range(n_labels):
        cuts.order[label] = 0
    for c in range(len(a.clique_kind)):
        label = a.clique_label[c]
        if label >= 0:
            cuts.order[label] = 1
        if a.clique_kind[c] == SUPPORT:
            for k in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
                costs[a.clique_nodes[k], label] = cuts.unpriced[a.clique_nodes[k], label]
    for c in range(len(a.clique_kind)):
        if a.clique_kind[c] == SUPPORT:
            value = quota_price(a, s, q, c)
            if value > 0.0:
                for k in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
                    costs[a.clique_nodes[k], a.clique_label[c]] -= value
    for i in range(n_nodes):
        m.labels[i] = s.labels[i]
        # No cost of a move may be infinite.
        if restart or not cuts.unpriced[i, s.labels[i]] < np.inf:
            for label in range(n_labels):
                if costs[i, label] < costs[i, m.labels[i]]:
                    m.labels[i] = label
        cuts.order[s.labels[i]] = 1
        cuts.order[m.labels[i]] = 1
    count_matches(p, m)
    count = 0
    for label in range(n_labels):
        if cuts.order[label] and cuts.movable[label]:
            cuts.order[count] = label
            count += 1
    return count


@inner
def quota_price(a: Arrays, s: State, q: LocalSearch, c: int) -> float:
    """What a member with the label of quota c is worth to it as things are."""
    if s.matches[c] > a.clique_count[c] or a.clique_count[c] == 0:
        return 0.0
    if s.matches[c] < a.clique_count[c]:
        return float(a.clique_weight[c] / a.clique_count[c])
    label = a.clique_label[c]
    highest, cheapest = -np.inf, np.inf
    for k in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        i = a.clique_nodes[k]
        row(a, s, q, i)
        if s.labels[i] != label:
            cheapest = min(cheapest, price(s, q, i, label))
        elif q.costs[i, label] < np.inf:
            other = q.costs[i, cheapest_other(q.costs[i], label)]
            if other < np.inf:
                # Its row says that leaving would cost λ: the price is to say it instead.
                highest = max(highest, q.costs[i, label] - other + a.clique_weight[c])
    if np.isinf(highest):
        return 0.0
    return float(0.5 * (highest + cheapest)) if cheapest < np.inf else highest


@kernel
def propose(a: Arrays, s: State, q: LocalSearch, h: Heap, cuts: Cuts) -> bool:
    """Take the labels that the moves reached over, and bring the quotas to their counts."""
    different = False
    for i in range(len(s.labels)):
        old = s.labels[i]
        if cuts.state.labels[i] != old:
            different = True
            relabel(a, s, i, cuts.state.labels[i])
            adopt(a, s, q, i, old)
    flush(a, s, q)
    if different:
        for c in range(len(a.clique_kind)):
            if a.clique_kind[c] == SUPPORT and s.matches[c] < a.clique_count[c]:
                fill_quota(a, s, q, h, c)
        for c in range(len(a.clique_kind)):
            if a.clique_kind[c] == SUPPORT and s.matches[c] > a.clique_count[c]:
                thin_quota(a, s, q, c)
        for c in range(len(a.clique_kind)):
            if a.clique_kind[c] == SUPPORT and s.matches[c] == a.clique_count[c]:
                trade_moves(a, s, q, c, 1)
    return different


@inner
def fill_quota(a: Arrays, s: State, q: LocalSearch, h: Heap, c: int) -> None:
    """Let the cheapest members of quota c take its label until it is met, if that pays."""
    total, forbidden = s.total[0], s.forbidden[0]
    count = take_label(a, s, q, h, c, a.clique_count[c])
    flush(a, s, q)
    if s.matches[c] >= a.clique_count[c] and is_gain(
        s.forbidden[0], s.total[0] - total, forbidden, q.margin[0]
    ):
        return
    for k in range(count - 1, -1, -1):
        i = q.noted[0, k]
        relabel(a, s, i, q.noted[1, k])
        adopt(a, s, q, i, a.clique_label[c])
    flush(a, s, q)


@inner
def thin_quota(a: Arrays, s: State, q: LocalSearch, c: int) -> None:
    """Let those holders of quota c leave that gain most by it, while it has more than it needs."""
    label = a.clique_label[c]
    while s.matches[c] > a.clique_count[c]:
        best, most, to = -1, q.margin[0], label
        for k in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
            i = a.clique_nodes[k]
            if s.labels[i] == label:
                row(a, s, q, i)
                other = cheapest_other(q.costs[i], label)
                if q.costs[i, other] < np.inf and q.costs[i, label] - q.costs[i, other] > most:
                    best, most, to = i, q.costs[i, label] - q.costs[i, other], other
        if best < 0:
            return
        relabel(a, s, best, to)
        adopt(a, s, q, best, label)
        flush(a, s, q)


@leaf
def mix(a: Arrays, s: State, q: LocalSearch, forbidden: int, other: IntArray) -> None:
    """The better of the labelings before and after the move, and regions of the other one.

    Before the move, `forbidden` terms were infinite. Regions are connected nodes that the move
    changed; each is taken from the other labeling where that lowers the energy. `other` [N] is
    scratch space.
    """
    region = q.noted
    back = not is_gain(s.forbidden[0], s.total[0], forbidden, q.margin[0])
    for n in range(q.cursor[N_CHANGED]):
        i = q.changed[n]
        q.inside[i] = s.labels[i] != q.before[i]
        other[i] = q.before[i]
        if back and q.inside[i]:
            other[i] = s.labels[i]
            relabel(a, s, i, q.before[i])
            adopt(a, s, q, i, other[i])
    for n in range(q.cursor[N_CHANGED]):
        if q.inside[q.changed[n]]:
            size = connected_region(a, q.changed[n], q.inside, region[0], False)
            if take_region(a, s, other, region, size, q.margin[0]):
                for at in range(size):
                    adopt(a, s, q, region[0, at], region[1, at])
    flush(a, s, q)
