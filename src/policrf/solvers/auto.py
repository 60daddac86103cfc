"""auto: look at the model, pick what fits, go on while there is time, stop at a proof.

    few labelings                     all of them
    custom cliques                    node by node, asked half-way; messages where tables are small
    tables beyond what a cut takes    messages
    all else                          cuts
    then                              refine, from the best so far
    while `seconds` are left          exact, then annealing and refine in turns

Every step starts from the best labeling so far, so that none makes it worse.
"""

from __future__ import annotations

import math

import numpy as np

from policrf.crf.potentials import CUSTOM, TABLE
from policrf.errors import TooLarge, UnsupportedPotential
from policrf.solvers.run import Run
from policrf.solvers.traits import declares
from policrf.types import Progress

FEW = 2**14  # labelings that are visited one by one, in some milliseconds
SMALL_TABLE, ALL_TABLES = 2**12, 2**20  # entries of a custom clique's table, and of all of them
PROVABLE = 5000  # nodes up to which a proof is tried
PROOF_SHARE, ANNEALING_SHARE = 0.5, 0.3  # of the time left


@declares(proves="sometimes a bound")
def auto(run: Run) -> None:
    """Look at the model, start with what fits it, go on while there is time, stop at a proof."""
    if math.prod(map(int, run.crf.cardinalities[:64])) <= FEW and run.crf.n_nodes <= 64:
        _step(run, "brute_force")
        return
    for solver in _first_solvers(run):
        if not _done(run):
            _step(run, solver)
    if not _done(run):
        # With a limit, what comes after gets most of it.
        _step(run, "refine:start=unary", None if run.seconds is None else 0.3 * run.remaining())
    if run.seconds is None:
        return
    if not _done(run) and run.crf.n_nodes <= PROVABLE:
        _step(run, "exact", PROOF_SHARE * run.remaining())
    while not _done(run):
        _step(run, "annealing", ANNEALING_SHARE * run.remaining())
        if not _done(run):
            _step(run, "refine:start=unary", max(0.5 * run.remaining(), 0.01))


def _done(run: Run) -> bool:
    return run.optimal or run.expired() or run.proven()


def _first_solvers(run: Run) -> list[str]:
    """What gives a first answer; the ones after it are worth their time too."""
    a = run.crf.arrays
    if (a.clique_kind >= CUSTOM).any():
        first = ["highest_confidence_first"]
        return [*first, f"belief_propagation:table_limit={SMALL_TABLE}"] if _small(run) else first
    if (a.clique_kind == TABLE).any():
        return ["belief_propagation"]
    return ["alpha_expansion"]


def _small(run: Run) -> bool:
    """Whether the tables of all custom cliques can be written out."""
    a = run.crf.arrays
    logs = np.log2(a.cardinalities[a.clique_nodes].astype(np.float64))
    entries = np.add.reduceat(logs, a.clique_ptr[:-1])[a.clique_kind >= CUSTOM]
    in_all = float(np.exp2(np.minimum(entries, 60)).sum())
    return bool(entries.max() <= np.log2(SMALL_TABLE)) and in_all <= ALL_TABLES


def _step(run: Run, solver: str, seconds: float | None = None) -> None:
    """One solver from the best labeling so far; what it finds and proves is the run's."""
    from policrf.solvers import solve

    def forward(progress: Progress) -> bool:
        return run.expired()

    if seconds is None and run.seconds is not None:
        seconds = run.remaining()
    problem = run.crf if run.instance is None else run.instance
    steps = run.info.setdefault("steps", [])
    try:
        found = solve(
            problem, solver, seconds=seconds, seed=run.seed + len(steps), initial=run.best,
            callback=forward,
        )  # fmt: skip
    except (UnsupportedPotential, TooLarge):
        if solver != "alpha_expansion":
            return
        _step(run, "belief_propagation", seconds)
        return
    run.offer(found.labels)
    run.bound(found.lower_bound)
    run.optimal |= found.optimal
    steps.append((solver, found.energy, found.seconds))
