"""toulbar2's `.cfn`: a cost function network in JSON, with decimal and negative costs.

    {"problem":   {"name": …, "mustbe": "<10.000"},
     "variables": {"x": ["a", "b"], "y": 3, …},
     "functions": {"f": {"scope": ["x", "y"], "costs": [0.5, …]}, …}}

`mustbe` has the top: a cost that reaches it forbids; ">" turns the network into maximisation, and
its energy is minus the cost. Costs list a whole table, or, beside a `defaultcost`, tuples of labels
and cost; a function's name in their place shares its costs. Functions may have the names of
`cost_functions`. Costs are taken as written, without rounding to the digits of `mustbe`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from policrf.argument_types import typed
from policrf.crf.io.compressed import read_text
from policrf.crf.io.factors import Factor, Room, build_crf
from policrf.crf.io.text import parsing
from policrf.crf.io.toulbar2.cfn_functions import named_function
from policrf.crf.io.toulbar2.cost_functions import SUPPORTED, Counted, TooWide, count_groups, forbid
from policrf.crf.model import CRF
from policrf.errors import InvalidFile, TooLarge
from policrf.limits import free_bytes
from policrf.types import FloatArray, IntArray

MUST_BE = re.compile(r"\s*([<>])\s*([-+0-9.eE]+)\s*")
JSON_BYTES = 40  # of memory for a character of JSON, about


@typed(InvalidFile)
def read_cfn(path: str | Path) -> CRF:
    """Read a cost function network; its energy is the cost.

    Parameters
    ----------
    path
        The file; `.gz`, `.xz` and `.bz2` are unpacked.
    """
    text = read_text(path, "a cfn model")
    if len(text) * JSON_BYTES > free_bytes():
        raise TooLarge(f"{path}: its {len(text):,} characters do not fit in free memory")
    with parsing(path, "not the JSON of a cfn model"):
        network = json.loads(text)
    return _Network(path, network, len(text)).crf()


class _Network:
    """The fields of a file, checked as they are read."""

    def __init__(self, path: str | Path, network: Any, written: int) -> None:
        self.path = path
        root = self.mapping(network, "the file")
        self.sign, self.top = self._must_be(self.mapping(root.get("problem", {}), "problem"))
        self._read_variables(self.mapping(root.get("variables"), "variables"))
        self.functions = self.mapping(root.get("functions", {}), "functions")
        self.room = Room(path, self.cards, written)

    def error(self, message: str) -> InvalidFile:
        return InvalidFile(f"{self.path}: {message}")

    def mapping(self, value: Any, field: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self.error(f"{field} must be an object {{…}}, not {_shown(value)}")
        return value

    def _must_be(self, problem: Mapping[str, Any]) -> tuple[float, float]:
        """1 or −1 for a maximisation, and the top in the energy."""
        text = problem.get("mustbe")
        found = MUST_BE.fullmatch(str(text)) if text is not None else None
        if text is None:
            return 1.0, np.inf
        try:
            value = float(found[2]) if found else np.nan
        except ValueError:
            value = np.nan
        if found is None or np.isnan(value):
            raise self.error(f"problem.mustbe is {text!r}; it reads '<10.5', or '>' and a number")
        return (1.0, value) if found[1] == "<" else (-1.0, -value)

    def _read_variables(self, variables: Mapping[str, Any]) -> None:
        """Numbers of variables and of their labels by name."""
        if not variables:
            raise self.error("variables is empty; a model has at least one")
        self.numbers = {name: number for number, name in enumerate(variables)}
        self.labels: list[dict[str, int]] = []
        sizes = []
        for name, labels in variables.items():
            names = [str(label) for label in labels] if isinstance(labels, list) else []
            size = len(names) if names else labels
            if not isinstance(size, int) or isinstance(size, bool) or size < 1:
                raise self.error(
                    f"variables.{name} must be a list of labels or their number, at least 1, not "
                    f"{_shown(labels)}"
                )
            self.labels.append({label: k for k, label in enumerate(names)})
            if names and len(self.labels[-1]) < len(names):
                raise self.error(f"variables.{name} has a label twice")
            sizes.append(size)
        self.cards: IntArray = np.array(sizes, np.int64)

    def crf(self) -> CRF:
        factors: list[Factor] = []
        counted: list[Counted] = []
        for name in self.functions:
            found = self._function(name)
            if isinstance(found, Counted):
                counted.append(found)
            else:
                factors.append(found)
        return build_crf(self.path, self.cards, factors, groups=count_groups(counted))

    def _function(self, name: str) -> Factor | Counted:
        what = f"functions.{name}"
        fields = self.mapping(self.functions[name], what)
        scope = self._scope(fields.get("scope"), what)
        if "type" in fields:
            kind, params = str(fields["type"]), fields.get("params", {})
            try:
                found = named_function(self, kind, scope, params, f"{what}.params")
            except TooWide as error:
                raise self.error(f"{what} ({kind}) {error}") from None
            if found is None:
                raise self.error(
                    f"{what} is of type {kind!r}, which policrf does not read; it reads costs and "
                    f"{SUPPORTED}"
                )
            return found
        self.room.add(scope)
        return Factor(scope, forbid(self.sign * self._table(fields, scope, what), self.top))

    def _scope(self, scope: Any, what: str) -> tuple[int, ...]:
        if not isinstance(scope, list):
            raise self.error(f"{what}.scope must be a list of variables, not {_shown(scope)}")
        numbers = []
        for node in scope:
            number = self.numbers.get(node) if isinstance(node, str) else node
            if not isinstance(number, int) or not 0 <= number < len(self.cards):
                raise self.error(f"{what}.scope names the variable {_shown(node)}, which is none")
            numbers.append(number)
        if len(set(numbers)) != len(numbers):
            raise self.error(f"{what}.scope repeats a variable: {scope}")
        return tuple(numbers)

    def _table(self, fields: Mapping[str, Any], scope: tuple[int, ...], what: str) -> FloatArray:
        costs, shape = fields.get("costs"), tuple(self.cards[list(scope)].tolist())
        if isinstance(costs, str):
            fields = self.mapping(self.functions.get(costs), f"functions.{costs}")
            costs = fields.get("costs")
        if not isinstance(costs, list):
            if isinstance(costs, int | float) and not scope:
                costs = [costs]
            else:
                raise self.error(f"{what}.costs must be a list of numbers, not {_shown(costs)}")
        default = fields.get("defaultcost")
        if default is not None:
            return self._from_tuples(costs, self.number(default, what), scope, what)
        if len(costs) != int(np.prod(shape)):
            raise self.error(
                f"{what}.costs has {len(costs)} numbers, but its variables have "
                f"{'×'.join(map(str, shape)) or 'none'} = {int(np.prod(shape))}"
            )
        return np.array([self.number(cost, f"{what}.costs") for cost in costs]).reshape(shape)

    def _from_tuples(
        self, costs: Sequence[Any], default: float, scope: tuple[int, ...], what: str
    ) -> FloatArray:
        width = len(scope) + 1
        if len(costs) % width:
            raise self.error(
                f"{what}.costs has {len(costs)} entries, which are no tuples of {len(scope)} "
                "labels and a cost"
            )
        table = np.full(tuple(self.cards[list(scope)].tolist()), default)
        for first in range(0, len(costs), width):
            at = tuple(
                self.label(node, costs[first + k], f"{what}.costs") for k, node in enumerate(scope)
            )
            table[at] = self.number(costs[first + width - 1], f"{what}.costs")
        return table

    def number(self, value: Any, what: str) -> float:
        """A finite number, or "inf" for what is forbidden."""
        if isinstance(value, str) and value.strip().lower() in ("inf", "+inf"):
            return self.sign * np.inf
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = np.nan
        if isinstance(value, bool) or not np.isfinite(number):
            raise self.error(f"{what} holds {_shown(value)}, not a finite number")
        return number

    def label(self, node: int, label: Any, what: str) -> int:
        """The number of a label that is given by its name or number."""
        number = self.labels[node].get(label, label) if isinstance(label, str) else label
        if not isinstance(number, int) or not 0 <= number < self.cards[node]:
            raise self.error(
                f"{what} gives variable {list(self.numbers)[node]} the label {_shown(label)}, "
                "which it does not have"
            )
        return number


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) < 40 else text[:36] + " …"
