"""What a solver says about itself: which potentials it takes, and what it can prove.

`@declares(takes=..., proves=...)` stands above a solver's function. `solve` refuses what a solver
does not take before it starts, and `describe` shows both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from policrf.crf.potentials import Potential
from policrf.solvers.options import FURTHER, Option

Proves = Literal["nothing", "sometimes a bound", "a bound", "the minimum"]
Function = TypeVar("Function", bound=Callable[..., Any])

_ATTRIBUTE = "policrf_traits"


@dataclass(frozen=True)
class Traits:
    """Of one solver."""

    takes: tuple[type[Potential], ...] | None = None
    """Classes of potentials; None: all there are."""
    limit: str = ""
    """What restricts that further, in a few words."""
    tables: tuple[type[Potential], ...] = ()
    """Classes whose cliques it takes as tables of up to `table_limit` entries."""
    proves: Proves = "nothing"
    goes_on: bool = False
    """Whether time that it leaves is used by a search from its labels (`solvers.go_on`)."""

    @property
    def takes_text(self) -> str:
        """In words, for tables and errors."""
        names = "every potential"
        if self.takes is not None:
            names = ", ".join(kind.__name__ for kind in self.takes) or "unaries only"
        limits = [self.limit] if self.limit else []
        if self.tables:
            written = ", ".join(kind.__name__ for kind in self.tables)
            limits.append(f"{written} up to table_limit entries a clique")
        return f"{names} ({'; '.join(limits)})" if limits else names

    def says_of(self, potential: type[Potential]) -> str:
        """Whether it takes a class: "yes", "small" (as tables) or "no"."""
        if self.takes is not None and potential not in self.takes:
            return "no"
        return "small" if potential in self.tables else "yes"


def declares(
    *,
    takes: tuple[type[Potential], ...] | None = None,
    limit: str = "",
    tables: tuple[type[Potential], ...] = (),
    proves: Proves = "nothing",
    goes_on: bool = False,
    options: Callable[[], dict[str, Option]] | None = None,
) -> Callable[[Function], Function]:
    """Attach `Traits` to a solver's function, and which `**options` it takes."""

    def attach(function: Function) -> Function:
        traits = Traits(takes=takes, limit=limit, tables=tables, proves=proves, goes_on=goes_on)
        setattr(function, _ATTRIBUTE, traits)
        if options is not None:
            setattr(function, FURTHER, options())
        return function

    return attach


def traits_of(function: Callable[..., Any]) -> Traits:
    """What the function declares; without a declaration it takes everything and proves nothing."""
    found: Traits = getattr(function, _ATTRIBUTE, Traits())
    return found
