"""The energy in plain Python, straight from the formulas: slow, and shared with no solver."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import BoxAgreement, BoxSupport, Custom, Potential, Potts, Tables


def reference_energy(crf: CRF, labels: Sequence[int]) -> float:
    """E(y), or E_t where some labels are −1: the sum of the terms whose nodes are all labeled."""
    values = [float(crf.unary[i, y]) for i, y in enumerate(labels) if y >= 0]
    for group in crf.potentials:
        values += group_terms(group, labels, crf.n_labels)
    # fsum refuses nothing finite and loses no digits; one infinite term decides.
    return math.inf if any(math.isinf(v) for v in values) else math.fsum(values)


def group_terms(group: Potential, labels: Sequence[int], n_labels: int) -> list[float]:
    """The value of every term of a group whose nodes are all labeled, or that is asked half-way."""
    if isinstance(group, Potts):
        edges = zip(group.edges.tolist(), group.weights.tolist(), strict=True)
        return [
            w if labels[i] != labels[j] else 0.0
            for (i, j), w in edges
            if labels[i] >= 0 and labels[j] >= 0
        ]
    assert isinstance(group, BoxAgreement | BoxSupport | Tables | Custom)
    values = []
    for c, clique in enumerate(group.cliques):
        members = [int(labels[i]) for i in clique]
        if min(members) >= 0:
            values.append(_clique_term(group, c, members, n_labels))
        elif isinstance(group, Custom) and max(members) >= 0:
            values += _part_term(group, c, members, n_labels)
    return values


def _part_term(group: Custom, c: int, members: list[int], n_labels: int) -> list[float]:
    """What a custom clique says of its labeled members, if it is asked half-way."""
    if group.partial_form == "subset":
        return [_custom_value(group, c, [label for label in members if label >= 0], n_labels)]
    if group.marked is not None:
        own = group.parameters[group.parameter_ptr[c] : group.parameter_ptr[c + 1]]
        return [float(group.marked(np.array(members, np.int64), own))]
    return []


def _custom_value(group: Custom, c: int, members: list[int], n_labels: int) -> float:
    own = group.parameters[group.parameter_ptr[c] : group.parameter_ptr[c + 1]]
    numbers = np.array(members, np.int64)
    if group.of == "counts":
        numbers = np.bincount(numbers, minlength=n_labels)
    return float(group.function(numbers, own))


def _clique_term(group: Potential, c: int, members: list[int], n_labels: int) -> float:
    if isinstance(group, BoxAgreement):
        matches = members.count(int(group.labels[c]))
        return float(group.weights[c]) * min(matches, len(members) - matches)
    if isinstance(group, BoxSupport):
        matches = members.count(int(group.labels[c]))
        return float(group.penalties[c]) if matches < group.counts[c] else 0.0
    if isinstance(group, Tables):
        return float(group.table(c)[tuple(members)])
    assert isinstance(group, Custom)
    return _custom_value(group, c, members, n_labels)


def all_labelings(crf: CRF) -> Iterable[tuple[int, ...]]:
    """Every labeling, in lexicographic order."""
    return itertools.product(*(range(card) for card in crf.cardinalities.tolist()))


def reference_minimum(crf: CRF) -> float:
    """The lowest energy of all labelings; only for tiny CRFs."""
    return min(reference_energy(crf, labels) for labels in all_labelings(crf))
