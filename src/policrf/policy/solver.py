"""The learned policy as a solver: the best (node, label) until all are labeled (Algorithm 1).

`persistent` labels first, all at once, the nodes to which dead-end elimination leaves one label: a
proof that some minimum has it, so that no decision is lost, and only the others are played.
`refine` ends with local search by the moves that pay for their time after a policy: single
relabels, boxes, cuts and pairs (`refine`), tried where more than one label is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from policrf.crf.instance import Instance
from policrf.crf.potentials import CUSTOM
from policrf.errors import InvalidOption
from policrf.solvers.run import Run
from policrf.types import BoolArray, IntArray

if TYPE_CHECKING:
    from policrf.policy.policy import Policy

SLICE = 4000  # steps between two looks at the clock


def policy(
    run: Run,
    *,
    policy: str | Path | Policy | None = None,
    scores: bool = False,
    snapshots: Sequence[int] = (),
    persistent: bool = False,
    refine: bool = False,
) -> None:
    """Label greedily with the policy of that name, in that file, or given as it is."""
    from policrf.policy.checkpoint import load_policy

    if policy is None:
        raise InvalidOption(
            "the solver 'policy' needs the option policy=: a name, a path or a Policy"
        )
    chosen = load_policy(policy) if isinstance(policy, str | Path) else policy
    label_greedily(
        run, chosen, scores=scores, snapshots=snapshots, persistent=persistent, refine=refine
    )


def label_greedily(
    run: Run, policy: Policy, *, scores: bool = False, snapshots: Sequence[int] = (),
    persistent: bool = False, refine: bool = False,
) -> None:  # fmt: skip
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
    alive, fixed = _proven(run) if persistent else (None, None)
    engine = Engine(policy, instance, default=start_labels, labels=fixed, track=False)
    n_nodes = engine.remaining
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
    if fixed is not None:
        run.order = np.concatenate([np.flatnonzero(fixed >= 0), run.order])
        run.info["persistent"] = len(run.order) - done
    run.info["complete"] = bool(done == n_nodes)
    if scores:
        run.info["scores"] = step_scores[:done].copy()
    if wanted:
        run.info["snapshots"] = pictures
    if refine:
        from policrf.solvers.moves.refine import Moves, improve

        moves = Moves(regions=False, growth=False)
        run.info["moves"], run.info["converged"] = improve(
            run.crf, labels, moves, run.expired, alive=alive
        )
        run.offer(labels)


def _proven(run: Run) -> tuple[BoolArray, IntArray] | tuple[None, None]:
    """The labels `[N, L]` that some minimum may need, and the nodes' only ones `[N]` (−1 = more).

    None where nothing can be proven: with custom terms, of which only values are known, and where
    no labeling is allowed.
    """
    from policrf.solvers.proofs.dead_end_elimination import allowed_labels, eliminate, only_labels

    if (run.crf.arrays.clique_kind == CUSTOM).any():
        return None, None
    alive = allowed_labels(run.crf.unary)
    return (alive, only_labels(alive)) if eliminate(run, run.crf.arrays, alive) else (None, None)
