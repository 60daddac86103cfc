"""Calls of expensive functions: never more than a run allows, whatever its solver does.

With a limit of 0 the solver gets the CRF without the groups whose functions are expensive: the
terms that can be asked. With a larger one every question goes through here: the answer to one that
was asked before is known and costs nothing, a new one is a call, and beyond the limit the answer is
+inf, so that no search goes where it could not ask. A run that was refused an answer proves
nothing, and looks expired to its solver.

The energy in a `Solution` is that of all terms, recomputed from the labels by the model. What is
not known of it when the solver has ended is asked then, outside the limit and after `seconds`: one
call a clique of an expensive group at most. `Solution.calls` are those within the limit, and
`info["calls_to_report"]` those after it. Trace and callback tell energies of what was asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import Any

import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import Custom, Potential
from policrf.errors import InvalidOption, UnsupportedPotential
from policrf.types import IntArray, Solution

KNOWN_SHARE = 0.2  # of the seconds, for the labels that the terms without calls like best
Function = Callable[[Any, Any], float]


def limited_calls(crf: CRF, calls: float | None) -> CallLimit | None:
    """The limit of a run; None where nothing is expensive, or everything may be asked."""
    if calls is not None and (not calls >= 0 or (calls != math.inf and calls != int(calls))):
        raise InvalidOption(
            f"calls must be a whole number ≥ 0, inf for no limit, or None for 0, not {calls}"
        )
    if calls == math.inf or not expensive_groups(crf):
        return None
    return CallLimit(crf, int(calls or 0))


def expensive_groups(crf: CRF) -> list[Custom]:
    """The groups whose calls are counted."""
    return [group for group in crf.groups(Custom) if _is_dear(group)]  # type: ignore[misc]


def without_expensive(crf: CRF) -> CRF:
    """The same nodes with the terms that cost no call."""
    return crf.with_potentials(*(group for group in crf.potentials if not _is_dear(group)))


def _is_dear(group: Potential) -> bool:
    return isinstance(group, Custom) and group.expensive


class Count:
    """Calls so far and their answers.

    It knows no CRF: arrays hold the functions that ask here, and numpy's arrays hide what they hold
    from the garbage collector.
    """

    def __init__(self, most: float) -> None:
        self.most = most
        self.asked = 0
        self.refused = False
        self.answers: dict[tuple[bytes | int, ...], float] = {}
        self._lock = Lock()

    def counting(self, function: Function) -> Function:
        """The function behind the count; cliques with the same parameters share their answers."""

        def ask(numbers: Any, parameters: Any) -> float:
            question = (id(function), numbers.tobytes(), parameters.tobytes())
            with self._lock:
                known = self.answers.get(question)
                if known is not None:
                    return known
                if self.asked >= self.most:
                    self.refused = True
                    return math.inf
                self.asked += 1
            answer = float(function(numbers, parameters))
            self.answers[question] = answer
            return answer

        return ask

    def group(self, group: Potential) -> Potential:
        """An expensive group with its functions behind the count; others as they are."""
        if not isinstance(group, Custom) or not group.expensive:
            return group
        marked = None if group.marked is None else self.counting(group.marked)
        return group.asking(self.counting(group.function), marked)


class CallLimit:
    """The limit of one run.

    Parameters
    ----------
    whole
        The CRF with all its terms.
    most
        Calls that may be made while solving.
    """

    def __init__(self, whole: CRF, most: int) -> None:
        self.whole, self.most = whole, most
        self.count = Count(most)
        self.crf = (
            whole.with_potentials(*map(self.count.group, whole.potentials))
            if most
            else without_expensive(whole)
        )
        """What the solver gets."""

    @property
    def asked(self) -> int:
        """Calls so far."""
        return self.count.asked

    @property
    def refused(self) -> bool:
        """Whether a question went unanswered."""
        return self.count.refused

    def known_labels(self, seconds: float | None, seed: int) -> IntArray:
        """What cuts, or else single relabels, make of the terms that cost no call, `[N]`."""
        from policrf.solvers import solve

        crf, share = without_expensive(self.whole), None
        if seconds is not None:
            share = KNOWN_SHARE * seconds
        try:
            return solve(crf, "alpha_expansion", seconds=share, seed=seed, go_on=False).labels
        except UnsupportedPotential:
            return solve(crf, "icm", seconds=share, seed=seed, go_on=False).labels

    def reported(self, found: Solution) -> Solution:
        """What the caller of a run gets: the energy of all terms, and what it took."""
        within, complete = self.asked, self.most > 0
        proves = complete and not self.refused
        self.count.most = math.inf
        energy = self.crf.energy(found.labels) if complete else self.whole.energy(found.labels)
        after = self.asked - within if complete else _cliques(self.whole)
        info = found.info | {"calls_to_report": after}
        return replace(
            found, energy=energy, calls=within, info=info,
            lower_bound=found.lower_bound if proves else -np.inf,
            optimal=found.optimal and proves,
        )  # fmt: skip


def _cliques(crf: CRF) -> int:
    return sum(len(group) for group in expensive_groups(crf))
