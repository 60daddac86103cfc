"""The learned policy as a solver: the best (node, label) until all are labeled (Algorithm 1)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from policrf.crf.instance import Instance
from policrf.errors import InvalidOption
from policrf.solvers.run import Run

if TYPE_CHECKING:
    from policrf.policy.policy import Policy

SLICE = 4000  # steps between two looks at the clock


def policy(
    run: Run,
    *,
    policy: str | Path | Policy | None = None,
    scores: bool = False,
    snapshots: Sequence[int] = (),
) -> None:
    """Label greedily with the policy of that name, in that file, or given as it is."""
    from policrf.policy.checkpoint import load_policy

    if policy is None:
        raise InvalidOption(
            "the solver 'policy' needs the option policy=: a name, a path or a Policy"
        )
    chosen = load_policy(policy) if isinstance(policy, str | Path) else policy
    label_greedily(run, chosen, scores=scores, snapshots=snapshots)


def label_greedily(
    run: Run, policy: Policy, *, scores: bool = False, snapshots: Sequence[int] = ()
) -> None:
    """Offer the labeling; when time runs out, complete it with the starting labels.

    The starting labels (`initial=`, else the unary argmin) are also what a residual policy of
    completed costs sees at the nodes that are not labeled yet.
    """
    from policrf.policy.engine import Engine

    instance = run.instance if run.instance is not None else Instance.from_crf(run.crf)
    policy.check(instance)
    start_labels = run.start_labels()
    if run.expired():
        return
    engine = Engine(policy, instance, default=start_labels, track=False)
    n_nodes = run.crf.n_nodes
    order, labels = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    step_scores = np.empty(n_nodes)
    wanted = {int(step) for step in snapshots if 0 <= step < n_nodes}
    stops = sorted({*range(0, n_nodes, SLICE), *wanted, n_nodes})
    pictures: dict[int, Any] = {}
    done = 0
    for start, stop in pairwise(stops):
        if run.expired():
            break
        if start in wanted:
            pictures[start] = engine.all_scores()
        engine.greedy(order, labels, step_scores, start, stop)
        done = stop
    labels = engine.labels
    unlabeled = labels < 0
    labels[unlabeled] = start_labels[unlabeled]
    run.offer(labels)
    run.order = order[:done].copy()
    run.info["complete"] = bool(done == n_nodes)
    if scores:
        run.info["scores"] = step_scores[:done].copy()
    if wanted:
        run.info["snapshots"] = pictures
