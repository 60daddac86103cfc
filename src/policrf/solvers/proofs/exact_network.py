"""The energy as a network of whole-number cost functions, for toulbar2.

Costs that are whole multiples of something become those numbers (`cost_grain`). Others are scaled
so that all of them together stay below 2^50 and rounded down: an optimum of the network, scaled
back, is then a lower bound of the energy's, below it by at most one unit a function. HOP1 gets a
variable z (is the box's label the rule?), HOP2 one for the broken quota and a linear constraint
over *positions* of values: given names, pytoulbar2 solves another problem in silence. Other kinds
of clique are constants here: all their members are fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from policrf.crf.arrays import Arrays, clique_table
from policrf.crf.potentials import AGREE, SUPPORT, TABLE
from policrf.solvers.proofs.cost_grain import find_grain
from policrf.solvers.proofs.program.exact_program import fixed_energy
from policrf.types import BoolArray, FloatArray, IntArray

TOTAL = float(2**50)
LOOK_EVERY = 500  # cliques between two looks at the clock
LARGEST_SCALE = 1e300  # of costs that are next to nothing


class Units(NamedTuple):
    """How costs became whole numbers; E is what a labeling costs, W its cost in whole numbers."""

    scale: float
    """Whole numbers in one unit of energy."""
    lost: float
    """|E − W / scale − lost| ≤ margin for every labeling."""
    margin: float
    nearest: bool
    """Whether costs are rounded to the nearest number; else down."""


@dataclass
class Network:
    """Functions over variables; variable k < len(nodes) is a node, the others are auxiliary."""

    nodes: IntArray
    values: list[IntArray]
    """The labels of every node's values."""
    domains: list[int]
    constant: float = 0.0
    functions: list[tuple[list[int], FloatArray]] = field(default_factory=list)
    """Scope and table, +inf where forbidden, lowest entry 0."""
    quotas: list[tuple[list[tuple[int, int, int]], int]] = field(default_factory=list)
    """Σ over (variable, value, coefficient) of coefficient · [variable = value] ≥ right side."""

    def add(self, scope: list[int], table: FloatArray) -> None:
        """A function; its lowest entry goes to the constant."""
        least = float(table.min())
        if np.isinf(least):
            self.constant = np.inf
            return
        self.constant += least
        if scope and (table > least).any():
            self.functions.append((scope, table - least))

    def add_variable(self, cost_of_one: float) -> int:
        """A new variable with values 0 and 1."""
        self.domains.append(2)
        variable = len(self.domains) - 1
        self.add([variable], np.array([0.0, cost_of_one]))
        return variable

    def cut_off(self, room: float) -> None:
        """Forbid what alone costs more than `room`."""
        self.functions = [(s, np.where(t > room, np.inf, t)) for s, t in self.functions]

    def span(self) -> float:
        """What the functions can cost together at most, short of being forbidden."""
        return sum(float(t[np.isfinite(t)].max(initial=0.0)) for _, t in self.functions)

    def units(self, room: float) -> Units:
        """Of whole-number costs; `room` is what a labeling may cost at most."""
        most = max(self.span(), room)
        grain = find_grain([table for _, table in self.functions], most)
        if grain is not None:
            return Units(1.0 / grain.size, 0.0, grain.blur, nearest=True)
        scale = float(min(TOTAL / most, LARGEST_SCALE)) if most > 0 else 1.0
        half = 0.5 * len(self.functions) / scale
        return Units(scale, half, half, nearest=False)

    def labels(self, values: list[int]) -> IntArray:
        """The labels `[nodes]` at these positions of the variables' values."""
        pairs = zip(self.values, values, strict=False)
        return np.array([labels[at] for labels, at in pairs], np.int64)

    def whole_numbers(self, units: Units, top: int) -> dict[str, Any]:
        """The network in whole numbers, as JSON takes it; `top` stands for forbidden."""
        rounded = np.rint if units.nearest else np.floor
        functions = []
        for scope, table in self.functions:
            allowed = np.isfinite(table)
            cost = np.where(allowed, rounded(np.where(allowed, table, 0.0) * units.scale), top)
            functions.append([scope, cost.reshape(-1).astype(np.int64).tolist()])
        return {"domains": self.domains, "functions": functions, "quotas": self.quotas, "top": top}


def build_network(
    a: Arrays, alive: BoolArray, late: Callable[[], bool] = lambda: False
) -> Network | None:
    """The network of the nodes with more than one label left; the others are conditioned on.

    None if it gets `late` on the way.
    """
    counts = alive.sum(axis=1)
    nodes = np.flatnonzero(counts > 1)
    fixed = np.where(counts == 1, np.argmax(alive, axis=1), -1)
    variable = np.full(len(alive), -1, np.int64)
    variable[nodes] = np.arange(len(nodes))
    values = [np.flatnonzero(alive[i]) for i in nodes]
    network = Network(nodes, values, [len(v) for v in values])
    held = np.flatnonzero(fixed >= 0)
    network.constant += float(a.unary[held, fixed[held]].sum())
    unary = _add_potts(network, a, fixed, variable)
    own = [unary[i, values[k]] for k, i in enumerate(nodes)]
    for c in range(len(a.clique_kind)):
        if c % LOOK_EVERY == 0 and late():
            return None
        members = a.clique_nodes[a.clique_ptr[c] : a.clique_ptr[c + 1]]
        if a.clique_kind[c] in (AGREE, SUPPORT):
            _add_counting(network, a, c, members, alive, fixed, variable)
        elif a.clique_kind[c] != TABLE:
            assert (fixed[members] >= 0).all(), "toulbar2 has no form of this clique"
            network.constant += fixed_energy(a, c, fixed)
        else:
            table = clique_table(a, c)
            shapes = zip(members, table.shape, strict=True)
            labels = [np.flatnonzero(alive[i, :n]) for i, n in shapes]
            _add_table(network, own, variable[members], table[np.ix_(*labels)])
    for k, costs in enumerate(own):
        network.add([k], costs)
    return network


def _add_potts(network: Network, a: Arrays, fixed: IntArray, variable: IntArray) -> FloatArray:
    """Add the edges between open nodes; those to fixed nodes go into the unaries returned."""
    first, second, weight = a.edges[:, 0], a.edges[:, 1], a.edge_weights
    open_first, open_second = fixed[first] < 0, fixed[second] < 0
    differ = ~open_first & ~open_second & (fixed[first] != fixed[second])
    network.constant += float(weight[differ].sum())
    unary = a.unary.copy()
    for one, node, held in (
        (open_first & ~open_second, first, second),
        (open_second & ~open_first, second, first),
    ):
        network.constant += float(weight[one].sum())
        np.subtract.at(unary, (node[one], fixed[held[one]]), weight[one])
    for e in np.flatnonzero(open_first & open_second):
        i, j = int(variable[first[e]]), int(variable[second[e]])
        network.add([i, j], weight[e] * (network.values[i][:, None] != network.values[j]))
    return unary


def _add_table(
    network: Network, own: list[FloatArray], variables: IntArray, table: FloatArray
) -> None:
    """A table over `variables` [K], −1 where fixed; that of one variable goes to its `own` costs.

    All tables of one variable are then one function: there may be very many of them.
    """
    free = [k for k in range(len(variables)) if variables[k] >= 0]
    costs = table.reshape([table.shape[k] for k in free])
    if len(free) == 1:
        own[int(variables[free[0]])] = own[int(variables[free[0]])] + costs
    else:
        network.add([int(variables[k]) for k in free], costs)


def _add_counting(
    network: Network, a: Arrays, c: int, members: IntArray, alive: BoolArray, fixed: IntArray,
    variable: IntArray,
) -> None:  # fmt: skip
    label, weight = int(a.clique_label[c]), float(a.clique_weight[c])
    sure = int((fixed[members] == label).sum())
    open_members = [int(i) for i in members if variable[i] >= 0 and alive[i, label]]
    never = len(members) - sure - len(open_members)
    if weight == 0.0:
        return
    has_label = [(network.values[int(variable[i])] == label).astype(float) for i in open_members]
    if a.clique_kind[c] == AGREE:
        network.constant += weight * sure
        z = network.add_variable(weight * (never - sure))
        for i, match in zip(open_members, has_label, strict=True):
            network.add([int(variable[i]), z], weight * np.stack([match, 1.0 - match], axis=1))
        return
    need = int(a.clique_count[c]) - sure
    if need > len(open_members):
        network.constant += weight
    elif need > 0:
        broken = network.add_variable(weight)
        positions = [int(np.argmax(match)) for match in has_label]
        terms = [(int(variable[i]), at, 1) for i, at in zip(open_members, positions, strict=True)]
        network.quotas.append(([*terms, (broken, 1, need)], need))
