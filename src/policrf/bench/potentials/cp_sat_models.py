"""Full models of the families' energies for CP-SAT.

x[i][l] says that node i has label l. Energies are whole numbers there: costs are multiplied by
`SCALE` and rounded, so that a labeling's energy is off by less than (N + edges) / SCALE.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

SCALE = 1_000_000

Model = Any  # ortools' types; the package is optional
Variables = list[list[Any]]
Terms = list[Any]


def build(model: Model, task: dict[str, Any]) -> tuple[Model, Variables]:
    """The model of a CRF as `cp_sat.describe` gives it, and its x."""
    unary = task["unary"]
    x = [[model.new_bool_var("") for _ in row] for row in unary]
    terms: Terms = []
    for row, costs in zip(x, unary, strict=True):
        model.add_exactly_one(row)
        terms += [_whole(cost) * variable for cost, variable in zip(costs, row, strict=True)]
        model.add_hint(row[costs.index(min(costs))], 1)
    for (i, j), weight in zip(task["edges"], task["edge_weights"], strict=True):
        differ = model.new_bool_var("")
        for a, b in zip(x[i], x[j], strict=True):
            model.add_bool_or(~a, b, differ)
        terms.append(_whole(weight) * differ)
    add = MODELS[task["family"]]
    for clique, parameters in zip(task["cliques"], task["parameters"], strict=True):
        terms += add(model, [x[i] for i in clique], parameters)
    model.minimize(sum(terms))
    return model, x


def _whole(cost: float) -> int:
    return round(cost * SCALE)


def _present(model: Model, members: Variables) -> list[Any]:
    """For every label, whether a member has it (costs press these variables down)."""
    found = []
    for column in zip(*members, strict=True):
        used = model.new_bool_var("")
        for variable in column:
            model.add_implication(variable, used)
        found.append(used)
    return found


def two_labels(model: Model, members: Variables, parameters: list[float]) -> Terms:
    """5 for every label beyond the second."""
    used = _present(model, members)
    excess = model.new_int_var(0, len(used), "")
    model.add(excess >= sum(used) - 2)
    return [_whole(5.0) * excess]


def absent_or_many(model: Model, members: Variables, parameters: list[float]) -> Terms:
    """4 for every label that is there, but fewer than `parameters[0]` times."""
    terms = []
    for column, used in zip(zip(*members, strict=True), _present(model, members), strict=True):
        short = model.new_bool_var("")
        model.add(sum(column) >= int(parameters[0])).only_enforce_if(used, ~short)
        terms.append(_whole(4.0) * short)
    return terms


def label_cost(model: Model, members: Variables, parameters: list[float]) -> Terms:
    """The price of every label that is used."""
    return [_whole(parameters[0]) * used for used in _present(model, members)]


def co_occurrence(model: Model, members: Variables, parameters: list[float]) -> Terms:
    """The price of every pair of labels that are both there."""
    used, terms = _present(model, members), []
    for a in range(len(used)):
        for b in range(a):
            price = parameters[a * len(used) + b]
            if price > 0:
                both = model.new_bool_var("")
                model.add_bool_or(~used[a], ~used[b], both)
                terms.append(_whole(price) * both)
    return terms


def size_prior(model: Model, members: Variables, parameters: list[float]) -> Terms:
    """A price for every count of a label, looked up in a table."""
    size, terms = int(parameters[0]), []
    off = [min(k, abs(k - size // 3), abs(k - size)) for k in range(size + 1)]
    prices = [_whole(min(4.0, 0.7 * distance)) for distance in off]
    for column in zip(*members, strict=True):
        count = model.new_int_var(0, size, "")
        price = model.new_int_var(0, max(prices), "")
        model.add(count == sum(column))
        model.add_element(count, prices, price)
        terms.append(price)
    return terms


def parity(model: Model, members: Variables, parameters: list[float]) -> Terms:
    """1.5 for every label with an odd number of members."""
    terms = []
    for column in zip(*members, strict=True):
        half, odd = model.new_int_var(0, len(members) // 2, ""), model.new_bool_var("")
        model.add(sum(column) == 2 * half + odd)
        terms.append(_whole(1.5) * odd)
    return terms


def order(model: Model, members: Variables, parameters: list[float]) -> Terms:
    """1 for every pair in which the earlier member has the larger label, 15 at most."""
    values = [sum(k * variable for k, variable in enumerate(row)) for row in members]
    inverted = []
    for b in range(len(values)):
        for a in range(b):
            pair = model.new_bool_var("")
            model.add(values[a] <= values[b]).only_enforce_if(~pair)
            inverted.append(pair)
    total, most = model.new_int_var(0, 15, ""), model.new_bool_var("")
    model.add(total >= sum(inverted)).only_enforce_if(~most)
    model.add(total == 15).only_enforce_if(most)
    return [_whole(1.0) * total]


MODELS: dict[str, Callable[[Model, Variables, list[float]], Terms]] = {
    "two_labels": two_labels,
    "absent_or_many": absent_or_many,
    "label_cost": label_cost,
    "co_occurrence": co_occurrence,
    "size_prior": size_prior,
    "parity": parity,
    "order": order,
}
"""By family. Connectivity has no tight one, the random network and the black box none at all."""
