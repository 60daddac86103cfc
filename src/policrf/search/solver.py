"""A learned policy with search on top: Monte-Carlo tree search before every decision (appendix B2).

`pc.solve(instance, policy, search=20, depth=4)` comes here too. The policy's scores, however they
were learned, are the prior of the search (`search.candidates`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from policrf.crf.instance import Instance
from policrf.errors import InvalidOption
from policrf.solvers.run import Run

if TYPE_CHECKING:
    from policrf.policy.policy import Policy
    from policrf.search.search import SearchOptions


def tree_search(
    run: Run,
    *,
    policy: str | Path | Policy | None = None,
    simulations: int = 20,
    depth: int = 4,
    **options: object,
) -> None:
    """Search with the policy of that name, in that file, or given as it is.

    `options` are the further fields of `SearchOptions`.
    """
    from policrf.policy.checkpoint import load_policy

    if policy is None:
        raise InvalidOption("tree_search needs the option policy=: a name, a path or a Policy")
    chosen = load_policy(policy) if isinstance(policy, str | Path) else policy
    label_by_search(
        run, chosen, search_options("tree_search", simulations=simulations, depth=depth, **options)
    )


def search_options(solver: str, **options: object) -> SearchOptions:
    """The options as a `SearchOptions`; one that it does not have is named."""
    from policrf.search.search import OPTION_NAMES, SearchOptions

    for name in options:
        if name not in OPTION_NAMES:
            raise InvalidOption(
                f"{solver} has no option {name!r}; a search takes {', '.join(OPTION_NAMES)}"
            )
    return SearchOptions(**options)  # type: ignore[arg-type]


def label_by_search(run: Run, policy: Policy, options: SearchOptions) -> None:
    """Offer the labeling that the decisions end in, and the best that a rollout ended in.

    When time runs out, what is not labeled gets the starting labels (`initial=`, else the unary
    argmin), which also complete the labeling for the reward "shaped" and the residual kind.
    """
    from policrf.search.search import TreeSearch

    instance = run.instance if run.instance is not None else Instance.from_crf(run.crf)
    policy.check(instance)
    start_labels = run.start_labels()
    if run.expired():
        return
    search = TreeSearch(policy, instance, options, seed=run.seed, default=start_labels)
    known = float("inf")
    while search.remaining and not run.expired():
        search.decide(search.remaining)
        labels, energy = search.best_rollout
        if energy < known:
            known = energy
            run.offer(labels)
    labels = search.engine.labels
    unlabeled = labels < 0
    labels[unlabeled] = start_labels[unlabeled]
    run.offer(labels)
    run.order = search.order[: search.done].copy()
    run.info["complete"] = not search.remaining
    run.info["decided_energy"] = run.crf.energy(labels)
    run.info.update(search.effort)
