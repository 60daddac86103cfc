"""solve_many: `solve` on every one of many instances, wherever there are cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from policrf.argument_types import typed
from policrf.crf.instance import Instance
from policrf.crf.model import CRF
from policrf.errors import InvalidInstance
from policrf.execution.executor import Executor, each
from policrf.execution.processes import Processes
from policrf.random_numbers import checked_seed
from policrf.solvers import DEFAULT_SOLVER, solve
from policrf.solvers.spec import SolverSpec
from policrf.types import Solution


class _Request(NamedTuple):
    """What all solves share."""

    source: Sequence[Instance | CRF] | None
    """Where workers read instances by their position; None: instances are sent to them."""
    solver: Any
    options: dict[str, Any]


@typed()
def solve_many(
    instances: Sequence[Instance | CRF],
    solver: str | SolverSpec | Callable[..., None] = DEFAULT_SOLVER,
    *,
    executor: Executor | None = None,
    seconds: float | None = None,
    seed: int = 0,
    advance: Callable[[Solution], None] = lambda solution: None,
    **options: Any,
) -> list[Solution]:
    """Solve every instance; what comes back is what `solve` gives for each, in order.

    Parameters
    ----------
    instances
        CRFs or instances: a list, or what `load_instances` gives, which workers read by themselves.
    solver
        As in `solve`.
    executor
        Who does the work: `Processes(jobs)`, a `RayCluster`; None: this process.
    seconds
        As in `solve`, for each instance.
    seed
        Of each instance.
    advance
        Called with every solution, in order.
    options
        Further keywords of `solve`, and the solver's own options.

    >>> import policrf as pc
    >>> scenes = [pc.make_scene(20, "A", seed=seed) for seed in range(3)]
    >>> [found.energy == pc.solve(s, "icm").energy for s, found in
    ...  zip(scenes, solve_many(scenes, "icm"))]
    [True, True, True]
    """
    if isinstance(solver, str):
        SolverSpec.parse(solver)  # a wrong name is heard of here, not from a worker
    for position, problem in enumerate(instances if _are_at_hand(instances) else ()):
        if not isinstance(problem, Instance | CRF):
            raise InvalidInstance(
                f"instances[{position}] is a {type(problem).__name__}; give CRFs or instances"
            )
    asked = {"seconds": seconds, "seed": checked_seed(seed), **options}
    request = _Request(None if _are_at_hand(instances) else instances, solver, asked)
    items: Sequence[Any] = range(len(instances)) if request.source is not None else instances
    found = []
    for solution in each(_solve, request, items, executor or Processes()):
        advance(solution)
        found.append(solution)
    return found


def _are_at_hand(instances: Sequence[Any]) -> bool:
    return isinstance(instances, list | tuple)


def _solve(request: _Request, item: Any, cache: dict[str, Any]) -> Solution:
    problem = item if request.source is None else request.source[item]
    return solve(problem, request.solver, **request.options)
