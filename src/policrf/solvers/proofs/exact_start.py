"""What `exact` knows before it searches: a good labeling and a bound, by what suits the model.

Cheap methods first: reweighted messages (both, and often a proof), belief propagation where there
are tables, then local search, which starts with cuts where they take the model. Each gets a share
of the time that is left and starts from the best labeling so far.
"""

from __future__ import annotations

import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import TABLE
from policrf.errors import TooLarge, UnsupportedPotential
from policrf.solvers import solve
from policrf.solvers.claims import terms_of
from policrf.solvers.run import Run
from policrf.solvers.solved_start import START_TIME
from policrf.solvers.thermal.frustration import may_be_frustrated
from policrf.types import IntArray, Solution

LONGEST = 60.0  # seconds of one method, without a limit
SHARES = {"tree_reweighted": 0.25, "belief_propagation": 0.1, "refine": 0.15}  # of the time left
SHARES_WITH_LABELS = {"tree_reweighted": 0.15, "refine": 0.05}  # where the caller has some
MANY = 1000  # labels, from which on the shares are whole
ALONE = 0.8  # the share of messages where nothing else can prove anything


def first_labels(run: Run, crf: CRF) -> IntArray:
    """The better of the unaries' labeling and the caller's, within the labels that are left."""
    labels: IntArray = np.argmin(crf.unary, axis=1).astype(np.int64)
    if run.initial is not None:
        allowed = np.isfinite(crf.unary[np.arange(crf.n_nodes), run.initial])
        given = np.where(allowed, run.initial, labels)
        labels = labels if crf.energy(labels) <= crf.energy(given) else given
    return labels


def search_first(
    run: Run, crf: CRF, labels: IntArray, lost: float, *, left: int = MANY, alone: bool = False
) -> IntArray:
    """The best labeling found within shares of the time; what is proven on the way is the run's.

    `crf` is the run's with labels removed, which may have raised its minimum by `lost`; `left` are
    those of nodes with a choice. Of few, a backend is soon done. `alone`: what comes after this is
    not going to prove anything.
    """
    part = min(1.0, left / MANY)
    terms = terms_of(crf.arrays)  # with tables for what the CRF itself does not tell
    run.bound(terms.lowest, lost + terms.rounding(terms.lowest))
    shares = dict(SHARES if run.initial is None else SHARES_WITH_LABELS)
    if not (crf.arrays.clique_kind >= TABLE).any():
        shares.pop("belief_propagation", None)
    if alone:
        shares["tree_reweighted"] = ALONE
        labels = _searched(run, crf, labels, lost)
    cycles = part == 1.0 and run.initial is None and may_be_frustrated(crf)
    for solver, share in shares.items():
        if run.expired() or run.proven():
            break
        # Random moves would take all the time there is; cycles do, where moves end far above them.
        options = {"cliques": False, "halfway": False} if solver == "refine" else {}
        options |= {"tighten": True} if solver == "tree_reweighted" and alone else {}
        options |= {"go_on": solver == "refine" and cycles}
        initial = None if solver == "refine" and _takes_cuts(crf) else labels
        try:
            found = solve(
                crf, solver, seconds=min(part * share * run.remaining(), LONGEST), seed=run.seed,
                initial=initial, callback=lambda _: run.expired(), **options,
            )  # fmt: skip
        except (UnsupportedPotential, TooLarge):
            continue
        labels = min(labels, found.labels, key=crf.energy)
        run.offer(found.labels)
        _claim(run, found, lost)
    return labels


def search_last(run: Run) -> None:
    """Local search in what is left of a budget, where nothing more can be proven."""
    if run.seconds is None or run.expired() or run.proven():
        return
    found = solve(
        run.crf, "refine", seconds=run.remaining(), seed=run.seed, initial=run.best,
        callback=lambda _: run.expired(),
    )  # fmt: skip
    run.inherit(found)


def _searched(run: Run, crf: CRF, labels: IntArray, lost: float) -> IntArray:
    """The better of `labels` and those of a short search, with a limit: a proof is far away."""
    if run.seconds is None:
        return labels
    initial = None if run.initial is None else labels
    seconds = min(START_TIME, run.remaining())
    found = solve(crf, "refine", seconds=seconds, seed=run.seed, initial=initial)
    run.offer(found.labels)
    _claim(run, found, lost)
    return min(labels, found.labels, key=crf.energy)


def _claim(run: Run, found: Solution, lost: float) -> None:
    """A proof or a bound of the reduced model is one of the run's, up to what was lost."""
    if found.optimal and np.isfinite(found.energy):
        run.bound(found.energy, lost + found.energy - found.lower_bound)
    else:
        run.bound(found.lower_bound, lost)


def _takes_cuts(crf: CRF) -> bool:
    """Whether alpha-expansion takes the model: the start of a local search."""
    from policrf.solvers.cuts.refusals import TAKEN, refuse_what_no_cut_takes

    if not all(isinstance(group, TAKEN) for group in crf.potentials):
        return False
    try:
        refuse_what_no_cut_takes(crf, "exact")
    except UnsupportedPotential:
        return False
    return True
