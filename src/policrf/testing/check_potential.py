"""`check_potential`: are a group's energies the same however it is asked, and what is gained?"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import Custom, Potential
from policrf.errors import PolicrfError
from policrf.testing.reference import clique_term, reference_energy
from policrf.types import FloatArray, IntArray


def check_potential(
    group: Potential, *, n_nodes: int, n_labels: int, trials: int = 20, seed: int = 0
) -> str:
    """Hold a group against the plain Python evaluation, on random labelings.

    The full energy, the partial energies along a random labeling order, the costs of all labels of
    a node, and an unlabel followed by a label must all agree; a function for a part must say of the
    whole what the function says. Raises AssertionError with the labeling, or what a mistake in a
    custom function leads to. Returns a sentence: what the group gains by being asked half-way, or
    would gain.

    Parameters
    ----------
    group
        The group to check.
    n_nodes
        Number of nodes of the CRF that it is put into; its cliques name no others.
    n_labels
        Number of labels of every node.
    trials
        Number of random labelings.
    seed
        Seed of the labelings and of the unaries.

    >>> import policrf as pc
    >>> many = pc.Custom([[0, 1, 2]], lambda labels, _: float(len(set(labels.tolist()))))
    >>> sentence = check_potential(many, n_nodes=4, n_labels=3)
    """
    rng = np.random.default_rng(seed)
    crf = CRF(rng.normal(size=(n_nodes, n_labels)), group)
    for _ in range(trials):
        labels = rng.integers(0, n_labels, n_nodes)
        _same(crf.energy(labels), reference_energy(crf, labels.tolist()), "energy", labels)
        if isinstance(group, Custom):
            _check_whole(group, labels, n_labels)
        _check_walk(crf, labels, rng)
    if not isinstance(group, Custom):
        return f"{group.name} is built in."
    return _what_is_gained(group, n_nodes, n_labels, rng)


def _check_whole(group: Custom, labels: IntArray, n_labels: int) -> None:
    """A function for a part, asked about all members, must agree with the function."""
    if group.marked is None:
        return
    for c, clique in enumerate(group.cliques):
        members = [int(label) for label in labels[clique]]
        own = group.parameters[group.parameter_ptr[c] : group.parameter_ptr[c + 1]]
        found = float(group.marked(np.array(members, np.int64), own))
        whole = clique_term(group, c, members, n_labels)
        _same(found, whole, f"the function for a part, of all members of clique {c},", members)


def _check_walk(crf: CRF, labels: IntArray, rng: np.random.Generator) -> None:
    """Label all nodes in random order, then relabel one."""
    partial = np.full(crf.n_nodes, -1)
    walk = crf.labeling()
    for node in rng.permutation(crf.n_nodes):
        costs = walk.costs(int(node))
        before = walk.energy
        added = walk.assign(int(node), int(labels[node]))
        partial[node] = labels[node]
        _same(walk.energy, reference_energy(crf, partial.tolist()), "partial energy", partial)
        if math.isfinite(before):
            _same(costs[labels[node]], added, f"cost of labeling node {node}", partial)
            _same(before + added, walk.energy, f"energy added by node {node}", partial)
    node, label = int(rng.integers(crf.n_nodes)), int(rng.integers(crf.n_labels))
    costs = walk.costs(node)
    walk.assign(node, label)
    changed = labels.copy()
    changed[node] = label
    _same(walk.energy, reference_energy(crf, changed.tolist()), "energy after relabeling", changed)
    if np.isfinite(costs[[labels[node], label]]).all() and math.isfinite(crf.energy(labels)):
        difference = crf.energy(changed) - crf.energy(labels)
        _same(costs[label] - costs[labels[node]], difference, f"costs of node {node}", labels)


def _what_is_gained(group: Custom, n_nodes: int, n_labels: int, rng: np.random.Generator) -> str:
    """Greedy labeling with and without half-way questions, on random CRFs with this group."""
    from policrf.solvers import solve

    asked = group if group.partial_form != "complete" else _variant(group, n_labels, "subset")
    never = group if asked is not group else _variant(group, n_labels, "complete")
    means = []
    for variant in (never, asked):
        energies = []
        for trial in range(10):
            unary = np.random.default_rng(trial).exponential(size=(n_nodes, n_labels))
            try:
                found = solve(CRF(unary, variant), "highest_confidence_first:descend=false")
            except PolicrfError as error:
                return f"It cannot be asked half-way with partial='subset': {error}"
            energies.append(found.energy)
        means.append(float(np.mean(energies)))
    declared = "Asked half-way" if asked is group else "With partial='subset'"
    sentence = (
        f"{declared}, greedy labeling ends at {means[1]:.4g} instead of {means[0]:.4g} (mean "
        "energy of 10 random CRFs)"
    )
    if group.form == "labels" and not _order_matters(group, n_labels, rng):
        sentence += "; the order of members does not matter to it: of='counts' makes it faster"
    return sentence + "."


def _variant(group: Custom, n_labels: int, partial: str) -> Custom:
    """The same energies, asked in another way, from labels."""

    def function(labels: IntArray, own: FloatArray) -> float:
        numbers: Any = labels
        if group.form == "counts":
            numbers = np.bincount(labels, minlength=n_labels)
        elif group.summary is not None:
            numbers = np.zeros(group.summary.size)
            for m, label in enumerate(labels.tolist()):
                group.summary.update(numbers, m, label, 1, own)
        return float(group.function(numbers, own))

    used: Callable[..., float] = group.function if group.form == "labels" else function
    rows = np.split(group.parameters, group.parameter_ptr[1:-1]) if len(group) else None
    return Custom(list(group.cliques), used, rows, partial=partial, name=group.function_name)


def _order_matters(group: Custom, n_labels: int, rng: np.random.Generator) -> bool:
    """Whether some shuffled labeling of some clique has another value."""
    for c, clique in enumerate(group.cliques):
        for _ in range(10):
            members = rng.integers(0, n_labels, len(clique)).tolist()
            value = clique_term(group, c, members, n_labels)
            shuffled = clique_term(group, c, rng.permutation(members).tolist(), n_labels)
            if value != shuffled and not math.isclose(value, shuffled, rel_tol=1e-9, abs_tol=1e-9):
                return True
    return False


def _same(found: float, expected: float, what: str, labels: object) -> None:
    agree = found == expected or math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)
    assert agree, f"{what} is {found}, but should be {expected}, at labels {labels}"
