"""`check_potential`: does a group give the same energies however it is asked?"""

from __future__ import annotations

import math

import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import Potential
from policrf.testing.reference import reference_energy


def check_potential(
    group: Potential, *, n_nodes: int, n_labels: int, trials: int = 20, seed: int = 0
) -> None:
    """Hold a group against the plain Python evaluation, on random labelings.

    The full energy, the partial energies along a random labeling order, the costs of all labels of
    a node, and an unlabel followed by a label must all agree. Raises AssertionError with the
    labeling.

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
    >>> check_potential(many, n_nodes=4, n_labels=3)
    """
    rng = np.random.default_rng(seed)
    crf = CRF(rng.normal(size=(n_nodes, n_labels)), group)
    for _ in range(trials):
        labels = rng.integers(0, n_labels, n_nodes)
        _same(crf.energy(labels), reference_energy(crf, labels.tolist()), "energy", labels)
        partial = np.full(n_nodes, -1)
        walk = crf.labeling()
        for node in rng.permutation(n_nodes):
            costs = walk.costs(int(node))
            before = walk.energy
            added = walk.assign(int(node), int(labels[node]))
            partial[node] = labels[node]
            _same(walk.energy, reference_energy(crf, partial.tolist()), "partial energy", partial)
            _same(costs[labels[node]], added, f"cost of labeling node {node}", partial)
            _same(before + added, walk.energy, f"energy added by node {node}", partial)
        node, label = int(rng.integers(n_nodes)), int(rng.integers(n_labels))
        costs = walk.costs(node)
        walk.assign(node, label)
        changed = labels.copy()
        changed[node] = label
        _same(
            walk.energy, reference_energy(crf, changed.tolist()), "energy after relabeling", changed
        )
        if np.isfinite(costs[[labels[node], label]]).all():
            difference = crf.energy(changed) - crf.energy(labels)
            _same(costs[label] - costs[labels[node]], difference, f"costs of node {node}", labels)


def _same(found: float, expected: float, what: str, labels: object) -> None:
    agree = found == expected or math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)
    assert agree, f"{what} is {found}, but should be {expected}, at labels {labels}"
