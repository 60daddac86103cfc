"""`check_solver`: does a solver behave, on everything a user may hand it?"""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import BoxAgreement, BoxSupport, Potts, Tables
from policrf.errors import TooLarge, UnsupportedPotential
from policrf.solvers import solve
from policrf.solvers.run import Run
from policrf.solvers.spec import SOLVERS
from policrf.testing.random_crf import random_crf
from policrf.testing.reference import reference_energy, reference_minimum
from policrf.types import IntArray, Solution

Solver = str | Callable[..., None]
LOOKS = 1000  # at the clock that a solver may take on its way out, after it was told to stop


def check_solver(
    solver: Solver,
    *,
    options: dict[str, Any] | None = None,
    seconds: float | None = None,
    patience: float = 3.0,
) -> dict[str, str]:
    """Run a solver on awkward problems and hold every answer against the model and brute force.

    For each case the solver either refuses the potential by name (`UnsupportedPotential`) or
    answers with allowed labels, their true energy, and a bound that is one. Also checked: same
    seed, same answer; an `initial` labeling is never made worse; a budget of 0 s returns at once; a
    callback can stop it; Ctrl-C is heard. Raises AssertionError that names the case.

    Parameters
    ----------
    solver
        A registered name, or a function `solver(run, **options)`.
    options
        The solver's own options.
    seconds
        The budget of each small problem; by default a solver runs until it is done. One that has to
        be given a budget needs an ample one, compilation included, since two answers that both ran
        out of time may differ.
    patience
        Seconds within which the solver must return with a budget of 0 s, and hear Ctrl-C.

    Returns
    -------
    dict
        What happened to each case: "ok", or why it was refused. A solver that refuses every case
        passes: compare the outcome with the cases that yours should take.
    """
    options = options or {}
    outcome = {}
    for name, crf in cases():
        try:
            solution = solve(crf, solver, seconds=seconds, seed=1, **options)
        except (UnsupportedPotential, TooLarge) as refusal:
            assert str(refusal), f"{name}: refused without a reason"
            outcome[name] = str(refusal)
            continue
        check_solution(crf, solution, name)
        again = solve(crf, solver, seconds=seconds, seed=1, **options)
        assert again.energy == solution.energy, f"{name}: same seed, other energy"
        initial = feasible_labels(crf)
        kept = solve(crf, solver, seconds=seconds, initial=initial, **options)
        assert kept.energy <= crf.energy(initial), f"{name}: worse than the initial labeling"
        at_once = solve(crf, solver, seconds=0, initial=initial, **options)
        check_solution(crf, at_once, f"{name}, budget of 0 s")
        assert at_once.seconds < patience, f"{name}: a budget of 0 s took {at_once.seconds:.2f} s"
        outcome[name] = "ok"
    _check_callback(solver, options)
    _check_interrupt(solver, options, patience)
    return outcome


def cases() -> Iterator[tuple[str, CRF]]:
    """Named small problems, each with something a solver may stumble over."""
    rng = np.random.default_rng(7)
    unary = rng.normal(size=(6, 3))
    ring = [[i, (i + 1) % 6] for i in range(6)]
    everyone = [list(range(6))]
    yield "one node", CRF(rng.normal(size=(1, 3)))
    yield "one label", CRF(rng.normal(size=(5, 1)), Potts([[0, 1], [1, 2]], 1.0))
    yield "two labels", CRF(rng.normal(size=(6, 2)), Potts(ring, 0.7))
    yield "no edges", CRF(unary)
    yield "an empty Potts group", CRF(unary, Potts(np.zeros((0, 2), int), 1.0))
    yield "disconnected", CRF(unary, Potts([[0, 1], [3, 4]], 1.0))
    yield "all unaries equal", CRF(np.zeros((6, 3)), Potts(ring, 1.0))
    yield "HOP1 over all nodes", CRF(unary, Potts(ring, 0.3), BoxAgreement(everyone, [1], [0.8]))
    yield "HOP2 over all nodes", CRF(unary, Potts(ring, 0.3), BoxSupport(everyone, [2], 2.5, 4))
    yield (
        "HOP1 and HOP2 overlapping",
        CRF(
            unary,
            Potts(ring, 0.4),
            BoxAgreement([[0, 1, 2, 3], [2, 3, 4]], [0, 1], [0.5, 0.9]),
            BoxSupport([[1, 2, 3], [3, 4, 5]], [1, 2], [1.5, 2.0], [2, 3]),
        ),
    )
    quota = BoxSupport([[0, 1], [2, 3]], [0, 1], 1.0, [0, 3])
    yield "quotas of nothing and of too much", CRF(unary, quota)
    forbidden = unary.copy()
    forbidden[[0, 1, 2, 2], [0, 1, 0, 1]] = np.inf
    yield "forbidden labels", CRF(forbidden, Potts(ring, 1.0), BoxAgreement(everyone, [0], [0.5]))
    metric = np.abs(np.arange(3)[:, None] - np.arange(3)) * 0.5
    yield "a metric table", CRF(unary, Tables(ring, np.tile(metric, (6, 1, 1))))
    odd = rng.normal(size=(6, 3, 3))
    yield "non-metric tables", CRF(unary, Tables(ring, odd))
    barred = np.where(odd > 1.2, np.inf, odd)
    barred[:, 0, 0] = 0.0
    yield "tables that forbid pairs", CRF(unary, Tables(ring, barred))
    yield "an order-3 table", CRF(unary, Tables([[0, 2, 4]], rng.normal(size=(1, 3, 3, 3))))
    yield "negative Potts weights", CRF(unary, Potts(ring, -0.5))
    yield "custom potentials", random_crf(3, groups=("potts", "custom"))
    yield "unequal cardinalities", random_crf(4, groups=("tables",), ragged=True)
    yield "unequal cardinalities, Potts", random_crf(9, groups=("potts", "hop1"), ragged=True)
    yield "everything", random_crf(5)
    for scale in (1e9, 1e-9):
        yield (
            f"energies of {scale:g}",
            random_crf(6, groups=("potts", "hop1", "hop2"), scale=scale),
        )
    parallel = (Potts([[0, 1]], 0.5), Potts([[1, 0], [1, 2]], 0.25))
    yield "the same edge in two groups", CRF(unary, *parallel)


def feasible_labels(crf: CRF) -> IntArray:
    """The first allowed label of every node: finite energy on all of `cases`."""
    return np.asarray(np.argmax(np.isfinite(crf.unary), axis=1), np.int64)


def check_solution(crf: CRF, solution: Solution, name: str) -> None:
    """The labels are allowed, the energy is theirs, and the bound is below the true minimum."""
    labels = crf.checked_labels(solution.labels)
    expected = reference_energy(crf, labels.tolist())
    scale = 1e-9 * max(abs(expected), float(np.abs(crf.unary[np.isfinite(crf.unary)]).max()))
    assert not math.isnan(solution.energy), f"{name}: the energy is NaN"
    assert solution.energy == expected or abs(solution.energy - expected) <= scale, (
        f"{name}: says energy {solution.energy}, but its labels have {expected}"
    )
    lowest = reference_minimum(crf)
    if solution.optimal:
        assert solution.energy <= lowest + scale, (
            f"{name}: calls {solution.energy} optimal; the minimum is {lowest}"
        )
    assert solution.lower_bound <= lowest + scale, (
        f"{name}: lower bound {solution.lower_bound} above the minimum {lowest}"
    )
    if solution.order is not None:
        assert sorted(solution.order.tolist()) == list(range(crf.n_nodes)), f"{name}: order"


def _large(solver: Solver, options: dict[str, Any]) -> CRF:
    """A grid of 40,000 nodes, with Potts, HOP1 and HOP2 if the solver takes them."""
    side, n_labels = 200, 8
    rng = np.random.default_rng(0)
    index = np.arange(side * side).reshape(side, side)
    across = np.stack([index[:, :-1].reshape(-1), index[:, 1:].reshape(-1)], axis=1)
    down = np.stack([index[:-1].reshape(-1), index[1:].reshape(-1)], axis=1)
    potts = Potts(np.concatenate([across, down]), 1.0)
    unary = rng.normal(size=(side * side, n_labels))
    box = [index[20:120, 30:150].reshape(-1)]
    quota = BoxSupport(box, [1], 5000.0, len(box[0]) / 2)
    agreement = BoxAgreement(box, [1], [0.5])
    groups = [(potts, agreement, quota), (potts,), ()]
    return _first_taken(solver, options, (CRF(unary, *some) for some in groups))


def _first_taken(solver: Solver, options: dict[str, Any], candidates: Iterable[CRF]) -> CRF:
    """The first CRF that the solver does not refuse, or the last."""
    for crf in candidates:
        try:
            solve(crf, solver, seconds=0, **options)
        except UnsupportedPotential:
            continue
        break
    return crf


def _check_callback(solver: Solver, options: dict[str, Any]) -> None:
    """A solver whose callback asked it to stop does not go on looking at the clock."""
    function = SOLVERS.get(solver) if isinstance(solver, str) else solver
    candidates = (random_crf(8, n_nodes=8, groups=groups) for groups in (("potts",), ()))
    crf = _first_taken(solver, options, candidates)
    run = _StoppedRun(crf, "check_solver", callback=lambda progress: True)
    function(run, **options)
    check_solution(crf, run.solution(), "a callback that stops it")


class _StoppedRun(Run):
    """Counts how often a solver asks whether to stop after it was told to."""

    ignored = 0

    def expired(self) -> bool:
        stopped = super().expired()
        self.ignored += stopped
        assert self.ignored <= LOOKS, "it goes on after its callback asked it to stop"
        return stopped


def _check_interrupt(solver: Solver, options: dict[str, Any], patience: float) -> None:
    if threading.current_thread() is not threading.main_thread():
        return
    try:
        crf = _large(solver, options)
    except TooLarge:
        return
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    # A process started in the background ignores SIGINT; the check needs Python's own handler.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, interrupt)
    timer.start()
    try:
        solve(crf, solver, seconds=20, **options)
    except KeyboardInterrupt:
        late = time.perf_counter() - sent[0]
        assert late < patience, f"Ctrl-C was heard only after {late:.2f} s"
        return
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    assert not sent, "Ctrl-C was swallowed"
