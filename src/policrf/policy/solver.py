"""A policy as a solver: the best (node, label) until all are labeled (Algorithm 1).

`persistent` first labels, all at once, the nodes to which dead-end elimination leaves one label: a
proof that some minimum has it, so that no decision is lost and only the others are played.
`refine` ends with local search by the moves that pay for their time after a policy: single
relabels, boxes, cuts and pairs, tried where more than one label is left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from policrf.crf.arrays import PARTIAL
from policrf.crf.instance import Instance
from policrf.crf.model import CRF
from policrf.crf.potentials import COMPLETE
from policrf.crf.state import State
from policrf.solvers.numbers import DEFAULT, RULE, Numbers, all_options
from policrf.solvers.pace import model_size
from policrf.solvers.run import Run
from policrf.solvers.traits import declares
from policrf.types import BoolArray, IntArray

if TYPE_CHECKING:
    from policrf.policy.policy import Policy

SLICE = 4000  # steps between two looks at the clock, if none of them takes long
FIRST_SLICE = 64  # steps before the first one, with a limit or where cliques are asked half-way
PACE = 0.02  # seconds between two looks, about, where functions are expensive
SLACK = 1.3  # times the time left that questions may be expected to take: first visits are slow
LATE = (1e-4, 1e-3)  # seconds that the nodes left may take beyond the time, at least and at most
LATE_SHARE = 0.1  # of the time given: the same, between these
BEGIN = 2e-7  # seconds a node, an edge or a clique's member before the first step
FINISH = 0.3  # of a step's time: what it takes to give a node its cheapest label, at most


class Proven(NamedTuple):
    """What dead-end elimination leaves."""

    alive: BoolArray  # [N, L]; labels that some minimum may need
    labels: IntArray  # [N]; the only label that is left; −1 where there are more


@declares(options=all_options, goes_on=True)
def untrained(
    run: Run,
    *,
    kind: Literal["residual", "paper"] = "residual",
    search: int = 0,
    refine: bool = False,
    persistent: bool | None = None,
    **numbers: Any,
) -> None:
    """Label node after node by the untrained policy: the node whose best label leads by most.

    With `seconds`, search goes on from its labels until they are over (`go_on`).

    Parameters
    ----------
    kind
        The network's kind. "residual" starts from the energy's conditional costs; "paper" is random
        until it is trained, and of use for timings only.
    search
        As for every policy: simulations before a decision; 0 decides without search.
    refine
        As for every policy: local search after the last decision.
    persistent
        As for every policy: proven labels before the first decision; none follows refine.
    numbers
        Of the rule, and of the random moves after it (`solvers.numbers.Numbers`): gain, …
    """
    if run.instance is None and kind == "residual":
        run.instance = bare_instance(run.crf)
    chosen = Numbers(**numbers)
    n_features = instance_of(run).features.shape[1]
    policy = untrained_policy(kind, run.crf.n_labels, n_features, **chosen.of_rule)
    others = {name: value for name, value in numbers.items() if name not in RULE}
    policy(run, search=search, refine=refine, persistent=persistent, **others)


@lru_cache(maxsize=256)  # as many as there are rules in a race
def untrained_policy(kind: str, n_labels: int, n_features: int, **rule: Any) -> Policy:
    """A policy of these sizes with its initial weights, made once in a process.

    Untrained, the residual kind has nothing to add to the margins: its network is the smallest.
    """
    from policrf.policy.policy import Policy

    sizes: dict[str, Any] = {} if kind == "paper" else {"layers": 1, "width": 1, "head_width": 1}
    return Policy.untrained(kind=kind, n_labels=n_labels, n_features=n_features, **sizes, **rule)


def bare_instance(crf: CRF) -> Instance:
    """The CRF with one feature, always 0, and no graph: enough where no network looks at them."""
    return Instance(
        crf=crf,
        features=np.zeros((crf.n_nodes, 1), np.float32),
        edges=np.zeros((0, 2), np.int64),
        edge_weights=np.zeros((0, 2), np.float32),
    )


def instance_of(run: Run) -> Instance:
    """The run's instance; one with plain features where only a CRF was given."""
    if run.instance is None:
        run.instance = Instance.from_crf(run.crf)
    return run.instance


def label_greedily(
    run: Run,
    policy: Policy,
    *,
    proven: Proven | None = None,
    scores: bool = False,
    snapshots: Sequence[int] = (),
) -> IntArray:
    """Offer the greedy labeling `[N]` and return it.

    When time runs short, the nodes left get the labels that are cheapest then; where half-way
    questions take too long to be asked at all, `label_in_time` labels. If time is out before the
    first step, the answer is the starting labels (`initial=`, else the unary argmin). They are also
    what a residual policy of completed costs sees at nodes that are not labeled yet.
    """
    from policrf.policy.engine import Engine
    from policrf.solvers.feasibility.allowed_start import allowed_start
    from policrf.solvers.first_answer import label_in_time
    from policrf.solvers.question_cost import question_cost

    instance = instance_of(run)
    policy.check(instance)
    start_labels = run.start_labels()
    if run.expired():
        return start_labels
    limited, halfway = run.seconds is not None, bool(asked_halfway(run.crf).any())
    first = FIRST_SLICE if limited or halfway else SLICE
    if limited and halfway and policy.spec.sees_costs:
        cost = question_cost(run)
        if cost.policy > SLACK * run.remaining():
            run.info["complete"] = False
            return label_in_time(run, cost, start_labels)
        first = max(1, min(first, int(run.crf.n_nodes * run.remaining() / cost.policy / 2)))
    if run.remaining() <= _seconds_to_begin(run.crf):
        run.info["complete"] = False
        return start_labels
    fixed = None if proven is None else proven.labels
    engine = Engine(policy, instance, default=start_labels, labels=fixed, track=False)
    n_nodes = engine.remaining
    order, chosen = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    step_scores = np.empty(n_nodes)
    wanted = {int(step) for step in snapshots if 0 <= step < n_nodes}
    pictures: dict[int, Any] = {}
    done, steps = 0, first
    spent, short = 0.0, False
    while done < n_nodes and not run.expired() and not short:
        if done in wanted:
            pictures[done] = engine.all_scores()
        stop = min([done + steps, n_nodes, *(step for step in wanted if step > done)])
        begun = run.elapsed()
        engine.greedy(order, chosen, step_scores, done, stop)
        seconds = run.elapsed() - begun
        steps = next_slice(stop - done, seconds, run.remaining())
        spent, done = spent + seconds, stop
        short = spent / done * (FINISH * (n_nodes - done) + steps) > run.remaining()
    if done < n_nodes and policy.spec.sees_costs:
        _label_rest(run, engine.parts.state)
    labels = engine.labels
    labels[labels < 0] = start_labels[labels < 0]
    if done < n_nodes:
        run.offer(start_labels)
    run.offer(labels)
    if np.isinf(run.energy):
        labels = allowed_start(run, labels)
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
    return labels


def _seconds_to_begin(crf: CRF) -> float:
    """About what an engine takes to be made."""
    return BEGIN * model_size(crf.arrays)


def _label_rest(run: Run, state: State) -> None:
    """Give the nodes left the labels that are cheapest then, a tenth of a short time late at most.

    Setting up the policy may have taken all of a very short time. Their starting labels, which suit
    no clique, would spoil what the policy has done.
    """
    from policrf.crf.valued.custom_call import raise_if_failed
    from policrf.solvers.first_answer import label_cheapest

    left = np.flatnonzero(state.labels < 0)
    late = min(max(LATE_SHARE * (run.seconds or 0.0), LATE[0]), LATE[1])
    seconds = max(run.remaining(), late)
    if len(left) * (run.visit_seconds or 0.0) > seconds:
        return
    until, costs = run.elapsed() + seconds, np.empty(run.crf.n_labels)
    for first in range(0, len(left), SLICE):
        if run.elapsed() >= until:
            break
        label_cheapest(run.crf.arrays, state, left[first : first + SLICE], costs)
        raise_if_failed()


def next_slice(steps: int, seconds: float, remaining: float = math.inf) -> int:
    """How many steps take about PACE, or half of what remains; the last `steps` took `seconds`.

    >>> next_slice(64, 0.001), next_slice(64, 0.2), next_slice(64, 0.001, 0.001)
    (128, 6, 32)
    """
    allowed = min(PACE, remaining / 2)
    return max(1, min(2 * steps, SLICE, int(steps * allowed / max(seconds, 1e-9))))


def asked_halfway(crf: CRF) -> BoolArray:
    """Which cliques speak before all their members are labeled `[C]`."""
    return np.asarray(crf.arrays.custom[:, PARTIAL] != COMPLETE)


def refine_after(
    run: Run, labels: IntArray, proven: Proven | None, numbers: Numbers = DEFAULT,
    *, while_time: bool = False,
) -> None:  # fmt: skip
    """Improve `labels` by local search and offer what it ends in.

    Where cliques are asked for values, or with `while_time`, by all moves of the solver `refine`,
    whole cliques and half-way repairs among them, for as long as there is time; elsewhere by those
    that pay for their time after a policy.
    """
    from policrf.solvers.refine.refine import refine_on
    from policrf.solvers.refine.refine_rounds import Moves
    from policrf.solvers.refine.refine_start import is_opaque

    every = while_time or is_opaque(run.crf.arrays)
    moves = Moves() if every else Moves(regions=False, growth=False)
    alive = None if proven is None else proven.alive
    refine_on(run, labels, moves, cliques=every, halfway=every, alive=alive, numbers=numbers)


def prove_labels(run: Run) -> Proven | None:
    """What dead-end elimination proves; None where it proves nothing.

    That is with terms of which only values are known, and where no labeling is allowed.
    """
    from policrf.solvers.proofs.dead_end_elimination import allowed_labels, eliminate, only_labels
    from policrf.solvers.refine.refine_start import is_opaque

    if run.expired() or is_opaque(run.crf.arrays):
        return None
    alive = allowed_labels(run.crf.unary)
    return Proven(alive, only_labels(alive)) if eliminate(run, run.crf.arrays, alive) else None
