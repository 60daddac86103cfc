"""Small models on which proofs go wrong: parts of different scales, ties, zeros, forbidden labels.

Their minima are found by an independent path: every term as a plain table, all labelings in
extended precision, and the lowest of them again in exact arithmetic.
"""

import itertools
from fractions import Fraction

import numpy as np

import policrf as pc
from policrf.crf.potentials import CliquePotential, Custom, Pairwise
from policrf.testing import random_crf
from policrf.testing.random_groups import BUILT_IN
from policrf.testing.reference import clique_term

SCALES = (1.0, 1.0, 1.0, 1e12, 1e-12, 1e6)
STYLES = ("real", "real", "whole", "ties", "flat", "zero", "penalties")
GROUPS = ("potts", "hop1", "hop2", "tables", *BUILT_IN)
COSTS = ("values", "table", "prices", "costs", "penalties", "label_costs", "weights")
FORBIDDEN = (0.0, 0.0, 0.15, 0.4)


def claim_model(seed):
    """One to three independent parts, each of a style and a scale of its own."""
    rng = np.random.default_rng(seed)
    n_labels = int(rng.integers(2, 4))
    left = 8 if n_labels == 2 else 6
    parts = []
    for _ in range(int(rng.integers(1, 4))):
        size = int(rng.integers(1, max(2, left)))
        left -= size
        parts.append(_part(rng, size, n_labels))
        if left < 1:
            break
    return joined(parts)


def _part(rng, size, n_labels):
    count = int(rng.integers(1, 4))
    groups = tuple(rng.choice(GROUPS, count, replace=False)) if size > 1 else ("tables",)
    if rng.random() < 0.05:
        groups = (*groups, "custom")
    scale, style = float(rng.choice(SCALES)), str(rng.choice(STYLES))
    crf = random_crf(
        int(rng.integers(1 << 30)), n_nodes=size, n_labels=n_labels, groups=groups, scale=scale,
        forbidden=float(rng.choice(FORBIDDEN)), ragged=rng.random() < 0.2,
        tree=rng.random() < 0.3,
    )  # fmt: skip
    return _styled(crf, style, scale, rng)


def _styled(crf, style, scale, rng):
    """The same groups with costs of a kind: whole numbers, ties, equal, zero, huge penalties."""

    def cost(array):
        array = np.array(array, np.float64)
        finite = np.isfinite(array)
        units = array[finite] / scale
        if style == "whole":
            units = np.rint(10 * units)
        elif style == "ties":
            units = np.rint(units)
        elif style == "zero":
            units = 0.0 * units
        elif style == "penalties":
            units = np.where(rng.random(units.shape) < 0.2, 1e12 + units, units)
        array[finite] = units * scale
        return array

    if style == "real":
        return crf
    unary = cost(crf.unary)
    if style == "flat":
        unary = np.where(
            np.isfinite(unary), np.nanmax(np.where(np.isfinite(unary), unary, -np.inf)), np.inf
        )
        return pc.CRF(unary, *crf.potentials, cardinalities=crf.cardinalities)
    groups = []
    for group in crf.potentials:
        keeps = isinstance(group, Custom) or (style == "penalties" and not hasattr(group, "values"))
        if keeps:
            groups.append(group)
            continue
        fields = group.fields()
        for name in COSTS:
            if name in fields and not (isinstance(group, Pairwise) and name == "weights"):
                fields[name] = cost(fields[name])
        groups.append(type(group).from_fields(fields))
    return pc.CRF(unary, *groups, cardinalities=crf.cardinalities)


def joined(parts):
    """Side by side, in one CRF."""
    if len(parts) == 1:
        return parts[0]
    groups, first = [], 0
    for part in parts:
        for group in part.potentials:
            if isinstance(group, Custom):
                continue
            fields = group.fields()
            for name in ("nodes", "edges"):
                if name in fields:
                    fields[name] = fields[name] + first
            groups.append(type(group).from_fields(fields))
        first += part.n_nodes
    unary = np.concatenate([part.unary for part in parts])
    cards = np.concatenate([part.cardinalities for part in parts])
    return pc.CRF(unary, *groups, cardinalities=cards)


def term_tables(crf):
    """Every term as (nodes, table), from the plain formulas."""
    found = [([i], crf.unary[i, : crf.cardinalities[i]]) for i in range(crf.n_nodes)]
    cards = crf.cardinalities.tolist()
    for group in crf.potentials:
        if isinstance(group, Pairwise):
            for edge, weight in zip(group.edges.tolist(), group.weights.tolist(), strict=True):
                found.append((edge, weight * group.table))
        elif not isinstance(group, CliquePotential):
            for (i, j), weight in zip(group.edges.tolist(), group.weights.tolist(), strict=True):
                found.append(
                    ([i, j], weight * (np.arange(cards[i])[:, None] != np.arange(cards[j])))
                )
        else:
            for c, clique in enumerate(group.cliques):
                nodes = clique.tolist()
                shape = [cards[i] for i in nodes]
                joint = itertools.product(*(range(size) for size in shape))
                values = [clique_term(group, c, list(labels), crf.n_labels) for labels in joint]
                found.append((nodes, np.array(values, np.float64).reshape(shape)))
    return found


class ExactMinimum:
    """The lowest energy of a small model as a fraction; None if every labeling is forbidden."""

    def __init__(self, crf):
        self.tables = term_tables(crf)
        shape = tuple(crf.cardinalities.tolist())
        grid = np.indices(shape, sparse=True)
        total = np.zeros(shape, np.longdouble)
        for nodes, table in self.tables:
            total = total + table[tuple(grid[i] for i in nodes)].astype(np.longdouble)
        flat = total.reshape(-1)
        lowest = flat.min()
        self.energy = None
        self.magnitude = 0.0
        if np.isinf(lowest):
            return
        self.labels = np.unravel_index(int(flat.argmin()), shape)
        self.magnitude = self._magnitude(self.labels)
        close = np.flatnonzero(flat <= lowest + 1e-15 * self.magnitude)
        near = close[np.argsort(flat[close], kind="stable")][:50]
        self.energy = min(self.energy_of(np.unravel_index(int(at), shape)) for at in near)

    def energy_of(self, labels):
        """As a fraction; None if it is forbidden."""
        values = [table[tuple(labels[i] for i in nodes)] for nodes, table in self.tables]
        if np.isinf(values).any():
            return None
        return sum(map(Fraction, map(float, values)), Fraction(0))

    def _magnitude(self, labels):
        """What a labeling as low as the minimum pays, all signs aside: the unit of claims."""
        total = 0.0
        for nodes, table in self.tables:
            least = float(table[np.isfinite(table)].min())
            total += float(table[tuple(labels[i] for i in nodes)]) - least + abs(least)
        return total


def complaints(exact, solution):
    """What is wrong with a solution's claims; empty if nothing is."""
    found = []
    if exact.energy is None:
        return found
    bounds = [solution.lower_bound, *(line.lower_bound for line in solution.trace)]
    highest = max(bounds)
    if highest == np.inf or (np.isfinite(highest) and Fraction(highest) > exact.energy):
        found.append(f"bound {highest!r} above {float(exact.energy)!r}")
    if solution.info.get("infeasible"):
        found.append("called infeasible")
    if solution.optimal:
        energy = exact.energy_of(solution.labels)
        if energy is None or float(energy - exact.energy) > 2e-9 * exact.magnitude:
            found.append(f"called optimal at {solution.energy!r}, not {float(exact.energy)!r}")
    return found
