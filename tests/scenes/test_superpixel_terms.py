"""Hard terms on irregular graphs: patches, connectivity, label cost and least sizes."""

from __future__ import annotations

import numpy as np
import pytest

from policrf.crf.model import CRF
from policrf.crf.potentials import Custom
from policrf.scenes.superpixel_terms import add_region_terms, local_edges, patches
from policrf.testing import check_potential
from policrf.testing.reference import reference_energy


@pytest.fixture
def scattered():
    rng = np.random.default_rng(0)
    positions = rng.random((80, 2))
    distance = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    first, second = np.nonzero(np.triu(distance < 0.15, 1))
    return positions, np.stack([first, second], 1)


def test_patches_hold_every_node_once(scattered):
    found = patches(scattered[0])
    assert sorted(np.concatenate(found)) == list(range(80))
    assert all(25 <= len(patch) <= 50 for patch in found)
    assert [len(patch) for patch in patches(scattered[0][:3])] == [3]


def test_edges_are_by_place_in_the_region():
    edges = np.array([[0, 5], [5, 9], [2, 9], [9, 7]])
    inside = local_edges(np.array([5, 7, 9]), edges, 10)
    assert inside.reshape(-1, 2).tolist() == [[0, 2], [2, 1]]


def parts(labels, edges, label, open_nodes):
    """Connected parts of a label by plain search; open nodes may be walked over."""
    ground = {i for i in range(len(labels)) if labels[i] == label or i in open_nodes}
    seen, count = set(), 0
    for first in (i for i in range(len(labels)) if labels[i] == label):
        if first in seen:
            continue
        count += 1
        todo = [first]
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            todo += [b for a, b in [*edges, *((b, a) for a, b in edges)] if a == at and b in ground]
    return count


def test_terms_are_those_of_the_description(scattered):
    positions, edges = scattered
    crf = add_region_terms(CRF(np.zeros((80, 4))), edges, positions)
    rng = np.random.default_rng(1)
    for spread in (2, 4):
        labels = rng.integers(0, spread, 80)
        labels[:5] = 3
        counts = np.bincount(labels, minlength=4)
        expected = 8.0 * (counts > 0).sum() + 0.5 * sum(12 - k for k in counts if 0 < k < 12)
        for region in patches(positions):
            own = labels[region].tolist()
            pairs = local_edges(region, edges, 80).reshape(-1, 2).astype(int).tolist()
            expected += 2.0 * sum(parts(own, pairs, label, ()) - 1 for label in set(own))
        assert crf.energy(labels) == pytest.approx(expected)
        assert reference_energy(crf, labels.tolist()) == pytest.approx(expected)


def test_unlabeled_nodes_may_still_join_parts(scattered):
    positions, edges = scattered
    group = add_region_terms(CRF(np.zeros((80, 3))), edges, positions).groups(Custom)[-1]
    region = next(iter(group))
    pairs = local_edges(region, edges, 80)
    rng = np.random.default_rng(2)
    for _ in range(20):
        labels = rng.integers(-1, 3, len(region))
        free = {i for i in range(len(region)) if labels[i] < 0}
        plain = pairs.reshape(-1, 2).astype(int).tolist()
        extra = sum(max(0, parts(labels.tolist(), plain, label, free) - 1) for label in range(3))
        assert group.marked(labels, pairs) == 2.0 * extra


def test_every_way_of_asking_agrees(scattered):
    positions, edges = scattered
    crf = add_region_terms(CRF(np.zeros((80, 3))), edges, positions)
    for group in crf.groups(Custom):
        check_potential(group, n_nodes=80, n_labels=3, trials=2)
        assert group.partial_form != "complete"
