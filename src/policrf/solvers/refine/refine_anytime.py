"""Random moves on whole cliques and half-way repairs, for as long as there is time.

A move is drawn, made, settled by single relabels of the nodes it is about, then kept or taken back:
kept if the energy does not rise, and with probability exp(−change / T) if it does. T is a small
part of the mean size of a random relabel's change, once all nodes are settled. The best labeling is
remembered. Clique moves (`refine_cliques`) and half-way moves (`refine_halfway`) get the same share
of the work. Of some clique moves that are drawn the most promising one is tried (`refine_choice`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.changes import load_labels, relabel_change
from policrf.crf.state import State, new_state
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.random_numbers import Generator, below, new_generator
from policrf.solvers.moves.local_search import centred
from policrf.solvers.moves.violations import least_violating
from policrf.solvers.numbers import DEFAULT, Numbers
from policrf.solvers.pace import Pace, first_visits
from policrf.solvers.refine.refine_answers import node_costs
from policrf.solvers.refine.refine_choice import consider, take_candidate
from policrf.solvers.refine.refine_cliques import Mix, make_clique_move
from policrf.solvers.refine.refine_halfway import (
    draw_halfway_move,
    draw_next_clique,
    label_surest,
    unlabel_nodes,
)
from policrf.solvers.refine.refine_known import (
    CHOSEN,
    EVERY,
    OUTCOME,
    Choice,
    Memory,
    new_memory,
)
from policrf.solvers.refine.refine_neighbourhoods import (
    AT,
    CLIQUE_WORK,
    GAINS,
    HALFWAY_WORK,
    KEPT,
    KIND,
    LENGTH,
    MADE,
    SCOPE,
    STAGE,
    UNCHANGED,
    VISITS,
    Workspace,
    new_workspace,
)
from policrf.solvers.refine.refine_trial import (
    BEST,
    Trial,
    is_idle,
    judge,
    new_trial,
    take_back,
    try_label,
)
from policrf.solvers.run import Run
from policrf.types import IntArray

DRAW, CHOOSE, MAKE, UNLABEL, LABEL, SETTLE = range(6)  # stages of a move
SWEEPS = 20  # visits of a node while a move is settled
FOREVER = np.iinfo(np.int64).max  # moves, where only time ends the search
OFFER = 0.02  # seconds between two labelings that are offered
PROBES = 20  # random relabels that the mean is taken over
FIRST = 8  # visits before the first look at the clock, unless their time is known


class Kinds(NamedTuple):
    """Which moves to draw, and how far uphill to go."""

    cliques: bool
    halfway: bool
    temperature: float
    sweep: bool = DEFAULT.sweep  # whether to begin with every clique once
    share: float = DEFAULT.halfway_share  # of the work that half-way moves get
    gain: float = DEFAULT.halfway_gain  # what a unit of a label's gain counts in a half-way move
    mix: Mix = Mix(DEFAULT.replace_share, DEFAULT.remove_share)
    choice: Choice = EVERY  # of clique moves


def kinds_of(
    numbers: Numbers, unit: float, memory: Memory, *, cliques: bool = True, halfway: bool = True
) -> Kinds:
    """The moves that the numbers ask for; `unit` is the mean size of a random relabel's change."""
    return Kinds(
        cliques, halfway, numbers.move_temperature * unit, numbers.sweep,
        float(numbers.halfway_share), float(numbers.halfway_gain),
        Mix(float(numbers.replace_share), float(numbers.remove_share)),
        Choice(numbers.choices, np.array(numbers.move_weights), unit or 1.0, memory),
    )  # fmt: skip


def search_on(
    run: Run, labels: IntArray, *, cliques: bool, halfway: bool, last: int = FOREVER,
    numbers: Numbers = DEFAULT,
) -> None:  # fmt: skip
    """Improve `labels` in place until time is out, they are proven, or `last` moves are made."""
    arrays = centred(run.crf.arrays)
    if run.expired() or run.proven() or not (arrays.cardinalities > 1).any():
        return
    state = new_state(arrays)
    load_labels(arrays, state, labels)
    made = run.info.setdefault("random_moves", {"made": 0, "kept": 0})
    generator = new_generator(run.seed + made["made"])
    trial, work, memory = new_trial(arrays, state), new_workspace(arrays), new_memory(arrays)
    settle_all(work)
    offered, offered_at = 0.0, run.elapsed()
    pace = Pace(run, first_visits(run, FIRST))
    kinds = kinds_of(numbers, 0.0, memory, cliques=cliques, halfway=halfway)
    forbidden = int(trial.forbidden[BEST])
    while work.cursor[MADE] < last and not run.expired():
        settling = work.cursor[MADE] == 0
        advance(arrays, state, trial, work, generator, kinds, 1 if settling else last, pace.begin())
        raise_if_failed()
        if not (settling and work.cursor[MADE]):
            pace.end()  # it was a whole slice
        else:
            if PROBES * (run.visit_seconds or 0.0) > run.remaining():
                break  # a move takes longer than that too
            unit = mean_change(arrays, state, generator, PROBES)
            raise_if_failed()
            kinds = kinds_of(numbers, unit, memory, cliques=cliques, halfway=halfway)
        better = trial.energy[BEST] != offered or trial.forbidden[BEST] != forbidden
        if better and run.elapsed() - offered_at > OFFER:
            run.offer(trial.best)
            offered, forbidden = float(trial.energy[BEST]), int(trial.forbidden[BEST])
            offered_at = run.elapsed()
            if run.proven():
                break
    if work.cursor[STAGE] == SETTLE:
        judge(arrays, state, trial, generator, 0.0, 0)  # the first one may have taken all the time
    labels[:] = trial.best
    made["made"] += int(work.cursor[MADE])
    made["kept"] += int(work.cursor[KEPT])


def settle_all(w: Workspace) -> None:
    """Let the first move be: to settle all nodes."""
    w.scope[:] = np.arange(len(w.scope))
    w.cursor[SCOPE] = len(w.scope)
    w.cursor[KIND] = CLIQUE_WORK
    w.cursor[STAGE] = SETTLE


@leaf
def mean_change(a: Arrays, s: State, generator: Generator, count: int) -> float:
    """The mean size of the finite changes of `count` random relabels; 1 where there are none."""
    total, finite = 0.0, 0
    for _ in range(count):
        i = below(generator, len(s.labels))
        label = below(generator, a.cardinalities[i])
        if label != s.labels[i]:
            change = relabel_change(a, s, i, label)
            if np.isfinite(change) and change != 0.0:
                total += abs(change)
                finite += 1
    return total / finite if finite else 1.0


@leaf
def advance(
    a: Arrays,
    s: State,
    t: Trial,
    w: Workspace,
    generator: Generator,
    kinds: Kinds,
    last: int,
    limit: int,
) -> None:
    """Go on with the moves for about `limit` visits of nodes, or until `last` have been made.

    A move may be under way when it returns, with nodes unlabeled. What happens is the same
    whatever the limits.
    """
    while limit > 0:
        stage, before = w.cursor[STAGE], limit
        if stage == DRAW:
            if w.cursor[MADE] >= last:
                return
            draw(a, s, t, w, generator, kinds)
            limit -= 1 + w.cursor[SCOPE] // 10
        elif stage == CHOOSE:
            limit -= 1 + consider(a, s, t, w, generator, kinds.mix, kinds.choice) // 10
            w.cursor[CLIQUE_WORK] += before - limit
            if w.cursor[AT] >= kinds.choice.among:
                take_candidate(a, s, w, kinds.choice)
                begin(w, MAKE)
        elif stage == MAKE:
            limit = make_clique_move(a, s, t, w, limit)
            w.cursor[CLIQUE_WORK] += before - limit
            if w.cursor[AT] == w.cursor[LENGTH]:
                end_change(a, s, t, w)
        elif stage == UNLABEL:
            limit = unlabel_nodes(a, s, t, w, limit)
            w.cursor[HALFWAY_WORK] += before - limit
            if w.cursor[AT] == w.cursor[LENGTH]:
                begin(w, LABEL)
        elif stage == LABEL:
            priced = label_surest(a, s, t, w, kinds.gain if w.cursor[GAINS] else 0.0)
            limit -= priced
            w.cursor[HALFWAY_WORK] += priced
            if w.cursor[LENGTH] == 0:
                end_change(a, s, t, w)
        else:
            limit = settle(a, s, t, w, limit)
            w.cursor[w.cursor[KIND]] += before - limit
            if w.cursor[UNCHANGED] >= w.cursor[SCOPE] or (
                w.cursor[VISITS] >= SWEEPS * w.cursor[SCOPE]
            ):
                kinds.choice.memory.known[CHOSEN, OUTCOME] = s.total[0]
                w.cursor[MADE] += 1
                w.cursor[KEPT] += judge(a, s, t, generator, kinds.temperature, w.cursor[MADE])
                begin(w, DRAW)


@inner
def begin(w: Workspace, stage: int) -> None:
    """Begin a stage at the first node of its list."""
    w.cursor[STAGE] = stage
    w.cursor[AT] = w.cursor[UNCHANGED] = w.cursor[VISITS] = 0


@inner
def end_change(a: Arrays, s: State, t: Trial, w: Workspace) -> None:
    """The move is made: settle it, unless it has changed nothing."""
    if is_idle(s, t):
        take_back(a, s, t)
        w.cursor[MADE] += 1
        begin(w, DRAW)
    else:
        begin(w, SETTLE)


@inner
def draw(a: Arrays, s: State, t: Trial, w: Workspace, generator: Generator, kinds: Kinds) -> None:
    """Draw a move of the kind that had less work so far, around a random node.

    The first ones label all members of a clique again, clique after clique.
    """
    if kinds.halfway and kinds.sweep and draw_next_clique(a, s, t, w):
        w.cursor[KIND], w.cursor[GAINS] = HALFWAY_WORK, 1
        begin(w, UNLABEL)
        return
    work = w.cursor[HALFWAY_WORK] + w.cursor[CLIQUE_WORK]
    if kinds.cliques and not (kinds.halfway and w.cursor[HALFWAY_WORK] < kinds.share * work):
        w.cursor[KIND] = CLIQUE_WORK
        begin(w, CHOOSE)
    else:
        w.cursor[KIND], w.cursor[GAINS] = HALFWAY_WORK, below(generator, 2)
        draw_halfway_move(a, s, w, below(generator, len(s.labels)), generator)
        begin(w, UNLABEL)


@inner
def settle(a: Arrays, s: State, t: Trial, w: Workspace, limit: int) -> int:
    """Relabel the nodes of `scope` in turn while that lowers the energy.

    Returns what is left of `limit` visits.
    """
    n = w.cursor[SCOPE]
    while w.cursor[UNCHANGED] < n and w.cursor[VISITS] < SWEEPS * n and limit > 0:
        limit -= 1
        i = w.scope[w.cursor[AT]]
        w.cursor[AT] = (w.cursor[AT] + 1) % n
        w.cursor[VISITS] += 1
        w.cursor[UNCHANGED] += 1
        if a.cardinalities[i] == 1:
            continue
        node_costs(a, s, t.answers, i, w.costs)
        own = s.labels[i]
        best, least = own, w.costs[own]
        if least < np.inf:
            least -= max(t.margin[0], 1e-14 * abs(least))
            for label in range(a.cardinalities[i]):
                if w.costs[label] < least:
                    best, least = label, w.costs[label]
        else:
            best = least_violating(a, s, i, t.margin[0])
        if best != own:
            try_label(a, s, t, i, best)
            w.cursor[UNCHANGED] = 0
    return limit
