"""auto: look at the model, pick what fits, go on while there is time, stop at a proof.

    few labelings                     all of them
    cliques that are asked half-way   what their questions cost is measured; a half-way rule, cuts
                                      without them, or few questions (`ask_halfway`); then refine
    tables beyond what a cut takes    messages, then refine
    all else                          cuts, then refine
    edges and tables that contradict  annealing (thermal cycles) with reinforced messages, an
    each other much (`frustration`)   attempt at a proof where there are few nodes
    while `seconds` are left          regions solved exactly (`lns`), exact, annealing, then
                                      refine's moves to the end

Custom cliques are written out as tables, for messages and a proof, where these are small. Where
they are not, nothing but refine is worth its time. The best labeling so far is kept: no step makes
it worse.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.crf.potentials import CONNECTED, CUSTOM, ORDERED, TABLE, TOGETHER
from policrf.errors import TooLarge, UnsupportedPotential
from policrf.solvers.ask_halfway import ask_halfway
from policrf.solvers.ask_halfway import is_done as _done
from policrf.solvers.ask_halfway import part as _part
from policrf.solvers.feasibility.idle_infinities import without_idle_infinities
from policrf.solvers.first_answer import descend_from
from policrf.solvers.go_on import go_on
from policrf.solvers.messages.graph.explicit_tables import no_time_for_messages
from policrf.solvers.numbers import Numbers, search_options
from policrf.solvers.option_checks import require_whole_numbers
from policrf.solvers.refine.refine_start import is_opaque
from policrf.solvers.run import Run
from policrf.solvers.thermal.frustrated_search import search_frustrated
from policrf.solvers.thermal.frustration import (
    beyond_cuts,
    is_frustrated,
    is_like_a_tree,
    may_be_frustrated,
)
from policrf.solvers.thermal.kept_costs import takes
from policrf.solvers.thermal.replica import seconds_to_begin
from policrf.solvers.traits import declares
from policrf.types import BoolArray, Progress

FEW = 2**14  # labelings that are visited one by one, in some milliseconds
SMALL_TABLE, ALL_TABLES = 2**12, 2**20  # entries of a custom clique's table, and of all of them
MOST_NODES = 24  # of a custom clique whose table is written out: quick to see
PROVABLE = 5000  # nodes up to which most of the time goes to a proof
LNS_NODES = 20_000  # up to which regions come round often enough
FRUSTRATED_PROVABLE = 500  # the same of frustrated ones
PROOF_TIME = 3e-3  # seconds a node of frustrated ones that a proof makes sense with
SEARCH_SHARE = 0.2  # of the time, before that
BELIEF_SHARE = 0.5  # of the time, most of it that beliefs of sparse frustrated ones may take
BELIEF_TIME = 6e-6  # seconds a term and label that beliefs take, about
MESSAGE_SHARE = 0.5  # of the time left: messages may not converge
PROOF_SHARE, ANNEALING_SHARE, LNS_SHARE = 0.6, 0.3, 0.25  # of the time left
LAST_LNS_SHARE = 0.6
LARGE_PROOF_SHARE = 0.4  # the same of larger ones: bounds and eliminations may do, all else is slow
QUICK_SHARE = 0.1  # the same, of what is soon over where it is of use at all
QUICK_TIME, LNS_TIME = 0.3, 0.8  # seconds that these make sense with: a process has to start


@declares(proves="sometimes a bound", options=search_options)
def auto(run: Run, *, threads: int = 1, **numbers: Any) -> None:
    """Look at the model, start with what fits it, go on while there is time, stop at a proof.

    Parameters
    ----------
    threads
        Of annealing, where edges and tables contradict each other much.
    numbers
        Of the random moves (`solvers.numbers.Numbers`), where cliques are asked half-way.
    """
    require_whole_numbers(threads=threads)
    chosen = Numbers(**numbers)
    if math.prod(map(int, run.crf.cardinalities[:64])) <= FEW and run.crf.n_nodes <= 64:
        _step(run, "brute_force")
        return
    if not _is_open(run):
        ask_halfway(run, chosen)
        return
    simpler = without_idle_infinities(run.crf)
    if simpler is not None:
        run.crf, run.instance = simpler, None  # the same energy of every labeling
    enough = run.remaining() > 2 * seconds_to_begin(run)
    if not enough and takes(run.crf.arrays):
        _part(run, "icm", lambda run: descend_from(run, run.start_labels()))
        return
    if enough and may_be_frustrated(run.crf):
        _look_first(run)
        if _done(run) or _search(run, threads):
            return
    if no_time_for_messages(run, MESSAGE_SHARE) and beyond_cuts(run.crf):
        _part(run, "annealing", lambda run: go_on(run, threads))
        return
    for solver, share in _first_solvers(run):
        if not _done(run):
            _step(run, solver, None if run.seconds is None else share * run.remaining())
    if run.seconds is not None and not _done(run):
        _prove_and_search(run)


def _look_first(run: Run) -> None:
    """What may be over soon although terms contradict each other: some messages, some of a proof.

    Tables of three nodes and more are what messages and proofs see further through than relabels.
    """
    a = run.crf.arrays
    if not (a.clique_kind == TABLE).any() or not _has_time_for_a_look(run):
        return
    if (np.diff(a.clique_ptr) > 2).any():
        _step(run, "belief_propagation", QUICK_SHARE * run.remaining())
    if run.crf.n_nodes <= PROVABLE and not _done(run):
        _step(run, "exact", QUICK_SHARE * run.remaining())


def _has_time_for_a_look(run: Run) -> bool:
    """Whether a small share of the time is enough to begin with something."""
    return QUICK_TIME <= QUICK_SHARE * run.remaining() < np.inf


def _prove_and_search(run: Run) -> None:
    """The rest of the time: a proof, regions solved exactly (`lns`), moves, by turns."""
    cycles = takes(run.crf.arrays)
    steps = [("lns", LNS_SHARE)]
    if run.crf.n_nodes <= PROVABLE:
        steps.append(("exact", PROOF_SHARE))
    else:
        steps.insert(0, ("exact", LARGE_PROOF_SHARE))
    if not cycles:
        steps += [("lns", LAST_LNS_SHARE), ("annealing", ANNEALING_SHARE)]
    if run.crf.n_nodes > LNS_NODES:
        steps = [step for step in steps if step[0] != "lns"]
    for solver, share in steps:
        enough = solver != "lns" or share * run.remaining() >= LNS_TIME
        if enough and not _done(run):
            _step(run, solver, share * run.remaining())
    _part(run, "annealing" if cycles else "refine", go_on)


def _search(run: Run, threads: int) -> bool:
    """Annealing and reinforced messages with all the time, unless few nodes let hope for a proof.

    They start from the beliefs of min-sum messages where there are few cycles.
    False if the first cycles show that the CRF is not frustrated.
    """
    if run.initial is None and _beliefs_pay(run):
        seconds = BELIEF_SHARE * run.remaining()
        _step(run, "belief_propagation", None if run.seconds is None else seconds)
    few = run.crf.n_nodes <= FRUSTRATED_PROVABLE
    if not few or run.seconds is None or run.remaining() < PROOF_TIME * run.crf.n_nodes:
        start = run.start_labels() if run.best is None else run.best.copy()
        found: list[bool] = []
        _part(run, "annealing", lambda run: found.append(search_frustrated(run, start, threads)))
        return found != [False]
    _step(run, f"annealing:threads={threads}", SEARCH_SHARE * run.remaining())
    if run.best is None or not is_frustrated(run.crf, run.best):
        return False
    _step(run, "exact", PROOF_SHARE * run.remaining())
    _part(run, "annealing", lambda run: go_on(run, threads))
    return True


def _beliefs_pay(run: Run) -> bool:
    """Whether annealing is to start from beliefs: where there are few cycles, and time for them."""
    a = run.crf.arrays
    seconds = BELIEF_TIME * (len(a.edges) + len(a.clique_kind)) * run.crf.n_labels
    return seconds <= BELIEF_SHARE * run.remaining() and is_like_a_tree(run.crf)


def _first_solvers(run: Run) -> list[tuple[str, float]]:
    """What is worth its time in any case, with its share of the time left where there is a limit.

    Cuts stop by themselves. What comes after them gets most of the time.
    """
    a = run.crf.arrays
    hard = (a.clique_kind == TABLE).any() and not takes(a)  # regions find more there
    refined = [("refine:start=unary", 0.05 if hard else 0.2)]
    if run.crf.n_nodes <= PROVABLE and _has_time_for_a_look(run):
        refined = [("exact", QUICK_SHARE), *refined]
    quick = [("refine", 0.3)] if is_opaque(a) else []
    if _written_out(a).any():
        return [*quick, (f"belief_propagation:table_limit={SMALL_TABLE}", 0.5), *refined]
    first = "belief_propagation" if (a.clique_kind == TABLE).any() else "alpha_expansion"
    share = 1.0 if first == "alpha_expansion" else MESSAGE_SHARE
    return [*quick, (first, share), *refined]


def _written_out(a: Arrays) -> BoolArray:
    """Cliques that messages and proofs know as tables only `[C]`."""
    kind = a.clique_kind
    written_out = (kind == CUSTOM) | (kind == TOGETHER) | (kind == CONNECTED) | (kind == ORDERED)
    return np.asarray(written_out)


def _is_open(run: Run) -> bool:
    """Whether the tables of cliques that need one, such as custom ones, can all be written out."""
    a = run.crf.arrays
    if _is_large(a):
        return False
    custom = _written_out(a)
    if not custom.any():
        return True
    if run.crf.n_labels > 1 and np.diff(a.clique_ptr)[custom].max() > MOST_NODES:
        return False
    logs = np.log2(a.cardinalities[a.clique_nodes].astype(np.float64))
    entries = np.add.reduceat(logs, a.clique_ptr[:-1])[custom]
    in_all = float(np.exp2(np.minimum(entries, 60)).sum())
    return bool(entries.max() <= np.log2(SMALL_TABLE)) and in_all <= ALL_TABLES


def _is_large(a: Arrays) -> bool:
    """Whether the last clique is custom and has too many labelings: quicker than to look at all."""
    if not len(a.clique_kind) or a.clique_kind[-1] != CUSTOM:
        return False
    members = a.clique_nodes[a.clique_ptr[-2] :]
    labelings: int = math.prod(a.cardinalities[members[:MOST_NODES]].tolist())
    return labelings > SMALL_TABLE


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
            callback=forward, go_on=False,
        )  # fmt: skip
    except (UnsupportedPotential, TooLarge):
        if solver != "alpha_expansion":
            return
        _step(run, "belief_propagation", None if seconds is None else MESSAGE_SHARE * seconds)
        return
    run.inherit(found)
    steps.append((solver, found.energy, found.seconds))
