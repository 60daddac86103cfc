"""Refine: any solver's labeling, then local search by larger moves.

Moves that are made until none lowers the energy (`refine_rounds`), and random moves on cliques and
half-way repairs (`refine_anytime`) that go on while there is time. Where a potential is asked
half-way, the random moves come first: one labels a whole clique in the time of a few relabels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from policrf.solvers.feasibility.allowed_start import allowed_start
from policrf.solvers.moves.local_search import slice_size
from policrf.solvers.numbers import DEFAULT, Numbers, search_options
from policrf.solvers.question_cost import question_cost
from policrf.solvers.refine.refine_anytime import search_on
from policrf.solvers.refine.refine_rounds import Moves, improve, seconds_to_begin
from policrf.solvers.refine.refine_start import DEFAULT_START, find_start, is_opaque
from policrf.solvers.run import Run
from policrf.solvers.thermal.frustrated_search import search_frustrated
from policrf.solvers.thermal.frustration import beyond_cuts, may_be_frustrated
from policrf.solvers.thermal.kept_costs import takes
from policrf.solvers.thermal.replica import seconds_to_begin as seconds_of_cycles
from policrf.solvers.traits import declares
from policrf.types import BoolArray, IntArray

# Seconds, in all and a node, in which moves that converge get somewhere.
CONVERGING_TIME, CONVERGING_NODE_TIME = 0.002, 1e-5
SLICE_SHARE = 0.1  # of the time left: what they may take between two looks at the clock


@declares(proves="sometimes a bound", options=search_options, goes_on=True)
def refine(
    run: Run, *, start: str = DEFAULT_START, pairs: bool = True, regions: bool = True,
    growth: bool = True, boxes: bool = True, cuts: bool = True, cliques: bool = True,
    halfway: bool = True, **numbers: Any,
) -> None:  # fmt: skip
    """Run another solver, then improve its labeling by local search with eight kinds of moves.

    With `initial` labels the search starts from those, and no other solver runs. Six kinds of moves
    are made until none lowers the energy. With `seconds`, random moves (`cliques`, `halfway`) go on
    from there until time is out or the labeling is proven optimal; where all terms are Potts edges
    and finite tables, thermal cycles instead (`go_on`), and nothing else where such terms
    contradict each other much. Where there are custom cliques, random moves come first too; without
    `seconds`, a fixed number of them.

    Parameters
    ----------
    start
        The solver to start with, as in `solve`: "alpha_expansion:hop2=lagrangian". Where the
        default cannot take a potential, the best of icm, highest_confidence_first and a share of
        belief_propagation starts; where cliques are custom, it takes the energy without them.
    pairs
        Whether to relabel both ends of an edge at once.
    regions
        Whether to relabel connected regions of one label as a whole.
    growth
        Whether to let a label grow over a patch of nodes.
    boxes
        Whether to let many members of a box take its label or give it up at once.
    cuts
        Whether to propose labelings by expansion moves.
    cliques
        Whether to replace, remove or grow a label within random cliques, a little uphill too.
    halfway
        Whether to unlabel random nodes of cliques and label them again, one after another.
    numbers
        Of the random moves (`solvers.numbers.Numbers`): move_temperature, halfway_share, …
    """
    chosen = Numbers(**numbers)
    if start == DEFAULT_START and _only_cycles(run):
        return
    labels = run.start_labels()
    first = None if run.initial is not None or run.expired() else find_start(run, start)
    if first is not None:
        labels = first.labels.copy()
        if first.found is None:
            run.offer(labels)
        else:
            run.inherit(first.found)
        run.info |= {"start": first.solver, "start_energy": run.energy}
    if not run.expired():
        run.offer(labels)
        if np.isinf(run.energy):
            labels = allowed_start(run, labels)
            run.offer(labels)
    moves = Moves(pairs=pairs, regions=regions, growth=growth, boxes=boxes, cuts=cuts)
    refine_on(run, labels, moves, cliques=cliques, halfway=halfway, numbers=chosen)


def _only_cycles(run: Run) -> bool:
    """Thermal cycles with all the time, where terms contradict each other and it is to be used.

    They do not plan it: with shares of the time for a start and for moves, a longer run could end
    higher. False if the CRF is another one.
    """
    if run.seconds is None or not run.goes_on or run.remaining() <= 2 * seconds_of_cycles(run):
        return False
    return may_be_frustrated(run.crf) and search_frustrated(run, run.start_labels())


def refine_on(
    run: Run, labels: IntArray, moves: Moves, *, cliques: bool = True, halfway: bool = True,
    alive: BoolArray | None = None, numbers: Numbers = DEFAULT,
) -> None:  # fmt: skip
    """Improve `labels` in place by all moves while there is time, and offer what is found.

    `alive` [N, L]: labels that some minimum may need.
    """
    random_moves, share = cliques or halfway, 1.0
    if random_moves and is_opaque(run.crf.arrays):
        units = max(len(run.crf.arrays.clique_kind), len(labels) // 30, 10)
        first = numbers.random_first * units
        if first and not _converges_first(run):
            search_on(run, labels, cliques=cliques, halfway=halfway, last=first, numbers=numbers)
            run.offer(labels)
            share = numbers.converging_share
    if run.proven() or run.remaining() <= seconds_to_begin(run.crf.arrays):
        return
    if beyond_cuts(run.crf):
        share = numbers.converging_share  # cycles find more than these moves in the same time
    stop = run.elapsed() + share * run.remaining()
    run.info["moves"], run.info["converged"] = improve(
        run.crf, labels, moves, lambda: run.expired() or run.elapsed() >= stop, alive=alive
    )
    run.offer(labels)
    if random_moves and run.remaining() < np.inf and not takes(run.crf.arrays):
        search_on(run, labels, cliques=cliques, halfway=halfway, numbers=numbers)
        run.offer(labels)


def _converges_first(run: Run) -> bool:
    """Whether moves that converge are worth more than random ones at first, and have the time.

    That is where half-way questions about all cliques once take more than the time left.
    """
    left = run.remaining()
    if left == np.inf or left < CONVERGING_TIME + CONVERGING_NODE_TIME * run.crf.n_nodes:
        return False
    cost = question_cost(run)
    if slice_size(run.crf.arrays) * cost.visit > SLICE_SHARE * left:
        return False
    return bool(cost.policy > left)
