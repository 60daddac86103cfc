"""A solver's side of one call: the problem, the clock, and the best labeling so far.

A solver is a function `solver(run, *, options)` that calls `run.offer(labels)` whenever it has a
labeling worth keeping, `run.bound(value)` when it can prove a lower bound, and returns when done or
when `run.expired()`. It computes no energy for the result: `offer` asks the model. Kernels run in
slices of well under a second, so that the clock is looked at and Ctrl-C is heard in between.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from policrf.compiled import compile_seconds
from policrf.crf.changes import load_labels
from policrf.crf.instance import Instance
from policrf.crf.model import CRF
from policrf.crf.potentials import Potential
from policrf.crf.state import new_state
from policrf.errors import InvalidInstance, InvalidOption, UnsupportedPotential
from policrf.random_numbers import checked_seed
from policrf.solvers.call_limit import limited_calls
from policrf.solvers.claims import FINE, Terms, terms_of
from policrf.types import Callback, IntArray, Progress, Solution

OFFER = 1e-8  # seconds a node, an edge or a clique's member that offering labels takes


class Run:
    """One call of one solver on one problem."""

    def __init__(
        self,
        problem: CRF | Instance,
        solver: str,
        *,
        seconds: float | None = None,
        calls: float | None = None,
        seed: int = 0,
        initial: ArrayLike | None = None,
        callback: Callback | None = None,
    ) -> None:
        if seconds is not None and not seconds >= 0:
            raise InvalidOption(
                f"seconds must be a number ≥ 0, or None for no limit, not {seconds}"
            )
        if seconds == float("inf"):
            seconds = None
        if not isinstance(problem, CRF | Instance):
            raise InvalidInstance(
                f"the problem is a {type(problem).__name__}; give a CRF, an Instance, or read(path)"
            )
        self.instance = problem if isinstance(problem, Instance) else None
        self.crf: CRF = problem.crf if isinstance(problem, Instance) else problem
        self.limit = limited_calls(self.crf, calls)
        """What counts and limits calls of expensive functions; None where none are limited."""
        if self.limit is not None:
            self.crf = self.limit.crf
            if self.instance is not None:
                self.instance = replace(self.instance, crf=self.crf)
        self.solver = solver
        self.seconds = seconds
        self.goes_on = False
        """Whether time that the solver leaves is used by a search from its labels."""
        self.seed = checked_seed(seed)
        self.initial: IntArray | None = None
        self.best: IntArray | None = None
        self.energy = float("inf")
        self.lower_bound = float("-inf")
        self.optimal = False
        """Proven by other means than a bound: all labelings seen, or none allowed."""
        self._claims: tuple[tuple[float, float, float], ...] = ()  # value, margin, fine
        self.order: IntArray | None = None
        self.info: dict[str, Any] = {}
        self.visit_seconds: float | None = None  # what `question_cost` has measured
        self._violated: int | None = None  # terms that forbid the best labeling, once asked for
        self._trace: list[Progress] = []
        self._callback = callback
        self._stop = False
        a = self.crf.arrays
        self.offer_seconds = OFFER * (len(a.unary) + len(a.edges) + len(a.clique_nodes))
        """What offering labels takes, about."""
        self._start = time.perf_counter() - compile_seconds()
        self._calls = int(self.crf.arrays.calls[0])
        if initial is not None:
            self.initial = self.crf.checked_labels(initial)
            self.offer(self.initial)

    @cached_property
    def rng(self) -> np.random.Generator:
        """Made when a solver asks for it: that takes as long as some solves."""
        return np.random.default_rng(self.seed)

    def elapsed(self) -> float:
        """Seconds since the call, without those that compiling kernels took."""
        return time.perf_counter() - compile_seconds() - self._start

    def remaining(self) -> float:
        """Seconds left: inf without a budget, 0 once the callback or the calls say so.

        What offering the last labels takes is not among them.
        """
        if self._stop or (self.limit is not None and self.limit.refused):
            return 0.0
        if self.seconds is None:
            return float("inf")
        return max(0.0, self.seconds - self.offer_seconds - self.elapsed())

    def expired(self) -> bool:
        """Whether to stop now: a budget is spent, or the callback asked for it."""
        return self.remaining() == 0.0

    def start_labels(self) -> IntArray:
        """Where a local search starts: a copy of the caller's labeling, or the unary argmin.

        Where calls are limited, it is what the terms that cost none like best.
        """
        if self.limit is not None and self.initial is None and self.limit.most > 0:
            self.initial = self.limit.known_labels(self.seconds, self.seed)
            self.offer(self.initial)
        if self.initial is not None:
            return self.initial.copy()
        return np.asarray(np.argmin(self.crf.unary, axis=1), np.int64)

    def offer(self, labels: IntArray) -> bool:
        """Keep a copy of `labels` if it is the best so far; the model computes its energy.

        Of forbidden labelings the one with the fewest forbidden terms is kept.
        """
        energy = self.crf.energy(labels)
        better = self.best is None or energy < self.energy
        if not better and energy == self.energy == np.inf:
            better = self._violates_less(labels)
        if better:
            self.best, self.energy = np.array(labels, np.int64), energy
            self._record()
            return True
        return False

    def settle(self, labels: IntArray) -> None:
        """Answer with `labels`, whatever was offered: what was asked does not tell their worth."""
        self.best, self.energy = np.array(labels, np.int64), self.crf.energy(labels)
        self._record()

    def _violates_less(self, labels: IntArray) -> bool:
        """Whether fewer terms forbid `labels` than the best so far, forbidden too."""
        assert self.best is not None
        if self._violated is None:
            self._violated = self._violations(self.best)
        found = self._violations(labels)
        less = found < self._violated
        self._violated = min(found, self._violated)
        return less

    def _violations(self, labels: IntArray) -> int:
        """How many terms a labeling makes infinite."""
        state = new_state(self.crf.arrays)
        load_labels(self.crf.arrays, state, np.asarray(labels, np.int64))
        return int(state.forbidden[0])

    @cached_property
    def terms(self) -> Terms:
        """What margins are computed from; only claims need it."""
        return terms_of(self.crf.arrays)

    def bound(self, value: float, margin: float = 0.0, fine: float = FINE) -> None:
        """Claim that no labeling is below `value`, give or take `margin` (see `claims`).

        The rounding of energies is added to the margin; a larger part of them than `fine` is no
        proof.
        """
        if not np.isfinite(self.lower_bound) and np.isfinite(self.terms.lowest):
            self._claim(self.terms.lowest, 0.0, FINE)
        self._claim(value, margin, fine)

    def _claim(self, value: float, margin: float, fine: float) -> None:
        low = value
        if np.isfinite(value):
            energy = max(self.energy, value) if np.isfinite(self.energy) else value
            # Of a CRF whose terms are not known, the magnitude is that of what is compared.
            blur = max(self.terms.rounding(energy), self.terms.rounding(value))
            low = value - margin - blur
            # The highest and the latest: what they prove depends on the labeling (`proven`).
            highest = self._claims[0] if low <= self.lower_bound and self._claims else None
            latest = (value, margin, fine)
            self._claims = (latest,) if highest is None else (highest, latest)
        if low > self.lower_bound:
            self.lower_bound = float(low)
            self._record()

    def inherit(self, found: Solution) -> None:
        """What another run on the same CRF found and claims, its margins being in it."""
        self.offer(found.labels)
        self.optimal |= found.optimal
        if found.lower_bound > self.lower_bound:
            self.lower_bound = found.lower_bound
            self._record()

    def proven(self) -> bool:
        """Whether the best labeling so far is a minimum: nothing better can be found."""
        if self.best is None or self.optimal or not np.isfinite(self.energy):
            return self.best is not None and self.optimal
        for value, margin, fine in self._claims:
            # A margin that was fine for a labeling of huge energy may not be for this one.
            whole = margin + self.terms.rounding(self.energy)
            if self.energy <= value + whole and self.terms.is_fine(whole, self.energy, fine):
                return True
        return False

    def refuse_all_but(self, *kinds: type[Potential], why: str = "") -> None:
        """Raise `UnsupportedPotential` for the first group that is of none of `kinds`."""
        for potential in self.crf.potentials:
            if not isinstance(potential, kinds):
                takes = ", ".join(kind.__name__ for kind in kinds) or "unaries only"
                raise UnsupportedPotential(
                    f"{self.solver} cannot take {potential.name}{why and ': ' + why}; "
                    f"it takes {takes}. Try belief_propagation, icm, lazy_flipper or refine"
                )

    def solution(self) -> Solution:
        """The result; a solver that offered nothing is answered with its starting labels."""
        seconds = self.elapsed()
        if self.best is None:
            self.offer(self.start_labels())
        assert self.best is not None
        if self.optimal:
            self.bound(self.energy)
        found = Solution(
            labels=self.best,
            energy=self.energy,
            solver=self.solver,
            seconds=seconds,
            lower_bound=min(self.lower_bound, self.energy),
            optimal=self.proven(),
            trace=tuple(self._trace),
            order=self.order,
            calls=int(self.crf.arrays.calls[0]) - self._calls,
            info=self.info,
        )
        return found if self.limit is None else self.limit.reported(found)

    def _record(self) -> None:
        progress = Progress(self.elapsed(), self.energy, self.lower_bound)
        self._trace.append(progress)
        if self._callback is not None and self._callback(progress):
            self._stop = True
