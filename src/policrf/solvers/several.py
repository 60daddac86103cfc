"""Several solutions: the M best labelings, or M that differ from each other in k nodes or more.

The M best (Lawler, Management Science 1972): the labelings other than y fall into parts, one for
each node i that has a choice: nodes before i as in y, node i different, the others free. Each part
is the same CRF with some labels forbidden, so whatever solves the CRF solves its parts, whatever
its potentials are. The next best labeling is the best of all parts, and splits its own part.

Where no proof is had in half of the time, or labelings are to differ in k > 1 nodes, each search
pays a price for every node that is as in an earlier labeling (Batra et al., ECCV 2012), doubled
until the answer differs enough; nodes that are still missing are changed one by one, the cheapest
first.
"""

from __future__ import annotations

import dataclasses
import heapq
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from policrf.compiled import compile_seconds
from policrf.crf.instance import Instance
from policrf.crf.model import CRF
from policrf.solvers import solve
from policrf.solvers.option_checks import require_whole_numbers
from policrf.solvers.traits import traits_of
from policrf.types import BoolArray, Callback, FloatArray, IntArray, Solution

Solve = Callable[[CRF | Instance], Solution | None]
"""Solves a problem in the time that is left; None where none is."""
DOUBLINGS = 12  # of the price of a node
SEARCHES = 3  # that a solution's share of the time is for


class Wish(NamedTuple):
    """What is asked for."""

    solutions: int
    diversity: int
    seconds: float | None
    seed: int
    go_on: bool


def several(
    problem: CRF | Instance,
    solver: Callable[..., None],
    name: str,
    wish: Wish,
    initial: ArrayLike | None,
    callback: Callback | None,
    options: dict[str, Any],
) -> Solution:
    """The best solution with the others that are asked for; `solve` says what they are."""
    require_whole_numbers(solutions=wish.solutions, diversity=wish.diversity)
    began = time.perf_counter() - compile_seconds()
    best = traits_of(solver).proves == "the minimum" and wish.diversity == 1
    share = None if wish.seconds is None else wish.seconds / (2 if best else wish.solutions)

    def left() -> float | None:
        if wish.seconds is None:
            return None
        return began + wish.seconds - time.perf_counter() + compile_seconds()

    def answer(part: CRF | Instance, most: float = np.inf) -> Solution | None:
        limit = left()
        if limit is not None and limit <= 0:
            return None
        limit = None if limit is None else min(limit, most)
        return solve(part, solver, seconds=limit, seed=wish.seed, go_on=wish.go_on, **options)

    first = solve(
        problem, solver, seconds=share, seed=wish.seed, go_on=wish.go_on, initial=initial,
        callback=callback, **options,
    )  # fmt: skip
    first = dataclasses.replace(first, solver=name)
    count = wish.solutions - 1
    if best and first.optimal:
        others = best_others(problem, first, count, answer)
    else:
        part = (left() or np.inf) / (SEARCHES * max(count, 1))
        others = diverse_others(
            problem, first, count, wish.diversity, lambda changed: answer(changed, part)
        )
    spent = time.perf_counter() - compile_seconds() - began
    return dataclasses.replace(first, others=tuple(others), seconds=spent)


class _Part(NamedTuple):
    """Labelings that are as `labels` before node `node`, and have no `banned` label there."""

    labels: IntArray  # [N]
    node: int
    banned: frozenset[int]


def best_others(
    problem: CRF | Instance, first: Solution, count: int, solve: Solve
) -> list[Solution]:
    """The `count` best labelings after `first`, in order; fewer where there are no more.

    One that is `optimal` has no lower labeling but those before it: so are they, and every part.
    """
    crf, proven = _crf(problem), first.optimal
    allowed = np.isfinite(crf.unary)
    heap: list[tuple[float, int, Solution, _Part]] = []
    whole = _Part(first.labels, 0, frozenset())
    found, parent, number = [first], whole, 0
    while len(found) <= count:
        for part in _split(parent, found[-1].labels, allowed):
            answer = solve(_restricted(problem, part))
            if answer is None:
                proven = False
                break
            proven &= answer.optimal
            if np.isfinite(answer.energy):
                number += 1
                heapq.heappush(heap, (answer.energy, number, answer, part))
        if not heap:
            break
        _, _, answer, parent = heapq.heappop(heap)
        bound = answer.lower_bound if proven else -np.inf
        found.append(
            dataclasses.replace(answer, optimal=proven, lower_bound=bound, solver=first.solver)
        )
    return found[1:]


def _split(parent: _Part, labels: IntArray, allowed: BoolArray) -> list[_Part]:
    """All labelings of `parent` but `labels`, in parts of which none is empty by its unaries."""
    parts = []
    for node in range(parent.node, len(labels)):
        banned = frozenset({int(labels[node])})
        if node == parent.node:
            banned |= parent.banned
        if np.count_nonzero(allowed[node]) > sum(bool(allowed[node, label]) for label in banned):
            parts.append(_Part(labels, node, banned))
    return parts


def _restricted(problem: CRF | Instance, part: _Part) -> CRF | Instance:
    crf = _crf(problem)
    unary = crf.unary.copy()
    fixed = np.arange(part.node)
    unary[: part.node] = np.inf
    unary[fixed, part.labels[: part.node]] = crf.unary[fixed, part.labels[: part.node]]
    unary[part.node, sorted(part.banned)] = np.inf
    return _with_unary(problem, unary)


def diverse_others(
    problem: CRF | Instance, first: Solution, count: int, distance: int, solve: Solve
) -> list[Solution]:
    """Up to `count` labelings, each different from all before in at least `distance` nodes."""
    crf, found = _crf(problem), [first]
    while len(found) <= count:
        answer = _different(problem, crf, found, distance, solve)
        if answer is None:
            break
        found.append(dataclasses.replace(answer, solver=first.solver))
    return found[1:]


def _different(
    problem: CRF | Instance, crf: CRF, found: Sequence[Solution], distance: int, solve: Solve
) -> Solution | None:
    """The best labeling that searches at rising prices find far enough from all of `found`."""
    seen = np.zeros(crf.unary.shape)
    for solution in found:
        seen[np.arange(crf.n_nodes), solution.labels] += 1.0
    price = _typical_price(crf)
    best: Solution | None = None
    for _ in range(DOUBLINGS):
        answer = solve(_with_unary(problem, crf.unary + price * seen))
        if answer is None:
            break
        labels = moved_apart(crf, answer.labels, found, distance)
        energy = np.inf if labels is None else crf.energy(labels)
        if labels is not None and np.isfinite(energy):
            kept = dataclasses.replace(
                answer, labels=labels, energy=energy, optimal=False, lower_bound=-np.inf, trace=()
            )
            best = kept if best is None or energy < best.energy else best
            if np.array_equal(labels, answer.labels):
                break  # a higher price would only take it further away
        price *= 2.0
    return best


def _typical_price(crf: CRF) -> float:
    """A part of what the second best label of a node costs more than its best."""
    if crf.n_labels < 2:
        return 1.0
    two = np.partition(crf.unary, 1, axis=1)[:, :2]
    gaps = (two[:, 1] - two[:, 0])[np.isfinite(two[:, 1])]
    return max(1e-3, 0.1 * float(np.median(gaps))) if len(gaps) else 1.0


def moved_apart(
    crf: CRF, labels: IntArray, found: Sequence[Solution], distance: int
) -> IntArray | None:
    """`labels` with nodes changed, the cheapest first, until they are far enough from all `found`.

    None where that cannot be done by changing nodes one by one.
    """
    moved, state = labels.copy(), crf.labeling(labels)
    for _ in range(crf.n_nodes + 1):
        near = [s.labels for s in found if np.count_nonzero(s.labels != moved) < distance]
        if not near:
            return moved
        cheapest, node, label = np.inf, -1, -1
        for i in np.flatnonzero(near[0] == moved).tolist():
            costs = state.costs(i)
            own = float(costs[moved[i]])
            costs[[int(other[i]) for other in near]] = np.inf
            to = int(np.argmin(costs))
            change = float(costs[to]) - (own if np.isfinite(own) else 0.0)
            if change < cheapest:
                cheapest, node, label = change, i, to
        if node < 0:
            return None
        state.assign(node, label)
        moved[node] = label
    return None


def _crf(problem: CRF | Instance) -> CRF:
    return problem.crf if isinstance(problem, Instance) else problem


def _with_unary(problem: CRF | Instance, unary: FloatArray) -> CRF | Instance:
    crf = _crf(problem)
    changed = CRF(unary, *crf.potentials, cardinalities=crf.cardinalities)
    return dataclasses.replace(problem, crf=changed) if isinstance(problem, Instance) else changed
