"""A solver as one text, the same in Python, in every command and in every table.

    alpha_expansion                     a registered solver
    alpha_expansion:hop2=lagrangian     with options, typed by the solver's signature
    labels                              a policy that ships with the package
    runs/mine/best.safetensors          a policy file
    labels:search=20,refine=true        a policy with options

A colon starts the options only where `name=` follows it, so paths may hold colons.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from policrf.errors import InvalidOption, MissingDependency, UnknownName
from policrf.registry import Registry
from policrf.solvers.options import check_options, read_value

_FOLDERS = {
    "cuts": ("alpha_expansion",),
    "fusion": ("alpha_beta_swap", "fusion"),
    "messages": ("belief_propagation", "tree_reweighted"),
    "moves": ("annealing", "highest_confidence_first", "icm", "lazy_flipper", "unary"),
    "neighbourhoods": ("lns",),
    "proofs": ("brute_force", "exact"),
    "refine": ("refine",),
    "relaxations": ("dual_decomposition", "mean_field"),
}
# A solver's file is named as it is; those above this folder are named by string too.
SOLVERS = Registry(
    "solver",
    {
        name: f"policrf.solvers.{folder}.{name}:{name}"
        for folder, names in _FOLDERS.items()
        for name in names
    }
    | {"auto": "policrf.solvers.auto:auto", "untrained": "policrf.policy.solver:untrained"},
)

# What others call them.
ALIASES = {
    "a-expansion": "alpha_expansion", "alpha-expansion": "alpha_expansion",
    "alpha-beta-swap": "alpha_beta_swap", "swap": "alpha_beta_swap",
    "hcf": "highest_confidence_first",
    "bp": "belief_propagation", "lbp": "belief_propagation", "dd": "dual_decomposition",
    "ilp": "exact", "trws": "tree_reweighted", "trw-s": "tree_reweighted",
}  # fmt: skip

# Policies live above this folder: their files are read through this module, named by string.
_POLICY_FILES = "policrf.policy.checkpoint"
_TEXT = re.compile(r"(?P<name>.+?)(?::(?P<options>[A-Za-z_]\w*=.*))?", re.DOTALL)


@dataclass(frozen=True)
class SolverSpec:
    """A solver or policy with its options. Small: the policy itself is read when it is used."""

    text: str
    """As it was written."""
    name: str
    """A registered solver's name, or a policy's name or path."""
    options: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def parse(text: str) -> SolverSpec:
        """Read the text; a wrong name, option or value is an error that says what there is."""
        match = _TEXT.fullmatch(text.strip())
        if match is None:
            raise UnknownName(f"a solver's name is empty; there are {', '.join(SOLVERS.names())}")
        name = ALIASES.get(match["name"].lower(), match["name"])
        if ":" in name and not names_policy(name):
            raise InvalidOption(f"solver {text!r}: write options as NAME:option=value,option=value")
        given = dict(_pairs(text, match["options"] or ""))
        solver = find_solver(name)
        known = check_options(name, solver, given)
        options = {
            key: read_value(f"solver {text!r}", known[key], value) if key in known else value
            for key, value in given.items()
        }
        return SolverSpec(text, name, options)

    @property
    def solver(self) -> Callable[..., None]:
        """The function, or the policy."""
        return find_solver(self.name)


def names_policy(name: str) -> bool:
    """Whether this is the name of a shipped policy, or a path, and not that of a solver."""
    if name in SOLVERS.names():
        return False
    path = Path(name)
    return path.suffix != "" or len(path.parts) > 1 or name in _policy_files().list_policies()


def find_solver(name: str) -> Callable[..., None]:
    """The solver of that name, or the policy of that name or in that file."""
    if names_policy(name):
        path = Path(name)
        stamp = (path.stat().st_mtime_ns, path.stat().st_size) if path.is_file() else (0, 0)
        return _stored_policy(name, stamp)
    try:
        found: Callable[..., None] = SOLVERS.get(name)
        if not callable(found):
            raise MissingDependency(
                f"the solver {name!r} is a {type(found).__name__}, not a function solver(run); "
                "update or remove the package that brings it"
            )
        return found
    except UnknownName as error:
        policies = ", ".join(_policy_files().list_policies())
        raise UnknownName(f"{error}; policies: {policies}, or a policy's file") from None


@lru_cache(maxsize=16)
def _stored_policy(name: str, stamp: tuple[int, int]) -> Callable[..., None]:
    """Read once in a process, and again when the file has changed."""
    policy: Callable[..., None] = _policy_files().load_policy(name)
    return policy


def _policy_files() -> Any:
    return import_module(_POLICY_FILES)


def _pairs(text: str, options: str) -> Iterator[tuple[str, str]]:
    """`a=1,b=[2,3]` as pairs: commas inside brackets do not separate."""
    parts, depth = [""], 0
    for character in options:
        depth += (character in "[{") - (character in "]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    for part in parts if options else ():
        key, equals, value = part.partition("=")
        if not equals or not key.strip().isidentifier() or not value.strip():
            raise InvalidOption(f"solver {text!r}: write options as NAME:option=value,option=value")
        yield key.strip(), value.strip()
