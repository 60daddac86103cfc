"""The capacities of Potts edges and pairwise tables in one move to α (see `expansion_move`).

Labels change little from one sweep to the next, so most of a long cut would be found again. Flow up
to an arc's capacity may be pushed before a cut, wherever it is from: residuals and excess change,
− Σ excess_i x_i + Σ residual_ij [x_i = 1, x_j = 0] stays the same function of x. So every label
keeps its part of the flow of a pair, y_ij(α), as in Komodakis and Tziritas (PAMI 2007), and a move
begins with y_ij(α) − (y_ij(y_i) + y_ij(y_j)) / 2; the cut is the same, and sooner found.
"""

from __future__ import annotations

from policrf.compiled import inlined, inner
from policrf.solvers.cuts.expansion_problem import MoveProblem
from policrf.solvers.cuts.move_state import MoveState

STAYS, OPEN, MOVES = 0, 1, 2  # what a move knows of a node


@inlined
def lay_out_pair(p: MoveProblem, s: MoveState, alpha: int, own: int, k: int, other: int) -> float:
    """Arc k of an open node with label `own`; returns what moving gains on its own.

    `other` says of the arc's head whether it STAYS, MOVES, or is OPEN, too.
    """
    pair = max(p.pair[k], ~p.pair[k])
    if pair < len(p.weight):
        return _lay_out_potts(p, s, alpha, own, k, other, p.weight[pair])
    return _lay_out_table(p, s, alpha, own, k, other)


@inlined
def _lay_out_potts(
    p: MoveProblem, s: MoveState, alpha: int, own: int, k: int, other: int, weight: float
) -> float:
    g = p.network
    theirs = s.labels[g.head[k]]
    g.residual[k] = 0.0
    if theirs == alpha or other == MOVES:
        return weight
    same = theirs == own
    if other == OPEN:
        g.residual[k] = weight if same else 0.5 * weight
        return 0.0 if same else 0.5 * weight
    return -weight if same else 0.0


@inlined
def _lay_out_table(p: MoveProblem, s: MoveState, alpha: int, own: int, k: int, other: int) -> float:
    g, t, theirs = p.network, p.tables, s.labels[p.network.head[k]]
    first = p.pair[k] >= 0
    c = max(p.pair[k], ~p.pair[k]) - len(p.weight)
    stride, at, weight = t.shared, 0, t.weight[c]
    if stride == 0:
        stride, at = t.stride[t.entry[c]], t.start[c]
    step, across = (stride, 1) if first else (1, stride)
    stay, move = at + step * own, at + step * alpha
    g.residual[k] = 0.0
    gain, gain_if_moved = 0.0, 0.0
    if other != MOVES:
        still = across * theirs
        gain = weight * (t.data[stay + still] - t.data[move + still])
        if other == STAYS:
            return float(gain)
    moved = across * alpha
    gain_if_moved = weight * (t.data[stay + moved] - t.data[move + moved])
    if other == MOVES:
        return float(gain_if_moved)
    g.residual[k] = max(0.0, 0.5 * (gain_if_moved - gain))
    return float(0.5 * (gain + gain_if_moved))


@inlined
def push_kept_flow(
    p: MoveProblem, s: MoveState, alpha: int, own: int, theirs: int, k: int
) -> float:
    """Push along arc k what an earlier cut says of it; returns how much that is."""
    g = p.network
    pair = max(p.pair[k], ~p.pair[k])
    there = _kept_flow(s, alpha, own, theirs, pair)
    there = there if pair == p.pair[k] else -there
    there = min(max(there, -g.residual[k]), g.residual[k])
    g.residual[k] -= there
    return float(there)


@inlined
def _kept_flow(s: MoveState, alpha: int, own: int, theirs: int, pair: int) -> float:
    """What an earlier cut says of the flow from the first node of a pair to the second."""
    stay = s.flow[pair, own] + s.flow[pair, theirs]
    return float(s.flow[pair, alpha] - 0.5 * stay)


@inner
def keep_flow(p: MoveProblem, s: MoveState, alpha: int) -> None:
    """Note what the cut has pushed; pairs that had no part in the move keep what they had."""
    g, n_nodes = p.network, len(s.labels)
    for i in range(n_nodes):
        if not s.open[i]:
            continue
        own = s.labels[i]
        for k in range(g.ptr[i], g.ptr[i + 1]):
            j, pair = g.head[k], p.pair[k]
            if j >= n_nodes:
                break
            if pair >= 0 and s.open[j]:
                # Before the cut, both directions had the same capacity.
                there = 0.5 * (g.residual[g.sister[k]] - g.residual[k])
                s.flow[pair, alpha] += there - _kept_flow(s, alpha, own, s.labels[j], pair)
