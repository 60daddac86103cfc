"""One component of an exact solve: enumerated, or given to HiGHS and toulbar2.

A part knows the best labeling so far, and a claim about its own terms: a value and a margin.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.crf.changes import load_labels
from policrf.crf.potentials import SUPPORT, TABLE
from policrf.crf.state import new_state
from policrf.solvers.proofs.brute_force import STEPS, start_odometer, visit
from policrf.solvers.proofs.exact_network import build_network
from policrf.solvers.proofs.exact_subproblem import Subproblem
from policrf.solvers.proofs.exact_toulbar2 import LAST_WORDS, has_toulbar2, solve_network
from policrf.solvers.proofs.program.exact_highs import Limits, solve_milp
from policrf.solvers.proofs.program.exact_model import build_model
from policrf.solvers.run import Run
from policrf.types import BoolArray, FloatArray, IntArray

LAST_WORDS_SHARE = 0.1  # of the time that is left, at most: a backend tells what it has then
FIRST_SHARE = 0.6  # of the time that is left, for the backend that suits a part better
LABELS = (50, 6_000)  # below, HiGHS is done before a process starts; above, it has a bound sooner
MOST_LABELS = 60_000  # of a part that toulbar2 is asked about at all
ENUMERATED = 12.0  # a component with 2 to the power of this many labelings is enumerated
# What is written down and read by a backend in a second, about.
COLUMNS_A_SECOND, FUNCTIONS_A_SECOND = 1e5, 1.5e4
PROCESS = 0.05  # seconds until toulbar2's process has started
CLOSED = 0.2  # what a clique with one open member costs, in parts of one with more


def is_enumerated(alive: BoolArray) -> bool:
    """Whether a part with these labels is small enough to look at all its labelings."""
    return bool(np.log2(alive.sum(axis=1)).sum() <= ENUMERATED)


def is_beyond_search(a: Arrays, alive: BoolArray, seconds: float) -> bool:
    """Whether the nodes with these labels are too many for both backends to begin with."""
    too_large = not has_toulbar2() or int(alive.sum()) > MOST_LABELS
    functions = len(a.edges) + len(a.clique_kind)
    no_network = too_large or functions > FUNCTIONS_A_SECOND * seconds
    return no_network and columns_of(a, alive) > COLUMNS_A_SECOND * FIRST_SHARE * seconds


def columns_of(a: Arrays, alive: BoolArray) -> float:
    """How many columns a program has, about."""
    entries = a.data_size[a.clique_kind == TABLE].sum() + len(a.clique_nodes)
    return float(alive.sum() + a.unary.shape[1] * len(a.edges) + entries)


class Part:
    """One component and what is known of it."""

    def __init__(self, run: Run, sub: Subproblem, labels: IntArray, *, gap: float) -> None:
        self.run, self.sub, self.wanted_gap = run, sub, gap
        self._whole = labels
        self.labels: IntArray = labels[sub.nodes]
        """[K], of the part's nodes."""
        self.energy = sub.energy(self.labels)
        """Of the part's terms only."""
        self.value, self.margin = -np.inf, 0.0
        self.infeasible = False
        """Whether a solver said so; believed where no allowed labeling is known."""
        self._elsewhere: tuple[float, float, float] | None = None

    @property
    def gap(self) -> float:
        """How far the part's labels may be above its minimum, beyond the margin."""
        return max(0.0, self.energy - self.value)

    @property
    def closed(self) -> bool:
        """Whether the part's labels are proven."""
        return self.energy <= self.value

    def report(self, energy: float, open_gap: float, margin: float) -> None:
        """From now on, claims are the run's: all other parts are done, with that gap and margin."""
        self._elsewhere = (energy - self.energy, open_gap, margin)

    def solve(self, backend: str) -> None:
        """Enumerate a small part; else by "toulbar2" or "highs", or both in turn with "auto"."""
        if is_enumerated(self.sub.alive):
            self._enumerate()
            return
        backends = [backend]
        if self._open_kinds().max(initial=0) > TABLE:
            backends = ["highs"]  # toulbar2 has no form of these groups
        elif backend == "auto":
            backends = self._in_order_of_promise()
        self.run.info["backend"] = ", ".join(backends)
        for position, name in enumerate(backends):
            if self.closed or self.infeasible or self.run.expired():
                return
            left = self.run.remaining()
            seconds = left - min(LAST_WORDS, LAST_WORDS_SHARE * left)
            if position < len(backends) - 1:
                seconds *= FIRST_SHARE
            if name == "toulbar2":
                self._solve_network(seconds)
            else:
                self._solve_program(seconds)

    def _in_order_of_promise(self) -> list[str]:
        """The backends that can take the part, the better one first.

        The linear relaxation is weak on quotas, tables and edges that reward differences.
        """
        labels = self.sub.alive[: self.sub.free].sum()
        if not has_toulbar2() or labels > MOST_LABELS:
            return ["highs"]
        hard = np.isin(self._open_kinds(least=2), (SUPPORT, TABLE)).any()
        hard |= bool((self.sub.arrays.edge_weights < 0).any())
        if hard and LABELS[0] <= labels <= LABELS[1]:
            return ["toulbar2", "highs"]
        return ["highs", "toulbar2"]

    def _open_kinds(self, least: int = 1) -> IntArray:
        """The kinds of the cliques with at least so many members that have a choice."""
        a = self.sub.arrays
        clique = np.repeat(np.arange(len(a.clique_kind)), np.diff(a.clique_ptr))
        free = a.clique_nodes < self.sub.free
        open_members = np.bincount(clique[free], minlength=len(a.clique_kind))
        return np.asarray(a.clique_kind[open_members >= least])

    def _rounding(self) -> float:
        energy = self.energy if np.isfinite(self.energy) else self.value
        return 4 * self.sub.terms.rounding(energy) if np.isfinite(energy) else 0.0

    def _improve(self, labels: IntArray) -> None:
        energy = self.sub.energy(labels)
        if energy < self.energy or not np.isfinite(self.energy):
            self.labels, self.energy = labels, energy
            whole = self._whole.copy()
            whole[self.sub.nodes] = labels
            self.run.offer(whole)

    def _claim(self, value: float, margin: float = 0.0) -> None:
        """No labeling of the part is below value − margin; one of value + margin is a minimum."""
        if np.isposinf(value):
            # Known labelings outweigh what a solver says about them.
            self.infeasible = not np.isfinite(self.energy)
            return
        margin += self._rounding()
        if self.energy <= value + margin and self.sub.terms.is_fine(margin, self.energy):
            self.value, self.margin = self.energy, 2 * margin
        elif value - margin > self.value:
            self.value, self.margin = value - margin, 0.0
        if self._elsewhere is not None and np.isfinite(self.value) and np.isfinite(self.energy):
            other, gap, margins = self._elsewhere
            self.run.bound(other + self.value - gap, margins + self.margin + self._rounding())

    def _enumerate(self) -> None:
        a = self.sub.arrays
        odometer, labels = start_odometer(self.sub.alive)
        state = new_state(a)
        load_labels(a, state, labels)
        lowest = np.array([np.inf, 0.0])
        visit(a, state, odometer, lowest, labels, STEPS)
        if np.isfinite(lowest[0]):
            self._improve(labels)
        self._claim(float(lowest[0]))

    def _solve_network(self, seconds: float) -> None:
        a, deadline = self.sub.arrays, self.run.elapsed() + seconds
        open_cliques = len(self._open_kinds(least=2))
        functions = len(a.edges) + open_cliques + CLOSED * (len(a.clique_kind) - open_cliques)
        if seconds < PROCESS or functions > FUNCTIONS_A_SECOND * seconds:
            return
        network = build_network(self.sub.arrays, self.sub.alive, self._late(deadline))
        if network is None:
            return
        result = solve_network(
            network, self.energy, margin=self._rounding(), seed=self.run.seed,
            seconds=deadline - self.run.elapsed(), remaining=self.run.remaining,
        )  # fmt: skip
        if result.labels is not None:
            labels = self.labels.copy()
            labels[network.nodes] = result.labels
            self._improve(labels)
        self._claim(result.bound, result.margin)

    def _late(self, deadline: float) -> Callable[[], bool]:
        return lambda: self.run.expired() or self.run.elapsed() > deadline

    def _solve_program(self, seconds: float) -> None:
        """HiGHS; again where its labels were so much better that costs no longer matter.

        Its tolerance is a part of the largest cost that a solution may have.
        """
        deadline = self.run.elapsed() + seconds
        if columns_of(self.sub.arrays, self.sub.alive) > COLUMNS_A_SECOND * seconds:
            return
        finished, before = True, np.inf
        while finished and not (self.closed or self.infeasible or self._late(deadline)()):
            if before < np.inf and not self.energy < before:
                return
            before = min(self.energy, np.finfo(np.float64).max)
            finished = self._run_highs(deadline)

    def _run_highs(self, deadline: float) -> bool:
        late = self._late(deadline)
        model = build_model(self.sub.arrays, self.sub.alive, self.labels, late)
        if model is None:
            return False

        def improve(values: FloatArray) -> None:
            self._improve(model.labels(values))

        result = solve_milp(
            model.milp,
            Limits(deadline - self.run.elapsed(), self.wanted_gap, self.run.remaining),
            upper=self.energy, margin=self._rounding(), seed=self.run.seed,
            on_bound=self._claim, on_solution=improve,
        )  # fmt: skip
        slop = 0.0
        if result.values is not None:
            improve(result.values)
            if result.finished and np.isfinite(result.bound):
                # Its solution is whole up to a tolerance, which its value has the benefit of.
                slop = max(0.0, self.sub.energy(model.labels(result.values)) - result.bound)
        self._claim(result.bound + slop / 2, result.margin + slop / 2)
        return result.finished
