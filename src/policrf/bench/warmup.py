"""Kernels compiled ahead: every solver on small models of every shape, several at a time.

numba compiles one kernel at a time in a process, so each solver has a process of its own. What is
compiled is kept on disk (`policrf.kernel_cache`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from time import perf_counter

import numpy as np

from policrf.compiled import compile_seconds
from policrf.crf.grid import grid
from policrf.crf.model import CRF
from policrf.crf.potentials import LabelCost, Pairwise, Potts, RobustPotts, Tables
from policrf.errors import PolicrfError
from policrf.scenes import make_family, make_frustrated, make_scene
from policrf.solvers import list_solvers, solve

# Those that take longest first, so that none is left alone at the end.
FIRST = ("auto", "untrained", "exact", "refine", "alpha_expansion")
SECONDS = 0.5  # of a solve; compiling does not count


def tasks(solvers: Sequence[str] = ()) -> list[str]:
    """The solvers to warm up, the longest first; all of them by default."""
    names = list(solvers) or list_solvers()
    return sorted(names, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))


def warm(solver: str) -> tuple[str, float]:
    """Solve every small model with it; returns the seconds that compiling and loading took."""
    before = compile_seconds()
    for crf in small_models():
        try:
            solve(crf, solver, seconds=SECONDS)
        except PolicrfError:  # a model that it does not take
            continue
    return solver, compile_seconds() - before


def small_models() -> list[CRF]:
    """Models that between them have every kind of term that solvers treat in their own way."""
    rng = np.random.default_rng(0)
    unary, edges = rng.random((30, 3)), np.array([(i, i + 1) for i in range(29)])
    table = np.abs(np.subtract.outer(np.arange(3), np.arange(3))).astype(float)
    forbidding = rng.random((10, 3, 3, 3))
    forbidding[:, 0, 1, 2] = np.inf
    triples = np.array([(i, i + 1, i + 2) for i in range(0, 20, 2)])
    regions = [range(15), range(15, 30)]
    return [
        make_scene(60, "B", seed=0).crf,
        grid(rng.random((8, 8, 3)), 0.3),
        CRF(unary, Pairwise(edges, table, 0.3)),
        CRF(unary, Potts(edges, 0.2), LabelCost(regions, 1.0), RobustPotts(regions, 2.0, 4)),
        CRF(unary, Tables(triples, forbidding)),
        make_family("two_labels", 64),
        make_family("order", 64),
        make_frustrated("glass", 60, 3, degree=4, seed=0),
    ]


def warm_up(
    solvers: Sequence[str], jobs: int, said: Callable[[str, float], None]
) -> tuple[float, float]:
    """Warm up all solvers in `jobs` processes; returns wall seconds and those of compiling.

    Parameters
    ----------
    solvers
        Names; all with none.
    jobs
        Processes at a time.
    said
        Called with each solver that is done and the seconds that it took.
    """
    begun, compiled = perf_counter(), 0.0
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for done in as_completed([pool.submit(warm, task) for task in tasks(solvers)]):
            solver, seconds = done.result()
            compiled += seconds
            said(solver, seconds)
    return perf_counter() - begun, compiled
