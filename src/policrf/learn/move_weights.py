"""Learning which clique moves to try: by regression, from moves that were tried.

What is known of a move before it is tried (`solvers.numbers.KNOWN`) is held against what it
brought. Of two moves the better one brings more in the time that both take: the target is the gain
less the work, at the rate of all moves. Gains beyond the median of those above 0 count as the
median: how often moves succeed is what can be told from a few thousand of them. Half of the moves
are tried at random, the others by the weights so far: their states are those that such a search
comes to.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from policrf.compiled import compile_seconds
from policrf.crf.changes import load_labels
from policrf.crf.model import CRF
from policrf.crf.state import new_state
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.random_numbers import new_generator
from policrf.solvers.moves.local_search import centred
from policrf.solvers.numbers import DEFAULT, KNOWN, Numbers
from policrf.solvers.refine.refine_anytime import (
    FOREVER,
    PROBES,
    Kinds,
    advance,
    kinds_of,
    mean_change,
    settle_all,
)
from policrf.solvers.refine.refine_known import CHOSEN, OUTCOME, new_memory
from policrf.solvers.refine.refine_neighbourhoods import (
    CLIQUE,
    CLIQUE_WORK,
    KIND,
    MADE,
    new_workspace,
)
from policrf.solvers.refine.refine_trial import new_trial
from policrf.types import FloatArray

CHOICES = 12  # moves that are drawn for one that is tried, where weights are learned
TURNS = 2  # of sampling and fitting
SAMPLES, SEARCHES = 6000, 4  # of a turn, and on every instance: at most
NOTHING = 1e-9  # units of a gain that is rounding
FEWEST, MOST = 10, 100  # moves a clique of one instance; a budget of 1 µs a node is good for one
FEW = 200  # samples without which nothing is learned
RIDGE = 1e-4  # of the mean square of a thing that is known


def with_learned_choice(
    crfs: Sequence[CRF], budget: float, numbers: Numbers = DEFAULT, *, seed: int = 0,
    seconds: float = 10.0,
) -> Numbers:  # fmt: skip
    """The numbers with learned `move_weights`; as they are where there is too little to learn.

    Parameters
    ----------
    crfs
        Training instances; as many are used as the samples take, often less than a second in all.
    budget
        Seconds a node at inference: searches go on for about as long.
    numbers
        What the searches go by otherwise.
    seed
        The same weights for the same seed, unless time is out.
    seconds
        For all samples: enough unless functions are expensive.
    """
    samples: list[FloatArray] = []
    began = _clock()
    for turn in range(1, TURNS + 1):
        until = began + seconds * turn / TURNS
        samples.append(_samples(crfs, budget, numbers, seed + turn, until))
        weights = _fitted(np.concatenate(samples))
        if weights is not None:
            numbers = replace(numbers, choices=CHOICES, move_weights=weights)
    return numbers


def _clock() -> float:
    """Seconds, without those that kernels are compiled in."""
    return time.perf_counter() - compile_seconds()


def _samples(
    crfs: Sequence[CRF], budget: float, numbers: Numbers, seed: int, until: float
) -> FloatArray:
    """Rows of what was known, the gain in units, and the work: of tried clique moves."""
    rows: list[FloatArray] = []
    rng = np.random.default_rng(seed)
    for at in np.concatenate([rng.permutation(len(crfs)) for _ in range(SEARCHES)]):
        for row in _search(crfs[at], budget, numbers, int(rng.integers(2**32))):
            rows.append(row)
            if len(rows) == SAMPLES or _clock() > until:
                return np.array(rows)
    return np.array(rows).reshape(-1, len(KNOWN) + 2)


def _search(crf: CRF, budget: float, numbers: Numbers, seed: int) -> Iterator[FloatArray]:
    """The same of one search from the lowest unaries, move after move."""
    arrays = centred(crf.arrays)
    state = new_state(arrays)
    load_labels(arrays, state, np.argmin(crf.unary, axis=1))
    trial, work, memory = new_trial(arrays, state), new_workspace(arrays), new_memory(arrays)
    generator, rng = new_generator(seed), np.random.default_rng(seed)

    def go_on(kinds: Kinds) -> None:
        last = int(work.cursor[MADE]) + 1
        advance(arrays, state, trial, work, generator, kinds, last, FOREVER)
        raise_if_failed()

    settle_all(work)
    go_on(kinds_of(numbers, 0.0, memory))
    unit = mean_change(arrays, state, generator, PROBES)
    chosen = replace(numbers, choices=max(2, numbers.choices))
    at_random = replace(numbers, choices=2, move_weights=(0.0,) * len(KNOWN))
    by_weights, by_chance = (kinds_of(way, unit, memory) for way in (chosen, at_random))
    units = max(len(arrays.clique_kind), crf.n_nodes // 30)
    moves = units * min(MOST, max(FEWEST, int(1e6 * budget)))
    while work.cursor[MADE] < moves:
        memory.known[CHOSEN, OUTCOME], before = 0.0, work.cursor[CLIQUE_WORK]
        go_on(by_chance if rng.random() < 0.5 else by_weights)
        if work.cursor[KIND] == CLIQUE_WORK and work.cursor[CLIQUE] >= 0:
            gain = max(0.0, -memory.known[CHOSEN, OUTCOME]) / unit
            known = memory.known[CHOSEN, : len(KNOWN)]
            yield np.append(known, (gain, work.cursor[CLIQUE_WORK] - before))


def _fitted(samples: FloatArray) -> tuple[float, ...] | None:
    """Ridge regression of the target on what was known; a low score is a good move."""
    gains, work = samples[:, -2], samples[:, -1]
    if len(samples) < FEW or not (gains > NOTHING).any():
        return None
    gains = np.minimum(gains, np.median(gains[gains > NOTHING]))
    target = work * (gains.sum() / work.sum()) - gains
    known = samples[:, :-2] - samples[:, :-2].mean(axis=0)
    square = known.T @ known / len(known)
    moment = known.T @ (target - target.mean()) / len(known)
    found = np.linalg.solve(square + RIDGE * np.eye(len(KNOWN)), moment)
    return tuple((found / np.abs(found).max()).tolist())
