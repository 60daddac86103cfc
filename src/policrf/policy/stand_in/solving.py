"""Labels by stand-ins: search where questions are free, then spend the calls that are allowed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from policrf.crf.model import CRF
from policrf.policy.stand_in.model import Replacement, replaced
from policrf.solvers import solve
from policrf.solvers.run import Run
from policrf.types import IntArray

SEARCH = "refine"
FIRST_SHARE = 0.75  # of the seconds, for the first search with stand-ins, where calls are allowed
CALL_SHARE = 0.4  # of what is left then, that calls may take at least
ENOUGH = 1e-3  # seconds a node, after which search with stand-ins has found what it will
SLACK = 2.0  # times what calls are expected to take: the search between them takes time too
BESIDE = 1e-5  # seconds that go with a call at least


def label_by_stand_ins(run: Run, stand_ins: Sequence[Replacement]) -> None:
    """Offer what the search finds, with stand-ins and then with the calls that are allowed.

    Most of the time is for the stand-ins: calls tell which of two of their labelings is lower, and
    what they find by moves of their own is little.
    """
    limit = run.limit
    assert limit is not None
    run.info["stand_ins"] = [found.function for found in stand_ins]
    crf = replaced(limit.whole, stand_ins)
    if limit.most == 0:
        run.settle(_search(run, crf, run.remaining()))
        return
    enough = ENOUGH * crf.n_nodes
    labels = _search(run, crf, FIRST_SHARE * min(run.remaining(), enough))
    begun = run.elapsed()
    run.offer(labels)
    a_call = max(BESIDE, (run.elapsed() - begun) / max(1, limit.asked))
    left = run.remaining()
    calls = SLACK * a_call * (limit.most - limit.asked)
    spare = left - min(calls, max(CALL_SHARE * left, left - enough))
    if 0 < spare < math.inf:
        run.offer(_search(run, crf, spare, labels))
    _improve_by_calls(run)


def _search(run: Run, crf: CRF, seconds: float, initial: IntArray | None = None) -> IntArray:
    """The best labels `[N]` of the CRF with stand-ins."""
    limit = None if run.seconds is None else seconds
    seed = run.seed + (initial is not None)
    return solve(crf, SEARCH, seconds=limit, seed=seed, initial=initial).labels


def _improve_by_calls(run: Run) -> None:
    """Search on from the best labels, asking the functions until the calls are spent."""
    from policrf.solvers.refine.refine import refine_on
    from policrf.solvers.refine.refine_rounds import Moves

    assert run.best is not None
    if not run.expired():
        refine_on(run, run.best.copy(), Moves())
