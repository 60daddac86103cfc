"""A solver's side of one call: the problem, the clock, and the best labeling so far.

A solver is a function `solver(run, *, options)` that calls `run.offer(labels)` whenever it has a
labeling worth keeping, `run.bound(value)` when it can prove a lower bound, and returns when done or
when `run.expired()`. It computes no energy for the result: `offer` asks the model. Kernels run in
slices of well under a second, so that the clock is looked at and Ctrl-C is heard in between.
"""

from __future__ import annotations

import time
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from policrf.compiled import compile_seconds
from policrf.crf.instance import Instance
from policrf.crf.model import CRF
from policrf.crf.potentials import Potential
from policrf.errors import InvalidInstance, InvalidOption, UnsupportedPotential
from policrf.types import Callback, IntArray, Progress, Solution


class Run:
    """One call of one solver on one problem."""

    def __init__(
        self,
        problem: CRF | Instance,
        solver: str,
        *,
        seconds: float | None = None,
        seed: int = 0,
        initial: ArrayLike | None = None,
        callback: Callback | None = None,
    ) -> None:
        if seconds is not None and not seconds >= 0:
            raise InvalidOption(
                f"seconds must be a number ≥ 0, or None for no limit, not {seconds}"
            )
        if not isinstance(problem, CRF | Instance):
            raise InvalidInstance(
                f"the problem is a {type(problem).__name__}; give a CRF, an Instance, or read(path)"
            )
        self.instance = problem if isinstance(problem, Instance) else None
        self.crf: CRF = problem.crf if isinstance(problem, Instance) else problem
        self.solver = solver
        self.seconds = seconds
        self.seed = seed
        self.initial: IntArray | None = None
        self.best: IntArray | None = None
        self.energy = float("inf")
        self.lower_bound = float("-inf")
        self.optimal = False
        self.order: IntArray | None = None
        self.info: dict[str, Any] = {}
        self._trace: list[Progress] = []
        self._callback = callback
        self._stop = False
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
        """Seconds left of the budget; inf without one."""
        return float("inf") if self.seconds is None else max(0.0, self.seconds - self.elapsed())

    def expired(self) -> bool:
        """Whether to stop now: the budget is spent, or the callback asked for it."""
        return self._stop or (self.seconds is not None and self.elapsed() >= self.seconds)

    def start_labels(self) -> IntArray:
        """Where a local search starts: a copy of the caller's labeling, or the unary argmin."""
        if self.initial is not None:
            return self.initial.copy()
        return np.asarray(np.argmin(self.crf.unary, axis=1), np.int64)

    def offer(self, labels: IntArray) -> bool:
        """Keep a copy of `labels` if it is the best so far; the model computes its energy."""
        energy = self.crf.energy(labels)
        if self.best is None or energy < self.energy:
            self.best, self.energy = np.array(labels, np.int64), energy
            self._record()
            return True
        return False

    def bound(self, value: float) -> None:
        """Report a proven lower bound; the highest is kept."""
        if value > self.lower_bound:
            self.lower_bound = float(value)
            self._record()

    def proven(self) -> bool:
        """Whether the best labeling so far is a minimum: nothing better can be found."""
        return self.best is not None and (self.optimal or self._meets(self.lower_bound))

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
        bound = self.lower_bound
        if self.optimal or bound > self.energy:
            # A bound that rounding has lifted above the energy is the energy.
            bound = min(self.energy, bound) if not self.optimal else self.energy
        return Solution(
            labels=self.best,
            energy=self.energy,
            solver=self.solver,
            seconds=seconds,
            lower_bound=bound,
            optimal=self.optimal or self._meets(bound),
            trace=tuple(self._trace),
            order=self.order,
            calls=int(self.crf.arrays.calls[0]) - self._calls,
            info=self.info,
        )

    def _meets(self, bound: float) -> bool:
        """Whether the bound is the energy up to rounding, at the scale of this CRF's numbers."""
        if not np.isfinite(bound) or not np.isfinite(self.energy):
            return False
        a = self.crf.arrays
        parts = (a.unary, a.edge_weights, a.clique_weight, a.data)
        finite = [np.abs(x[np.isfinite(x)]).max(initial=0.0) for x in parts]
        return bool(self.energy - bound <= 1e-9 * max(abs(self.energy), *finite))

    def _record(self) -> None:
        progress = Progress(self.elapsed(), self.energy, self.lower_bound)
        self._trace.append(progress)
        if self._callback is not None and self._callback(progress):
            self._stop = True
