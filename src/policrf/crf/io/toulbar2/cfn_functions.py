"""Predicates and global cost functions of a `.cfn` by the fields of their `params`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from policrf.crf.io.factors import Factor
from policrf.crf.io.toulbar2.cost_functions import (
    ARITHMETIC,
    Counted,
    all_different,
    among,
    arithmetic,
    at_most_one,
    cardinality,
    knapsack,
)
from policrf.errors import InvalidFile
from policrf.types import IntArray


class Network(Protocol):
    """What is asked of a file."""

    cards: IntArray
    sign: float
    top: float

    def error(self, message: str) -> InvalidFile:
        """An error of the file."""

    def mapping(self, value: Any, field: str) -> Mapping[str, Any]:
        """The value, if it is an object."""

    def number(self, value: Any, what: str) -> float:
        """The value, if it is a number."""

    def label(self, node: int, label: Any, what: str) -> int:
        """The number of a label."""


def named_function(
    network: Network, kind: str, scope: tuple[int, ...], params: Any, what: str
) -> Factor | Counted | None:
    """The function of a type; None where it is not known, or turned by a maximisation."""
    cards, top = network.cards, network.top
    if kind in ARITHMETIC and len(scope) == 2:
        numbers = _listed(network, params, what)
        wanted = {"disj": 3, "sdisj": 6}.get(kind, 2)
        if len(numbers) != wanted:
            raise network.error(f"{what} of {kind!r} has {len(numbers)} numbers, not {wanted}")
        return arithmetic(kind, scope, cards, [network.number(n, what) for n in numbers], top)
    if network.sign < 0 and kind not in ("knapsack", "knapsackp", "clique"):
        return None
    if kind in ("knapsack", "knapsackp", "clique"):
        return _hard(network, kind, scope, network.mapping(params, what), what)
    if kind not in ("salldiff", "salldiffdp", "sgcc", "sgccdp", "samong", "samongdp"):
        return None
    fields = network.mapping(params, what)
    metric, cost = fields.get("metric", "var"), network.number(fields.get("cost"), f"{what}.cost")
    if metric not in ("var", "dec", "decbi"):
        return None
    if kind.startswith("salldiff"):
        return all_different(scope, cards, metric, cost, top)
    if kind.startswith("sgcc"):
        bounds = {}
        for row in _listed(network, fields.get("bounds"), f"{what}.bounds"):
            label, low, high = _listed(network, row, f"{what}.bounds", 3)
            number = network.label(scope[0], label, f"{what}.bounds")
            bounds[number] = (network.number(low, what), network.number(high, what))
        return cardinality(scope, cards, metric, cost, top, bounds)
    labels = _labels(network, scope[0], fields.get("values"), f"{what}.values")
    low, high = (network.number(fields.get(end), f"{what}.{end}") for end in ("min", "max"))
    return among(scope, cards, cost, top, low, high, labels)


def _hard(
    network: Network, kind: str, scope: tuple[int, ...], fields: Mapping[str, Any], what: str
) -> Factor | Counted | None:
    if kind == "clique":
        rows = _listed(network, fields.get("values"), f"{what}.values", len(scope))
        pairs = zip(scope, rows, strict=True)
        labels = [_labels(network, node, row, f"{what}.values") for node, row in pairs]
        return at_most_one(scope, network.cards, labels)
    capacity = network.number(fields.get("capacity"), f"{what}.capacity")
    if kind == "knapsack":
        weights = _listed(network, fields.get("weights"), f"{what}.weights", len(scope))
        ones = [{1: network.number(weight, f"{what}.weights")} for weight in weights]
        return knapsack(scope, network.cards, capacity, ones)
    field = f"{what}.weightedvalues"
    rows = _listed(network, fields.get("weightedvalues"), field, len(scope))
    own = []
    for node, row in zip(scope, rows, strict=True):
        pairs_of = [_listed(network, pair, field, 2) for pair in _listed(network, row, field)]
        own.append(
            {network.label(node, label, field): network.number(w, field) for label, w in pairs_of}
        )
    return knapsack(scope, network.cards, capacity, own)


def _labels(network: Network, node: int, labels: Any, what: str) -> list[int]:
    return [network.label(node, label, what) for label in _listed(network, labels, what)]


def _listed(network: Network, value: Any, what: str, length: int | None = None) -> Sequence[Any]:
    if not isinstance(value, list) or (length is not None and len(value) != length):
        wanted = "a list" if length is None else f"a list of {length}"
        raise network.error(f"{what} must be {wanted}, not {np.shape(value) or value!r}")
    return value
