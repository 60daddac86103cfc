"""What is done with time that a solver leaves: search goes on from its best labels.

`seconds` mean "the best you can do in this time". A solver that has ended by itself and has proven
nothing is followed by thermal cycles where all terms are Potts edges and finite tables
(`solvers/thermal`), and by the moves of `refine` elsewhere, until the time is over; without time to
begin with these, by single relabels. All only keep what lowers the energy.
"""

from __future__ import annotations

from policrf.solvers.first_answer import descend_from
from policrf.solvers.refine.refine import refine_on
from policrf.solvers.refine.refine_rounds import Moves
from policrf.solvers.refine.refine_rounds import seconds_to_begin as seconds_of_moves
from policrf.solvers.run import Run
from policrf.solvers.thermal.cycles import cycle_on
from policrf.solvers.thermal.kept_costs import takes
from policrf.solvers.thermal.replica import seconds_to_begin as seconds_of_cycles


def go_on(run: Run, threads: int = 1) -> None:
    """Use the rest of the time of a run whose solver has ended; without a limit do nothing.

    `threads` are those of thermal cycles.
    """
    if run.seconds is None or run.expired() or run.proven():
        return
    if not (run.crf.cardinalities > 1).any():
        return
    ended = run.elapsed()
    labels = run.start_labels() if run.best is None else run.best.copy()
    thermal = takes(run.crf.arrays)
    if run.remaining() <= (seconds_of_cycles(run) if thermal else seconds_of_moves(run.crf.arrays)):
        descend_from(run, labels)
    elif thermal:
        cycle_on(run, labels, threads=threads)
    else:
        refine_on(run, labels, Moves())
    run.info["went_on"] = run.elapsed() - ended
