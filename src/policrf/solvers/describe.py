"""What there is to know about a solver, from its own code: `describe("alpha_expansion")`."""

from __future__ import annotations

import inspect
import textwrap
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from policrf.argument_types import typed
from policrf.crf.potentials import POTENTIALS
from policrf.errors import InvalidOption, MissingDependency
from policrf.solvers.options import Option, options_of, type_text
from policrf.solvers.spec import SOLVERS, SolverSpec
from policrf.solvers.traits import Traits, traits_of

WIDTH = 100


@dataclass(frozen=True)
class Description:
    """A solver or policy: print it, or read its fields."""

    name: str
    summary: str
    """What it does, in a sentence."""
    traits: Traits
    options: tuple[Option, ...]

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.summary}"]
        lines += [f"  takes    {self.traits.takes_text}", f"  proves   {self.traits.proves}"]
        lines += ["  options" if self.options else "  options  none"]
        for option in self.options:
            head = f"    {option.name}: {type_text(option.type)} = {default_text(option.default)}"
            lines.append(head)
            indent = " " * 8
            lines += textwrap.wrap(
                option.text, WIDTH, initial_indent=indent, subsequent_indent=indent
            )
        return "\n".join(lines)

    __repr__ = __str__


@typed()
def describe(solver: str | Callable[..., Any]) -> Description:
    """What a solver or policy does, takes and proves, and its options with their defaults.

    Parameters
    ----------
    solver
        As in `solve`: a name, a policy's name or file, a `Policy`, or a function of your own.

    >>> print(describe("icm").traits.proves)
    nothing
    """
    name = solver if isinstance(solver, str) else getattr(solver, "__name__", "custom")
    function = SolverSpec.parse(solver).solver if isinstance(solver, str) else solver
    if not callable(function):
        raise InvalidOption(f"solver is {function!r}; give a name, a policy, or a function")
    text = inspect.getdoc(function) if inspect.isroutine(function) else repr(function)
    summary = " ".join((text or "").split("\n\n")[0].split())
    return Description(name, summary, traits_of(function), tuple(options_of(function).values()))


def describe_all() -> list[Description]:
    """Every registered solver, plug-ins included; a broken one is named and left out."""
    found = []
    for name in SOLVERS.names():
        try:
            found.append(describe(name))
        except MissingDependency as error:
            warnings.warn(f"{error}; it is left out", stacklevel=2)
    return found


def solver_table() -> str:
    """All solvers as a Markdown table: what each does, takes and proves, and its options."""
    lines = ["| name | what it does | takes | proves | options |", "|---|---|---|---|---|"]
    for found in describe_all():
        options = ", ".join(f"`{o.name}={default_text(o.default)}`" for o in found.options)
        cells = (
            f"`{found.name}`", found.summary, found.traits.takes_text, found.traits.proves,
            options or "–",
        )  # fmt: skip
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def potential_table() -> str:
    """All classes of potentials as a Markdown table, with the solvers that open only some."""
    opening = [found for found in describe_all() if found.traits.takes or found.traits.tables]
    head = ["potential", "energy", *(f"`{found.name}`" for found in opening)]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for potential in POTENTIALS:
        text = " ".join((inspect.getdoc(potential) or "").split("\n\n")[0].split())
        cells = [f"`{potential.__name__}`", text.replace("|", "\\|")]
        cells += [found.traits.says_of(potential) for found in opening]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def default_text(value: Any) -> str:
    """A default as it is written in a solver's text: lower-case truth values, `none`."""
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return str(value) if not isinstance(value, tuple) else "[" + ",".join(map(str, value)) + "]"
