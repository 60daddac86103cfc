"""Which action a simulation takes: PUCB with the encouraged sets, and Gumbel selection at the root.

    U(s, a) = r̃(s, a) / N(a|s) + c π_θ(a|s) √N(s) / (1 + N(a|s))                  (appendix B2)
    a* = argmax U + M1, U + M2 or U + M3, each with probability ⅓

r̃ accumulates, so the first term is a mean; it is 0 for an action not taken yet, and on the scale
of the tree's own values (0 the lowest, 1 the highest; ½ while all are alike, so that a search that
has seen no difference follows the prior) unless the reward itself is from −1 to 1 (`bounded`), or
`scaled` is off: the paper adds R1 as it is. N(s) counts the visit that selects. c = 1 in the paper.

With `lowest` = −1 the tree's scale is from −1 to 1, that of ±1 rewards: M1 … M3, which reach 1, are
then half of what values span instead of all of it, and an action not taken yet is in the middle.

Gumbel (Danihelka et al. 2022): the root's actions of the highest score + noise share the
simulations by sequential halving; what is decided is the highest of noise + score + σ(value) among
those taken most, an improvement on the prior however few the simulations. Below the root it is
PUCB.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner
from policrf.random_numbers import Generator, below, uniform
from policrf.search.options import GUMBEL_ROOT, REWARDS_LEAF
from policrf.search.tree import HIGH, LOW, N_BONUSES, Tree, mean_value, scaled
from policrf.search.walk import (
    ENCOURAGED,
    EXPLORATION,
    LEAF,
    LOWEST,
    ROOT,
    SCALED,
    SIMULATIONS,
    TEMPERATURE,
    Walk,
)
from policrf.types import FloatArray, IntArray

_VISIT_OFFSET, _VALUE_SCALE = 50.0, 0.1  # of σ, as in the paper on Gumbel search


@inner
def select_puct(q: Walk, state: int) -> int:
    """argmax U, with one of M1, M2, M3 where these are encouraged; the earlier of equals."""
    t = q.tree
    encouraged = q.settings[ENCOURAGED] != 0
    which = below(q.generator, N_BONUSES) if encouraged else 0
    factor = q.numbers[EXPLORATION] * np.sqrt(t.visits[state])
    lowest, low, width = 0.0, 0.0, 1.0
    own_scale = q.settings[SCALED] != 0 and not q.reward.bounded
    if own_scale or q.settings[LEAF] != REWARDS_LEAF:
        low, width = t.bounds[LOW], t.bounds[HIGH] - t.bounds[LOW]
        lowest = q.numbers[LOWEST]
    best, highest = 0, -np.inf
    for k in range(t.n_actions[state]):
        taken = t.taken[state, k]
        u = factor * t.prior[state, k] / (1 + taken)
        if taken > 0:
            share = (t.total[state, k] / taken - low) / width if width > 0 else 0.5
            u += lowest + (1.0 - lowest) * share
        if encouraged:
            u += t.bonus[state, k, which]
        if u > highest:
            best, highest = k, u
    return best


def halving_schedule(considered: int, simulations: int) -> IntArray:
    """How often the action of each simulation must have been taken before (sequential halving).

    >>> halving_schedule(4, 8).tolist()
    [0, 0, 0, 0, 1, 1, 2, 2]
    """
    phases = max(1, int(np.ceil(np.log2(max(considered, 1)))))
    schedule: list[int] = []
    taken, left = 0, considered
    while len(schedule) < simulations:
        for _ in range(max(1, simulations // (phases * left))):
            schedule += [taken] * left
            taken += 1
        left = max(min(2, considered), left // 2)
    return np.array(schedule[:simulations], np.int64)


@inner
def draw_noise(scale: float, generator: Generator, out: FloatArray) -> None:
    """Gumbel noise; all 0 where the scale is 0."""
    for k in range(len(out)):
        out[k] = 0.0
        if scale > 0:
            out[k] = -scale * np.log(-np.log(max(uniform(generator), 1e-300)))


@inner
def improved(t: Tree, k: int, temperature: float, most: int, unknown: float) -> float:
    """score + σ(value) of an action of the root; `unknown` is the value of one never taken."""
    value = scaled(t, mean_value(t, 0, k)) if t.taken[0, k] else unknown
    return float(t.score[0, k] / temperature + (_VISIT_OFFSET + most) * _VALUE_SCALE * value)


@inner
def most_visits(t: Tree) -> int:
    """max N(a|root)."""
    most = 0
    for k in range(t.n_actions[0]):
        most = max(most, t.taken[0, k])
    return most


@inner
def root_value(t: Tree) -> float:
    """The mean of what the root's actions led to."""
    total, taken = 0.0, 0
    for k in range(t.n_actions[0]):
        total += t.total[0, k]
        taken += t.taken[0, k]
    return scaled(t, total / taken) if taken else 0.0


@inner
def select_gumbel(q: Walk) -> int:
    """Of the root's actions taken as often as the schedule says, the highest noise + score + σ."""
    t, temperature = q.tree, q.numbers[TEMPERATURE]
    wanted = q.schedule[min(q.counters[SIMULATIONS], len(q.schedule) - 1)]
    most, unknown = most_visits(t), root_value(t)
    best, fewest, highest = -1, 0, -np.inf
    for k in range(t.n_actions[0]):
        taken = t.taken[0, k] - q.before[k]
        if taken < t.taken[0, fewest] - q.before[fewest]:
            fewest = k
        if taken == wanted:
            score = q.noise[k] + improved(t, k, temperature, most, unknown)
            if score > highest:
                best, highest = k, score
    return best if best >= 0 else fewest


@inner
def decide_gumbel(q: Walk) -> int:
    """The highest noise + score + σ among the root's actions taken most in this decision."""
    t, temperature = q.tree, q.numbers[TEMPERATURE]
    visits, unknown = most_visits(t), root_value(t)
    best, most, highest = 0, -1, -np.inf
    for k in range(t.n_actions[0]):
        taken = t.taken[0, k] - q.before[k]
        score = q.noise[k] + improved(t, k, temperature, visits, unknown)
        if taken > most or (taken == most and score > highest):
            best, most, highest = k, taken, score
    return best


@inner
def select(q: Walk, state: int, depth: int) -> int:
    """The slot of the action that a simulation takes at this depth."""
    if depth == 0 and q.settings[ROOT] == GUMBEL_ROOT:
        return select_gumbel(q)
    return select_puct(q, state)
