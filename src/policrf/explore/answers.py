"""What solvers say of one instance, as a page tells it: labels, traces, the order of a policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from policrf.crf.instance import Instance
from policrf.crf.shares import node_shares
from policrf.errors import TooLarge, UnsupportedPotential
from policrf.metrics import mean_iou, node_confusion
from policrf.policy.policy import Policy
from policrf.policy.solver import untrained_policy
from policrf.solvers import solve
from policrf.solvers.spec import SolverSpec
from policrf.types import FloatArray, IntArray, Solution

MAPS = 60  # of the next choice, at most; the steps in between show the one before
WARM = 0.5  # seconds, at most, of a first call that loads kernels; times are not to tell of that


@dataclass(frozen=True, eq=False)
class Answer:
    """One labeling of the instance, with what is known of how it came about."""

    name: str
    labels: IntArray
    energy: float
    lower_bound: float = -np.inf
    optimal: bool = False
    seconds: float = 0.0
    trace: tuple[tuple[float, float, float], ...] = ()
    """(seconds, energy, lower bound)."""
    terms: dict[str, float] = field(default_factory=dict)
    shares: dict[str, FloatArray] = field(default_factory=dict)
    """By term, the part of every node `[N]`."""
    iou: float | None = None
    order: IntArray | None = None
    """The nodes in the order in which they were labeled."""
    maps: dict[int, NDArray[np.uint8]] = field(default_factory=dict)
    """Before a step: how likely each node is the next choice, 255 = the likeliest `[N]`."""


def ask_all(
    instance: Instance,
    solvers: Sequence[str],
    *,
    seconds: float,
    seed: int = 0,
    said: Callable[[str], None] = lambda name: None,
) -> tuple[list[Answer], list[str]]:
    """The answers of all solvers, and for those that refuse the instance a sentence why."""
    found, refused = [], []
    for solver in solvers:
        try:
            found.append(ask(instance, solver, seconds=seconds, seed=seed))
        except (UnsupportedPotential, TooLarge) as error:
            refused.append(f"{solver}: {error}")
        said(solver)
    return found, refused


def ask(instance: Instance, solver: str, *, seconds: float, seed: int = 0) -> Answer:
    """The answer of one solver; of one that labels node after node also what it saw on its way."""
    solve(instance, solver, seconds=min(WARM, seconds), seed=seed, go_on=False)
    solution = solve(instance, solver, seconds=seconds, seed=seed, go_on=False)
    order, maps = solution.order, {}
    if order is not None and len(order) == instance.crf.n_nodes:
        maps = _next_choices(instance, solver, seed)
    return answer_of(instance, solver, solution, maps=maps)


def answer_of(
    instance: Instance,
    name: str,
    solution: Solution,
    *,
    maps: dict[int, NDArray[np.uint8]] | None = None,
) -> Answer:
    """A solution as the page tells it."""
    truth = instance.truth
    iou = None if truth is None else mean_iou(node_confusion(truth, solution.labels))
    finite = np.isfinite(solution.energy)
    return Answer(
        name=name,
        labels=solution.labels,
        energy=solution.energy,
        lower_bound=solution.lower_bound,
        optimal=solution.optimal,
        seconds=solution.seconds,
        trace=tuple((p.seconds, p.energy, p.lower_bound) for p in solution.trace),
        terms=instance.crf.terms(solution.labels),
        shares=node_shares(instance.crf, solution.labels) if finite else {},
        iou=iou,
        order=solution.order,
        maps=maps or {},
    )


def _next_choices(instance: Instance, solver: str, seed: int) -> dict[int, NDArray[np.uint8]]:
    """Maps of the next choice before some of the steps; {} for a solver that cannot tell them."""
    n_nodes = instance.crf.n_nodes
    steps = np.unique(np.linspace(0, n_nodes - 1, min(MAPS, n_nodes)).astype(int)).tolist()
    spec = SolverSpec.parse(solver)
    policy = spec.solver
    if spec.name == "untrained":
        policy = untrained_policy("residual", instance.crf.n_labels, instance.features.shape[1])
    if not isinstance(policy, Policy) or spec.options:
        return {}
    seen = solve(instance, policy, seed=seed, snapshots=steps).info["snapshots"]
    return {step: _likelihood(scores) for step, scores in seen.items()}


def _likelihood(scores: FloatArray) -> NDArray[np.uint8]:
    """exp of every node's best score relative to the best of all, at the scores' own spread."""
    best = scores.max(axis=1)
    open_nodes = np.isfinite(best)
    out = np.zeros(len(best), np.uint8)
    if open_nodes.any():
        values = best[open_nodes]
        spread = max(float(values.std()), 1e-9)
        out[open_nodes] = np.round(255 * np.exp((values - values.max()) / spread))
    return out
