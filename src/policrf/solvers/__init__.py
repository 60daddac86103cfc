"""Every solver, one file each, one signature: `solve(crf, name, seconds=…, seed=…, **options)`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from policrf.errors import InvalidOption
from policrf.registry import Registry
from policrf.types import Callback, Solution

if TYPE_CHECKING:
    from policrf.crf.instance import Instance
    from policrf.crf.model import CRF

SOLVERS = Registry(
    "solver",
    {
        "alpha_expansion": "policrf.solvers.cuts.alpha_expansion:alpha_expansion",
        "belief_propagation": "policrf.solvers.messages.belief_propagation:belief_propagation",
        "brute_force": "policrf.solvers.proofs.brute_force:brute_force",
        "dual_decomposition": "policrf.solvers.relaxations.dual_decomposition:dual_decomposition",
        "exact": "policrf.solvers.proofs.exact:exact",
        "highest_confidence_first": (
            "policrf.solvers.moves.highest_confidence_first:highest_confidence_first"
        ),
        "icm": "policrf.solvers.moves.icm:icm",
        "lazy_flipper": "policrf.solvers.moves.lazy_flipper:lazy_flipper",
        "mean_field": "policrf.solvers.relaxations.mean_field:mean_field",
        "policy": "policrf.policy.solver:policy",
        "refine": "policrf.solvers.moves.refine:refine",
        "tree_reweighted": "policrf.solvers.messages.tree_reweighted:tree_reweighted",
        "tree_search": "policrf.search.solver:tree_search",
        "unary": "policrf.solvers.moves.unary_argmin:unary",
    },
)


def list_solvers() -> list[str]:
    """The names that `solve` takes."""
    return SOLVERS.names()


def solve(
    problem: CRF | Instance,
    solver: str | Callable[..., None],
    *,
    seconds: float | None = None,
    seed: int = 0,
    initial: ArrayLike | None = None,
    callback: Callback | None = None,
    **options: Any,
) -> Solution:
    """Minimise the energy of `problem` with `solver`.

    Parameters
    ----------
    solver: a registered name (`list_solvers()`), or a function `solver(run, **options)` of your
    own. seconds: stop then, with the best labeling so far; 0 returns the starting labels at once.
    initial: labels `[N]` to start from; the answer is never worse than they are. callback: called
    with every improvement; returning True stops the solver. options: the solver's own keyword
    arguments.
    """
    from policrf.solvers.run import Run

    name = solver if isinstance(solver, str) else getattr(solver, "__name__", "custom")
    function = SOLVERS.get(solver) if isinstance(solver, str) else solver
    _check_options(name, function, options)
    run = Run(problem, name, seconds=seconds, seed=seed, initial=initial, callback=callback)
    function(run, **options)
    return run.solution()


def _check_options(name: str, function: Callable[..., None], options: dict[str, Any]) -> None:
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    known = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    for option in options:
        if option not in known:
            takes = ", ".join(known) if known else "none"
            raise InvalidOption(f"{name} has no option {option!r}; it takes {takes}")
