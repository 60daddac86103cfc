"""Belief propagation: damped min-sum messages on the factor graph (Pearl 1982), in sweeps.

Exact on graphs without cycles. On others its fixed points depend on the way there: starting from
messages of 0, neighbours talk each other into labels before the evidence further off has arrived.
So the first iterations let only a fraction of every belief into messages, as tree-reweighted ones
do, and raise it to 1, where the rule is belief propagation (`fraction=1` has it from the start).
There is no bound: labels are decoded on the way, and the best are kept.
"""

from __future__ import annotations

import numpy as np

from policrf.solvers.claims import ROUGH
from policrf.solvers.messages.certified_bound import certified, has_no_cycle, tree_gifts
from policrf.solvers.messages.graph.explicit_tables import AS_TABLES, TABLE_LIMIT, explicit_tables
from policrf.solvers.messages.graph.factor_graph import build_factor_graph
from policrf.solvers.messages.message_passing import BACKWARD, FORWARD
from policrf.solvers.messages.message_state import MessageState
from policrf.solvers.option_checks import (
    require_share_above_zero,
    require_share_below_one,
    require_whole_numbers,
)
from policrf.solvers.run import Run
from policrf.solvers.traits import declares

ROUNDING = 1e-14  # of the largest cost there is: what a message changes by when nothing changes


@declares(tables=AS_TABLES, proves="sometimes a bound", goes_on=True)
def belief_propagation(
    run: Run,
    *,
    iterations: int = 100,
    damping: float = 0.2,
    fraction: float = 0.3,
    warm_up: int = 20,
    tolerance: float = 1e-6,
    decode_every: int = 3,
    table_limit: int = TABLE_LIMIT,
) -> None:
    """Send min-sum messages forward and backward until none changes.

    With `seconds`, search goes on from its labels until they are over (`go_on`).

    Graphs without cycles need no damping and no warm-up, and get none.

    Parameters
    ----------
    iterations
        Maximum number of iterations: a sweep forward and one back.
    damping
        Share of the old message in the new one, 0 ≤ damping < 1.
    fraction
        Part of a node's belief that its messages carry at first, 0 < fraction ≤ 1.
    warm_up
        Number of iterations in which the fraction rises to 1.
    tolerance
        Converged when no message changes by more, in units of the largest single term.
    decode_every
        Iterations between two decoded labelings.
    table_limit
        Largest number of entries of one clique's table; cliques without a closed form are
        tabulated once.
    """
    require_whole_numbers(iterations=iterations, decode_every=decode_every)
    require_whole_numbers(at_least=0, warm_up=warm_up)
    require_share_below_one(damping=damping)
    require_share_above_zero(fraction=fraction)
    explicit = None if run.expired() else explicit_tables(run, table_limit)
    if explicit is None:
        return
    graph = build_factor_graph(run.crf, explicit)
    state = MessageState(run, graph, np.ones(len(graph.arc_node)), np.ones(len(graph.clique_nodes)))
    exact = has_no_cycle(graph)
    if exact:
        # Messages are final, up to rounding, once they have crossed the graph.
        damping, fraction, tolerance = 0.0, 1.0, ROUNDING * graph.forbidden / graph.scale
        iterations = max(iterations, len(graph.unary) + 1)
    iteration, decoded, converged = 0, 0, False
    while iteration < iterations and not converged:
        part = min(1.0, fraction + (1 - fraction) * iteration / max(warm_up, 1))
        if not _iterate(state, part, damping):
            break
        iteration += 1
        converged = part == 1 and state.change <= tolerance * graph.scale
        if converged or iteration % decode_every == 0 or iteration == iterations:
            run.offer(state.cheapest())
            state.offer_decoded()
            decoded += 1
            if converged or iteration == iterations or decoded.bit_count() == 1:
                state.offer_allowed()  # more seldom: it may take longer than an iteration
    run.offer(state.cheapest())
    if exact:
        value, margin = certified(graph, state.messages, tree_gifts(graph)).tolist()
        run.bound(value, margin, ROUGH)
    run.info.update(iterations=iteration, converged=converged)


def _iterate(state: MessageState, part: float, damping: float) -> bool:
    """A sweep there and back, `part` of the beliefs in the messages; False if time ran out."""
    state.restart()
    state.messages.share[:] = part
    state.messages.clique_share[:] = part
    return all(
        state.sweep(direction, damping) and state.update_cliques(damping)
        for direction in (FORWARD, BACKWARD)
    )
