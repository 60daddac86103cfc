"""A policy with search on top: Monte-Carlo tree search before every decision (appendix B2).

`pc.solve(instance, policy, search=20)` comes here. The policy's scores, however they were learned,
are the prior of the search (`search.candidates`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from policrf.policy.solver import instance_of
from policrf.search.search import SearchOptions, TreeSearch
from policrf.solvers.run import Run
from policrf.types import IntArray

if TYPE_CHECKING:
    from policrf.policy.policy import Policy


def label_by_search(run: Run, policy: Policy, *, search: int, **options: Any) -> IntArray:
    """Offer the labeling that the decisions end in, and the best that a rollout ended in.

    When time runs out, the starting labels (`initial=`, else the unary argmin) complete it. They
    also complete the labeling for the reward "shaped" and for the residual kind.

    Parameters
    ----------
    search
        Simulations before every decision.
    options
        Further fields of `SearchOptions`.

    Returns
    -------
    array `[N]`
        The best labeling found.
    """
    instance = instance_of(run)
    policy.check(instance)
    start_labels = run.start_labels()
    settings = SearchOptions(simulations=search, **options)
    if run.expired():
        return start_labels
    tree = TreeSearch(policy, instance, settings, seed=run.seed, default=start_labels)
    known = float("inf")
    while tree.remaining and not run.expired():
        tree.decide(tree.remaining)
        labels, energy = tree.best_rollout
        if energy < known:
            known = energy
            run.offer(labels)
    labels = tree.engine.labels
    labels[labels < 0] = start_labels[labels < 0]
    run.offer(labels)
    run.order = tree.order[: tree.done].copy()
    run.info["complete"] = not tree.remaining
    run.info["decided_energy"] = run.crf.energy(labels)
    run.info.update(tree.effort)
    assert run.best is not None
    return run.best.copy()
