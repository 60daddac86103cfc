"""Families of hard potentials: what their functions say, and how they are asked."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from policrf.crf.potentials import Custom
from policrf.errors import InvalidOption, UnknownName
from policrf.scenes import FAMILIES, make_family
from policrf.testing import check_potential
from policrf.testing.reference import reference_energy


def plain(name, members, size, n_labels, parameters):
    """The families' energies as a person would write them down, of complete cliques."""
    n = np.bincount(members, minlength=n_labels)
    pairs = itertools.combinations
    if name == "two_labels":
        return 5.0 * max(0, len(set(members)) - 2)
    if name == "absent_or_many":
        return 4.0 * sum(0 < k < int(14 * size / 36 + 0.5) for k in n)
    if name == "label_cost":
        return 8.0 * len(members) / 144 * len(set(members))
    if name == "co_occurrence":
        table = parameters.reshape(n_labels, n_labels)
        return sum(table[a, b] for a, b in pairs(range(n_labels), 2) if n[a] and n[b])
    if name == "size_prior":
        return sum(min(4.0, 0.7 * min(k, abs(k - size // 3), abs(k - size))) for k in n)
    if name == "parity":
        return 1.5 * sum(k % 2 for k in n)
    if name == "random_network":
        weights = parameters.reshape(n_labels + 2, -1)
        z = n / n.sum() @ weights[:n_labels] + weights[n_labels]
        return 20.0 * float(weights[-1] @ (z / (1 + abs(z))))
    assert name == "order"
    return float(min(15, sum(a > b for a, b in pairs(members, 2))))


@pytest.mark.parametrize("name", FAMILIES)
def test_every_way_of_asking_agrees(name):
    crf = make_family(name, 30, 3, seed=1)
    (group,) = crf.groups(Custom)
    check_potential(group, n_nodes=30, n_labels=3, trials=3)
    assert group.partial_form != "complete"
    labels = np.random.default_rng(2).integers(0, 3, 30)
    assert crf.energy(labels) == pytest.approx(reference_energy(crf, labels.tolist()))


@pytest.mark.parametrize(
    "name", [name for name in FAMILIES if name not in ("connectivity", "black_box")]
)
def test_energies_are_those_of_the_description(name):
    crf = make_family(name, 64, 5, seed=3)
    (group,) = crf.groups(Custom)
    rng = np.random.default_rng(4)
    for spread in (2, 3, 5):
        labels = rng.integers(0, spread, 64)
        expected = 0.0
        for c, clique in enumerate(group):
            own = group.parameters[group.parameter_ptr[c] : group.parameter_ptr[c + 1]]
            expected += plain(name, labels[clique].tolist(), len(clique), 5, own)
        assert crf.terms(labels)["custom"] == pytest.approx(expected)


def test_connectivity_counts_parts():
    crf = make_family("connectivity", 16, 3)  # four regions of 2 × 2
    index = np.arange(16).reshape(4, 4)
    labels = np.zeros(16, np.int64)
    assert crf.terms(labels)["custom"] == 0.0
    labels[index[0, 1]] = labels[index[1, 0]] = 1  # both labels of the first region in two parts
    assert crf.terms(labels)["custom"] == 2.0
    partial = crf.labeling(np.where(np.arange(16) == index[1, 1], -1, labels))
    # The unlabeled corner may still join either label's parts.
    assert partial.energy == pytest.approx(
        crf.unary[np.arange(16), labels].sum()
        - crf.unary[index[1, 1], 0]
        + 0.3 * sum(
            labels[i] != labels[j]
            for i, j in crf.potentials[0].edges.tolist()
            if index[1, 1] not in (i, j)
        )
    )  # fmt: skip


def test_the_black_box_tells_labelings_apart():
    crf = make_family("black_box", 36, 4)
    rng = np.random.default_rng(0)
    values = {crf.terms(rng.integers(0, 4, 36))["custom"] for _ in range(10)}
    assert len(values) == 10
    assert all(0.0 <= value <= 20.0 * 4 for value in values)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_same_seed_gives_the_same_crf(name):
    first, again, other = (make_family(name, 64, seed=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.unary, again.unary)
    np.testing.assert_array_equal(first.arrays.data, again.arrays.data)
    assert not np.array_equal(first.unary, other.unary)


@pytest.mark.parametrize(
    ("n_nodes", "edges", "regions"), [(64, 112, 4), (144, 264, 4), (250, 465, 6), (1000, 1935, 28)]
)
def test_grids_have_regions_of_about_36_nodes(n_nodes, edges, regions):
    crf = make_family("parity", n_nodes)
    assert len(crf.potentials[0].edges) == edges
    cliques = list(crf.potentials[1])
    assert len(cliques) == regions
    assert sorted(np.concatenate(cliques)) == list(range(n_nodes))


def test_a_prime_number_of_nodes_gives_no_strip():
    crf = make_family("connectivity", 101, 3)
    (group,) = crf.groups(Custom)
    assert len(crf.potentials[0].edges) > 170
    check_potential(group, n_nodes=101, n_labels=3, trials=1)


def test_wrong_arguments():
    with pytest.raises(UnknownName, match=r"called 'potts'; there are two_labels, absent"):
        make_family("potts", 64)
    with pytest.raises(InvalidOption, match="not 2 and 6"):
        make_family("parity", 2)
    with pytest.raises(InvalidOption, match="not 64 and 1"):
        make_family("parity", 64, 1)
