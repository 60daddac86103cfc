"""Every solver, one signature: `solve(problem, solver, seconds=…, seed=…, **options)`.

`run.py` is a solver's side of a call, `spec.py` the one text for a solver with its options. Solvers
live in folders by method: cuts, messages, relaxations, proofs, moves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from policrf.argument_types import typed
from policrf.types import Callback, Solution

if TYPE_CHECKING:
    from policrf.crf.instance import Instance
    from policrf.crf.model import CRF
    from policrf.solvers.spec import SolverSpec

DEFAULT_SOLVER = "auto"


def list_solvers() -> list[str]:
    """The names of the solvers that `solve` takes."""
    from policrf.solvers.spec import SOLVERS

    return SOLVERS.names()


@typed()
def solve(
    problem: CRF | Instance,
    solver: str | SolverSpec | Callable[..., None] = DEFAULT_SOLVER,
    *,
    seconds: float | None = None,
    calls: float | None = None,
    seed: int = 0,
    initial: ArrayLike | None = None,
    callback: Callback | None = None,
    go_on: bool = True,
    solutions: int = 1,
    diversity: int = 1,
    **options: Any,
) -> Solution:
    """Minimise the energy of `problem`.

    Parameters
    ----------
    problem
        A CRF, or an instance: a CRF with node features, which policies look at.
    solver
        A solver's name (`list_solvers()`), a policy's name or file, either with options as in
        `"alpha_expansion:hop2=lagrangian"`; a `Policy`; or a function `solver(run, **options)` of
        your own. `describe(solver)` shows what it takes.
    seconds
        The best that can be done in this time, and not more; 0 returns the starting labels at once.
        Compiling kernels, once on a machine, is not charged.
    calls
        How often functions of `Custom(…, expensive=True)` may be called while solving, whatever the
        solver; None is 0: it sees the other terms only. inf: as often as it likes. The energy that
        is reported is asked for after that (`solvers.call_limit`).
    seed
        Of everything random; the same seed gives the same answer.
    initial
        Labels `[N]` to start from. The answer is never worse than they are.
    callback
        Called with every improvement; returning True stops the solver.
    go_on
        Whether a solver that ends before its time and has proven nothing is followed by a search
        from its labels (`solvers.go_on`); False: `seconds` are a limit only.
    solutions
        How many different labelings to find; those after the first are `Solution.others`. With a
        solver that proves minima and `diversity=1` they are the lowest there are, in order, each
        `optimal` if that is proven; that takes up to N solves each. Other solvers search again, at
        a price for what was found, and claim nothing. Fewer come back where there are no more, or
        no more time.
    diversity
        In how many nodes, at least, every solution differs from all before it.
    options
        The solver's own keyword options; they override those in its text.

    Returns
    -------
    Solution
        Labels `[N]`, their energy as the model computes it, lower bound, proof, trace. Ctrl-C
        raises a KeyboardInterrupt whose `solution` is the best so far.
    """
    from policrf.ahead.foreman import expecting
    from policrf.crf.valued.failures import own_failures
    from policrf.errors import InvalidOption
    from policrf.solvers.interrupted import passing_best
    from policrf.solvers.options import check_options, checked_values
    from policrf.solvers.run import Run
    from policrf.solvers.spec import SolverSpec
    from policrf.solvers.traits import traits_of

    if isinstance(solver, str):
        solver = SolverSpec.parse(solver)
    name = getattr(solver, "__name__", "custom")
    if isinstance(solver, SolverSpec):
        # The text would tell of options that did not hold.
        name = solver.name if solver.options.keys() & options.keys() else solver.text
        options, solver = solver.options | options, solver.solver
    if not callable(solver):
        raise InvalidOption(f"solver is {solver!r}; give a name, a policy, or a function")
    options = checked_values(name, check_options(name, solver, options), options)
    if solutions != 1 or diversity != 1:
        from policrf.solvers.several import Wish, several

        if calls is not None:
            raise InvalidOption("calls holds for one solution; leave it out, or solutions=1")
        wish = Wish(solutions, diversity, seconds, seed, go_on)
        return several(problem, solver, name, wish, initial, callback, options)
    run = Run(
        problem, name, seconds=seconds, calls=calls, seed=seed, initial=initial, callback=callback
    )
    traits = traits_of(solver)
    run.goes_on = go_on and traits.goes_on
    if traits.takes is not None:
        run.refuse_all_but(*traits.takes)
    plan = getattr(solver, "kernel_plan", name)
    with own_failures(), passing_best(run), expecting(plan, run.crf):
        solver(run, **options)
        if run.goes_on:
            from policrf.solvers.go_on import go_on as search

            search(run)
        return run.solution()
