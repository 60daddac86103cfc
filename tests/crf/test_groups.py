"""The built-in groups: energies by hand, all ways to ask, files, and wrong input."""

from __future__ import annotations

import math

import numpy as np
import pytest

import policrf as pc
from policrf.compiled import kernel
from policrf.crf.changes import load_labels, relabel_change
from policrf.crf.potentials import POTENTIALS
from policrf.crf.state import new_state
from policrf.errors import InvalidPotential
from policrf.testing import check_potential, random_crf, reference_energy
from policrf.testing.random_groups import BUILT_IN

LINE = [[0, 1], [1, 2], [2, 3], [3, 4]]


@kernel
def _relabel_change(arrays, state, node, label):
    return relabel_change(arrays, state, node, label)


def energy_of(group, labels, n_labels=3):
    return pc.CRF(np.zeros((len(labels), n_labels)), group).energy(labels)


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("seed", range(12))
def test_all_ways_to_ask_agree_with_plain_python(name, seed):
    crf = random_crf(seed, n_nodes=6, n_labels=3, groups=[name], forbidden=0.2 * (seed % 2))
    for group in crf.potentials:
        check_potential(group, n_nodes=6, n_labels=3, trials=4, seed=seed)


@pytest.mark.parametrize("name", BUILT_IN)
def test_what_a_relabel_changes_is_the_difference_of_energies(name):
    for seed in range(8):
        crf = random_crf(seed, n_nodes=6, n_labels=3, groups=["potts", name])
        labels = np.random.default_rng(seed).integers(0, 3, 6)
        state = new_state(crf.arrays)
        load_labels(crf.arrays, state, labels)
        for node in range(6):
            for label in range(3):
                changed = labels.copy()
                changed[node] = label
                expected = reference_energy(crf, changed) - reference_energy(crf, labels)
                found = _relabel_change(crf.arrays, state, node, label)
                assert found == pytest.approx(expected, abs=1e-9)


def test_label_costs_count_every_label_once():
    group = pc.LabelCost([[0, 1, 2], [2, 3]], [1.0, 10.0, 100.0])
    assert energy_of(group, [0, 0, 1, 1]) == 1 + 10 + 10
    each = pc.LabelCost([[0, 1, 2], [2, 3]], [[1.0, 10.0, 100.0], [2.0, 20.0, 200.0]])
    assert energy_of(each, [0, 0, 1, 1]) == 1 + 10 + 20
    assert energy_of(pc.LabelCost([range(4)], 3.0), [2, 1, 2, 0]) == 9.0
    assert energy_of(pc.LabelCost([range(4)], [0, 0, np.inf]), [2, 1, 2, 0]) == math.inf


def test_counts_by_any_function():
    assert energy_of(pc.CountFunction([range(4)], [0, 5, 2]), [0, 0, 0, 1]) == 2 + 5
    squared = pc.CountFunction([range(4)], lambda counts, size: (counts - size) ** 2)
    assert energy_of(squared, [0, 0, 0, 1]) == 1 + 9 + 16
    assert energy_of(pc.CountFunction([range(4)], [0, 5, 2], labels=[1]), [0, 0, 0, 1]) == 5
    two = pc.CountFunction([range(4)], [[0, 1], [0, 7]], labels=[2, 0])
    assert energy_of(two, [0, 0, 0, 1]) == 7
    assert energy_of(pc.CountFunction.parity([range(4)], 1.5), [0, 0, 0, 1]) == 3.0
    assert energy_of(pc.CountFunction.parity([range(4)], 1.5, odd=False), [0, 0, 0, 1]) == 1.5
    between = pc.CountFunction.between([range(4)], 1, 2, 10.0)
    assert energy_of(between, [0, 0, 0, 1]) == 20.0
    prior = pc.CountFunction.size_prior([range(4)], [0, 4], weight=2.0, cap=3.0)
    assert energy_of(prior, [0, 0, 0, 1]) == 2.0 + 2.0
    third = pc.CountFunction.size_prior([range(4)], lambda counts, size: [0, size // 2])
    assert energy_of(third, [0, 0, 0, 1]) == 1.0 + 1.0
    shared = pc.CountFunction(
        [[0, 1], [2, 3], [0, 3]], np.arange(12).reshape(2, 3, 2), which=[1, 0, 0]
    )
    assert energy_of(shared, [0, 0, 0, 1]) == (7 + 8 + 10) + 2 * (1 + 3 + 4)


@pytest.mark.parametrize("solver", ["untrained", "highest_confidence_first", "auto"])
def test_exactly_k_is_reached_node_by_node(solver):
    """A count that is forbidden half-way may still become the one that is asked for."""
    rng = np.random.default_rng(3)
    exactly = np.where(np.arange(31) == 9, 0.0, np.inf)
    edges = np.stack([np.arange(29), np.arange(1, 30)], 1)
    crf = pc.CRF(
        rng.normal(size=(30, 3)),
        pc.Potts(edges, 0.5),
        pc.CountFunction([np.arange(30)], exactly, labels=[1]),
    )
    walk = crf.labeling()
    for node in range(9):
        assert np.isfinite(walk.assign(node, 1))
    assert walk.assign(9, 1) == np.inf
    walk.assign(9, 0)
    for node in range(10, 30):
        assert walk.costs(node)[1] == np.inf
        walk.assign(node, 2)
    assert np.isfinite(walk.energy)
    found = pc.solve(crf, solver, seconds=1)
    assert (found.labels == 1).sum() == 9
    assert np.isfinite(found.energy)


def test_co_occurrence_robust_potts_order_and_pairs_by_hand():
    prices = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 4.0], [2.0, 4.0, 0.0]])
    assert energy_of(pc.CoOccurrence([range(4)], prices), [0, 1, 0, 2]) == 7.0
    robust = pc.RobustPotts([range(5)], 6.0, truncations=3.0)
    assert [energy_of(robust, [0] * (5 - n) + [1] * n) for n in range(3)] == [0.0, 2.0, 4.0]
    assert energy_of(robust, [0, 0, 1, 1, 2]) == 6.0
    costly = pc.RobustPotts([range(5)], 6.0, 3.0, label_costs=[3.0, 0.0, 0.0])
    assert energy_of(costly, [0, 0, 0, 0, 0]) == 3.0
    assert energy_of(costly, [0, 0, 0, 0, 1]) == 4.0
    falls = np.tril(np.ones((3, 3)), -1)
    assert energy_of(pc.LabelOrder([[3, 1, 2, 0]], falls), [0, 1, 0, 2]) == 3 + 2
    assert energy_of(pc.LabelOrder([[3, 1, 2, 0]], falls, cap=2.5), [0, 1, 0, 2]) == 2.5
    pairs = pc.Pairwise([[0, 1], [2, 1]], [[0, 1, 2], [3, 4, 5], [6, 7, 8]], [1.0, 10.0])
    assert energy_of(pairs, [0, 1, 2]) == 1 + 70
    linear = pc.Pairwise.truncated_linear([[0, 1], [1, 2]], 3, limit=1.5)
    assert energy_of(linear, [0, 1, 1]) == 1.0
    assert energy_of(linear, [0, 2, 1]) == 2.5
    assert energy_of(pc.Pairwise.truncated_quadratic([[0, 1]], 3, limit=3.0), [0, 2]) == 3.0


def test_connectivity_counts_parts_beyond_the_first():
    group = pc.Connectivity([range(5)], LINE, 2.0)
    assert energy_of(group, [0, 0, 1, 1, 1]) == 0.0
    assert energy_of(group, [0, 1, 0, 1, 0]) == 2 * (2 + 1)
    assert energy_of(pc.Connectivity([range(5)], LINE, 2.0, labels=[1]), [0, 1, 0, 1, 0]) == 2.0
    # The edges to node 2 are not inside the clique.
    assert energy_of(pc.Connectivity([[0, 1, 3, 4]], LINE, 1.0), [0, 0, 0, 0, 0]) == 1.0
    crf = pc.CRF(np.zeros((5, 3)), group)
    assert crf.partial_energy([0, -1, 0, -1, -1]) == 0.0
    assert crf.partial_energy([0, 1, 0, -1, -1]) == 2.0


@pytest.mark.parametrize("name", BUILT_IN)
def test_files_keep_them(name, tmp_path):
    for seed in range(4):
        crf = random_crf(seed, groups=[name])
        crf.save(tmp_path / "crf.npz")
        again = pc.read(tmp_path / "crf.npz")
        labels = np.random.default_rng(seed).integers(0, 3, (5, 6))
        assert [type(p) for p in again.potentials] == [type(p) for p in crf.potentials]
        assert [again.energy(y) for y in labels] == [crf.energy(y) for y in labels]


@pytest.mark.parametrize("group", ["hop1", "hop2", "tables"])
def test_the_lowest_form_bounds_the_energy_from_below_on_the_way(group, tmp_path):
    for seed in range(10):
        crf = random_crf(seed, groups=[group], partial="lowest", forbidden=0.1)
        check_potential(crf.potentials[0], n_nodes=6, n_labels=3, trials=3, seed=seed)
        plain = random_crf(seed, groups=[group], forbidden=0.1)
        labels = np.random.default_rng(seed).integers(0, 3, 6)
        assert crf.energy(labels) == pytest.approx(plain.energy(labels))
        crf.save(tmp_path / "crf.npz")
        assert pc.read(tmp_path / "crf.npz").potentials[0].partial_form == "lowest"
    with pytest.raises(InvalidPotential, match="must be 'complete' or 'lowest', not 'subset'"):
        pc.BoxAgreement([[0, 1]], [0], 1.0, partial="subset")


def test_one_table_serves_all_edges():
    """16 labels on a 200 × 300 grid: 245 MB as one table an edge."""
    nodes = np.arange(60_000).reshape(200, 300)
    across = np.stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()], 1)
    down = np.stack([nodes[:-1].ravel(), nodes[1:].ravel()], 1)
    group = pc.Pairwise.truncated_linear(np.concatenate([across, down]), 16, limit=4.0)
    arrays = pc.CRF(np.zeros((60_000, 16)), group).arrays
    assert len(arrays.data) == 256
    assert sum(array.nbytes for array in arrays) < 60e6


def test_a_step_in_a_global_label_cost_leaves_the_additions_as_they_were():
    crf = pc.CRF(np.zeros((50, 3)), pc.LabelCost([range(50)], [0.1, 0.7, 0.3]))
    walk = crf.labeling()
    walk.assign(0, 1)
    first = walk.costs(2)
    walk.assign(1, 1)
    assert (walk.costs(2) == first).all()
    np.testing.assert_allclose(first, [0.1, 0.0, 0.3])


WRONG = {
    "LabelCost: costs is for 2 labels, but the CRF has 3": lambda: pc.LabelCost([[0]], [1.0, 2.0]),
    "LabelCost: costs of shape": lambda: pc.LabelCost([[0], [1]], np.zeros((3, 3))),
    r"LabelCost: costs\[1\] is nan": lambda: pc.LabelCost([[0]], [1.0, np.nan, 0.0]),
    "LabelCost: clique 0 names node 9": lambda: pc.LabelCost([[9]], 1.0),
    "CountFunction: values has shape": lambda: pc.CountFunction([[0]], np.zeros((1, 1, 1, 1))),
    "CountFunction: values is for 2 labels": lambda: pc.CountFunction([[0]], np.zeros((2, 2))),
    "CountFunction: 2 rows of values": lambda: pc.CountFunction(
        [[0]], np.zeros((2, 2)), labels=[1]
    ),
    "CountFunction: labels .* repeat": lambda: pc.CountFunction([[0]], [0, 1], labels=[1, 1]),
    r"CountFunction: labels\[0\] is 7": lambda: pc.CountFunction([[0]], [0, 1], labels=[7]),
    "CountFunction: 2 tables for 1 cliques": lambda: pc.CountFunction([[0]], np.zeros((2, 3, 2))),
    "which must name one of 1 tables": lambda: pc.CountFunction([[0]], [0, 1], which=[1]),
    "the function returned shape": lambda: pc.CountFunction([[0]], lambda counts, size: [1.0]),
    "CoOccurrence: prices must have shape": lambda: pc.CoOccurrence([[0]], [[0, 1]]),
    r"CoOccurrence: prices\[0, 1\] is 1": lambda: pc.CoOccurrence([[0]], [[0, 1], [2, 0]]),
    r"CoOccurrence: prices\[1, 1\] is 2": lambda: pc.CoOccurrence([[0]], [[0, 1], [1, 2]]),
    r"RobustPotts: truncations\[0\] is 0": lambda: pc.RobustPotts([[0]], 1.0, 0.0),
    r"RobustPotts: penalties\[0\] is 1.0; it must be at least 0 and every label cost": (
        lambda: pc.RobustPotts([[0]], 1.0, 1.0, [2.0, 0.0, 0.0])
    ),
    r"RobustPotts: penalties\[0\] is -1": lambda: pc.RobustPotts([[0]], -1.0),
    r"Connectivity: penalties\[0\] is -1": lambda: pc.Connectivity([[0]], LINE, -1.0),
    "Connectivity: edge 0 joins node 1 to itself": lambda: pc.Connectivity([[0]], [[1, 1]], 1.0),
    "Connectivity: edge 0 is .*but the CRF has": lambda: pc.Connectivity([[0]], [[1, 9]], 1.0),
    r"Connectivity: labels\[0\] is 5": lambda: pc.Connectivity([[0]], LINE, 1.0, labels=[5]),
    r"LabelOrder: prices\[0, 1\] is -1": lambda: pc.LabelOrder([[0]], [[0, -1], [0, 0]]),
    "LabelOrder: cap must be one number above 0": lambda: pc.LabelOrder([[0]], np.eye(3), cap=0.0),
    "Pairwise: table must have shape": lambda: pc.Pairwise(LINE, np.zeros(3)),
    "Pairwise: table is for 2 labels": lambda: pc.Pairwise(LINE, np.zeros((2, 2))),
    r"Pairwise: weights\[1\] is 0.0 and the table forbids": (
        lambda: pc.Pairwise(LINE, [[0, np.inf], [0, 0]], [1, 0, 1, 1])
    ),
    "Pairwise: edge 1 .* repeats edge 0": lambda: pc.Pairwise([[0, 1], [1, 0]], np.eye(3)),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_input_is_one_sentence(message):
    with pytest.raises(InvalidPotential, match=message):
        pc.CRF(np.zeros((5, 3)), WRONG[message]())


def test_a_shared_table_needs_as_many_labels_at_every_node():
    unary = np.array([[0.0, 0.0], [0.0, np.inf]])
    with pytest.raises(InvalidPotential, match=r"edge 0 .* fewer labels than the table's 2"):
        pc.CRF(unary, pc.Pairwise([[0, 1]], np.eye(2)), cardinalities=[2, 1])


def test_every_class_names_its_term():
    names = {potential.term for potential in POTENTIALS}
    assert {"label_cost", "counts", "co_occurrence", "robust_potts", "order"} <= names
    crf = pc.CRF(np.zeros((5, 3)), pc.LabelCost([range(5)], 1.0), pc.Pairwise(LINE, 1 - np.eye(3)))
    terms = crf.terms([0, 0, 1, 1, 1])
    assert terms["label_cost"] == 2.0
    assert terms["pairwise"] == 1.0
    assert "order" not in terms
