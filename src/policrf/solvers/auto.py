"""auto: look at the model, pick what fits, go on while there is time, stop at a proof.

    few labelings                     all of them
    cliques that are asked half-way   a quick half-way rule (`first_answer`), or cuts without them;
                                      then refine
    tables beyond what a cut takes    messages, then refine
    all else                          cuts, then refine
    while `seconds` are left          exact, then annealing and refine in turns

Custom cliques are written out as tables, for messages and a proof, where these are small. Where
they are not, nothing but refine is worth its time. Every step starts from the best labeling so far,
so that none makes it worse.
"""

from __future__ import annotations

import math

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.crf.potentials import CONNECTED, CUSTOM, ORDERED, TABLE, TOGETHER
from policrf.errors import TooLarge, UnsupportedPotential
from policrf.solvers.first_answer import label_in_one_pass, labels_quickly
from policrf.solvers.refine.refine import refine_on
from policrf.solvers.refine.refine_rounds import Moves
from policrf.solvers.refine.refine_start import is_opaque, known_part
from policrf.solvers.run import Run
from policrf.solvers.spec import SOLVERS
from policrf.solvers.traits import declares
from policrf.types import BoolArray, Progress

FEW = 2**14  # labelings that are visited one by one, in some milliseconds
SMALL_TABLE, ALL_TABLES = 2**12, 2**20  # entries of a custom clique's table, and of all of them
MOST_NODES = 24  # of a custom clique whose table is written out: quick to see
PROVABLE = 5000  # nodes up to which a proof is tried
TINY = 0.001  # seconds in which neither a policy nor refine is set up and done
PROOF_SHARE, ANNEALING_SHARE = 0.5, 0.3  # of the time left


@declares(proves="sometimes a bound")
def auto(run: Run) -> None:
    """Look at the model, start with what fits it, go on while there is time, stop at a proof."""
    if math.prod(map(int, run.crf.cardinalities[:64])) <= FEW and run.crf.n_nodes <= 64:
        _step(run, "brute_force")
        return
    if not _is_open(run):
        _ask_halfway(run)
        return
    for solver, share in _first_solvers(run):
        if not _done(run):
            _step(run, solver, None if run.seconds is None else share * run.remaining())
    if run.seconds is None:
        return
    if not _done(run) and run.crf.n_nodes <= PROVABLE:
        _step(run, "exact", PROOF_SHARE * run.remaining())
    while not _done(run):
        _step(run, "annealing", ANNEALING_SHARE * run.remaining())
        if not _done(run):
            _step(run, "refine:start=unary", max(0.5 * run.remaining(), 0.01))


def _ask_halfway(run: Run) -> None:
    """Quick answers first, then refine; all in this run: every other call would take its time."""
    quick, tiny = labels_quickly(run.crf.arrays), run.remaining() < TINY
    steps = run.info["steps"] = []
    if quick or tiny:
        first = "untrained" if quick else "icm"
        if quick and tiny:
            label_in_one_pass(run)
        else:
            SOLVERS.get(first)(run)
        steps.append((first, run.energy, run.elapsed()))
    if not quick and not _done(run):
        begun, known = run.elapsed(), known_part(run)
        if known is not None:
            run.offer(known)
            steps.append(("known part", run.energy, run.elapsed() - begun))
    if not _done(run):
        labels = run.start_labels() if run.best is None else run.best.copy()
        begun = run.elapsed()
        refine_on(run, labels, Moves())
        steps.append(("refine", run.energy, run.elapsed() - begun))


def _done(run: Run) -> bool:
    return run.optimal or run.expired() or run.proven()


def _first_solvers(run: Run) -> list[tuple[str, float]]:
    """What is worth its time in any case, with its share of the time left where there is a limit.

    Those with all of it stop by themselves. What comes after them gets most of the time.
    """
    a = run.crf.arrays
    refined = [("refine:start=unary", 0.3)]
    quick = [("refine", 0.1)] if is_opaque(a) else []
    if _written_out(a).any():
        return [*quick, (f"belief_propagation:table_limit={SMALL_TABLE}", 1.0), *refined]
    first = "belief_propagation" if (a.clique_kind == TABLE).any() else "alpha_expansion"
    return [*quick, (first, 1.0), *refined]


def _written_out(a: Arrays) -> BoolArray:
    """Cliques that messages and proofs know as tables only `[C]`."""
    return np.isin(a.clique_kind, (CUSTOM, TOGETHER, CONNECTED, ORDERED))


def _is_open(run: Run) -> bool:
    """Whether the tables of cliques that need one, such as custom ones, can all be written out."""
    a = run.crf.arrays
    custom = _written_out(a)
    if not custom.any():
        return True
    if run.crf.n_labels > 1 and np.diff(a.clique_ptr)[custom].max() > MOST_NODES:
        return False
    logs = np.log2(a.cardinalities[a.clique_nodes].astype(np.float64))
    entries = np.add.reduceat(logs, a.clique_ptr[:-1])[custom]
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
