"""A row of the benchmark as a text.

refine:start=unary                    a solver, as everywhere
untrained + icm                       two of them, the second from the labels of the first
complete: highest_confidence_first    on the same energy, asked only about complete cliques
known: alpha_expansion + icm          the first without the groups that no cut takes, then on all
cp_sat                                a full model of the same energy for OR-tools
"""

from __future__ import annotations

from dataclasses import dataclass

from policrf.errors import InvalidOption
from policrf.solvers.spec import SolverSpec

CP_SAT = "cp_sat"
_COMPLETE, _KNOWN = "complete:", "known:"


@dataclass(frozen=True)
class Row:
    """Solvers that follow each other, and how they may ask potentials."""

    steps: tuple[SolverSpec, ...]
    """None for cp_sat."""
    complete: bool = False
    """Whether potentials are asked only when all members of a clique are labeled."""
    known: bool = False
    """Whether the first solver sees only the groups that are not opaque."""

    @staticmethod
    def parse(text: str) -> Row:
        """Read the text; a wrong name, option or value is an error that says what there is."""
        if text == CP_SAT:
            return Row(())
        complete, known = text.startswith(_COMPLETE), text.startswith(_KNOWN)
        solvers = text.removeprefix(_COMPLETE).removeprefix(_KNOWN).split(" + ")
        if known and len(solvers) == 1:
            raise InvalidOption(f"row {text!r}: name a solver for the whole energy too, A + B")
        return Row(tuple(SolverSpec.parse(solver) for solver in solvers), complete, known)
