"""The energy in plain Python, straight from the formulas: slow, and shared with no solver."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import (
    BoxAgreement,
    BoxSupport,
    CliquePotential,
    Connectivity,
    CoOccurrence,
    CountFunction,
    Custom,
    LabelCost,
    LabelOrder,
    Pairwise,
    Potential,
    Potts,
    RobustPotts,
    Tables,
)


def reference_energy(crf: CRF, labels: Sequence[int]) -> float:
    """E(y), or E_t where some labels are −1: the sum of the terms whose nodes are all labeled."""
    values = [float(crf.unary[i, y]) for i, y in enumerate(labels) if y >= 0]
    for group in crf.potentials:
        values += group_terms(group, labels, crf.n_labels)
    # fsum refuses nothing finite and loses no digits; one infinite term decides.
    return math.inf if any(math.isinf(v) for v in values) else math.fsum(values)


def group_terms(group: Potential, labels: Sequence[int], n_labels: int) -> list[float]:
    """The value of every term of a group whose nodes are all labeled, or that is asked half-way."""
    if isinstance(group, Potts | Pairwise):
        edges = zip(group.edges.tolist(), group.weights.tolist(), strict=True)
        table = group.table if isinstance(group, Pairwise) else 1.0 - np.eye(n_labels)
        return [
            w * float(table[labels[i], labels[j]])
            for (i, j), w in edges
            if labels[i] >= 0 and labels[j] >= 0
        ]
    assert isinstance(group, CliquePotential)
    values = []
    for c, clique in enumerate(group.cliques):
        members = [int(labels[i]) for i in clique]
        if min(members) < 0 <= max(members) and group.partial_form == "lowest":
            values.append(_lowest_term(group, c, members, n_labels))
        elif min(members) >= 0 or (max(members) >= 0 and _asked_halfway(group)):
            values.append(clique_term(group, c, members, n_labels))
    return values


def _asked_halfway(group: CliquePotential) -> bool:
    if isinstance(group, BoxAgreement | BoxSupport | Tables | Custom):
        return group.partial_form != "complete"
    return True


def _lowest_term(group: CliquePotential, c: int, members: list[int], n_labels: int) -> float:
    """The least of f_c over all labels of the unlabeled members."""
    ranges = [range(n_labels)] * len(members)
    if isinstance(group, Tables):
        ranges = [range(size) for size in group.table(c).shape]
    choices = [[y] if y >= 0 else own for y, own in zip(members, ranges, strict=True)]
    every = itertools.product(*choices)
    return min(clique_term(group, c, list(labels), n_labels) for labels in every)


def clique_term(group: Potential, c: int, members: list[int], n_labels: int) -> float:
    """f_c of the members' labels, −1 where there is none; one member is labeled or more."""
    given = [label for label in members if label >= 0]
    counts = [given.count(label) for label in range(n_labels)]
    match group:
        case BoxAgreement():
            matches = given.count(int(group.labels[c]))
            return float(group.weights[c]) * min(matches, len(given) - matches)
        case BoxSupport():
            short = given.count(int(group.labels[c])) < group.counts[c]
            return float(group.penalties[c]) if short else 0.0
        case Tables():
            return float(group.table(c)[tuple(members)])
        case LabelCost():
            costs = np.broadcast_to(group.costs, (len(group), n_labels))[c]
            return sum(float(costs[label]) for label in set(given))
        case CountFunction():
            return _count_term(group, c, counts, members.count(-1))
        case CoOccurrence():
            pairs = itertools.combinations(sorted(set(given)), 2)
            return sum(float(group.prices[pair]) for pair in pairs)
        case RobustPotts():
            return _robust_term(group, c, counts)
        case Connectivity():
            return float(group.penalties[c]) * _extra_parts(group, c, members)
        case LabelOrder():
            pairs = itertools.combinations(given, 2)
            return min(float(group.cap), sum(float(group.prices[pair]) for pair in pairs))
        case Custom():
            return _custom_value(group, c, members, n_labels)
    raise TypeError(f"no plain form of {group.name}")


def _count_term(group: CountFunction, c: int, counts: list[int], unlabeled: int) -> float:
    """A forbidden count stands for the best one that the unlabeled members can still make."""
    rows = group.values[group.which[c]]
    total = 0.0
    for label, count in enumerate(counts):
        row = label
        if group.labels is not None:
            if label not in group.labels:
                continue
            row = group.labels.tolist().index(label)
        values = rows[row if len(rows) > 1 else 0].tolist()
        reachable = [values[min(n, len(values) - 1)] for n in range(count, count + unlabeled + 1)]
        total += reachable[0] if math.isfinite(reachable[0]) else min(reachable)
    return total


def _robust_term(group: RobustPotts, c: int, counts: list[int]) -> float:
    most, allowed = float(group.penalties[c]), float(group.truncations[c])
    own = np.broadcast_to(group.label_costs, len(counts)).tolist()
    n = sum(counts)
    values = [g + (most - g) * (n - count) / allowed for g, count in zip(own, counts, strict=True)]
    return float(min(most, *values))


def _extra_parts(group: Connectivity, c: int, members: list[int]) -> int:
    """How many parts there are beyond the first of every label; the unlabeled join any."""
    clique = group.cliques[c].tolist()
    extra = 0
    for label in set(members) - {-1}:
        if group.labels is not None and label not in group.labels:
            continue
        ground = {i for i, y in zip(clique, members, strict=True) if y in (label, -1)}
        part = {i: i for i in ground}
        for _ in ground:  # the smallest number of its part reaches every node in time
            for i, j in group.edges.tolist():
                if i in ground and j in ground:
                    part[i] = part[j] = min(part[i], part[j])
        owned = {part[i] for i, y in zip(clique, members, strict=True) if y == label}
        extra += len(owned) - 1
    return extra


def _custom_value(group: Custom, c: int, members: list[int], n_labels: int) -> float:
    own = group.parameters[group.parameter_ptr[c] : group.parameter_ptr[c + 1]]
    if min(members) < 0 and group.marked is not None:
        return float(group.marked(np.array(members, np.int64), own))
    numbers: Any = np.array([label for label in members if label >= 0], np.int64)
    if group.form == "counts":
        numbers = np.bincount(numbers, minlength=n_labels)
    if group.summary is not None:
        numbers = np.zeros(group.summary.size)
        for m, label in enumerate(members):
            if label >= 0:
                group.summary.update(numbers, m, label, 1, own)
    return float(group.function(numbers, own))


def all_labelings(crf: CRF) -> Iterable[tuple[int, ...]]:
    """Every labeling, in lexicographic order."""
    return itertools.product(*(range(card) for card in crf.cardinalities.tolist()))


def reference_minimum(crf: CRF) -> float:
    """The lowest energy of all labelings; only for tiny CRFs."""
    return min(reference_energy(crf, labels) for labels in all_labelings(crf))
