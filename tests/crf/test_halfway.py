"""Custom potentials asked half-way: energies of a part, incremental costs, files, mistakes."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import policrf as pc
from policrf.crf.changes import load_labels, relabel_change
from policrf.crf.state import new_state
from policrf.errors import InvalidFile, InvalidPotential
from policrf.mdp.state import Episode
from policrf.testing import check_potential, random_crf
from policrf.testing.reference import reference_energy, reference_minimum

CLIQUES = [[0, 1, 2, 3], [3, 4, 5]]


@numba.njit
def few_labels(labels, parameters):
    """parameters[0] for every label beyond the second."""
    found = 0
    for k in range(len(labels)):
        new = True
        for m in range(k):
            new &= labels[m] != labels[k]
        found += new
    return parameters[0] * max(0, found - 2)


@numba.njit
def few_of_counts(counts, parameters):
    """The same from the counts."""
    found = 0
    for count in counts:
        found += count > 0
    return parameters[0] * max(0, found - 2)


def ordered(labels, parameters):
    """How often a label is above the one after it: the order of the members matters."""
    return float(parameters[0] * np.sum(labels[:-1] > labels[1:]))


def hopeful(labels, parameters):
    """The same for the neighbours that are both labeled; forbids three labels 2."""
    both = (labels[:-1] >= 0) & (labels[1:] >= 0)
    value = parameters[0] * np.sum((labels[:-1] > labels[1:]) & both)
    return np.inf if np.sum(labels == 2) > 2 else float(value)


def strict(labels, parameters):
    return hopeful(labels, parameters)


def groups():
    weights = [[2.0], [3.0]]
    return {
        "complete": pc.Custom(CLIQUES, few_labels, weights),
        "subset": pc.Custom(CLIQUES, few_labels, weights, partial="subset"),
        "counts": pc.Custom(CLIQUES, few_of_counts, weights, of="counts"),
        "ordered": pc.Custom(CLIQUES, ordered, weights, partial="subset"),
        "marked": pc.Custom(CLIQUES, strict, weights, partial=hopeful),
    }


@pytest.mark.parametrize("name", list(groups()))
def test_every_form_passes_the_public_check(name):
    check_potential(groups()[name], n_nodes=7, n_labels=4)


def test_a_part_has_the_energy_of_its_labeled_members():
    unary = np.zeros((6, 4))
    labels = [0, 1, 2, -1, -1, 3]
    for name, expected in (("complete", 0.0), ("subset", 2.0), ("counts", 2.0), ("ordered", 0.0)):
        assert pc.CRF(unary, groups()[name]).partial_energy(labels) == expected
    assert pc.CRF(unary, groups()["marked"]).partial_energy([3, 1, -1, 0, -1, 0]) == 2.0
    assert pc.CRF(unary, groups()["subset"]).partial_energy([-1] * 6) == 0.0


def test_counts_and_labels_say_the_same():
    rng = np.random.default_rng(0)
    unary = rng.random((6, 4))
    first, second = (pc.CRF(unary, groups()[name]) for name in ("subset", "counts"))
    for _ in range(50):
        labels = rng.integers(-1, 4, 6)
        assert first.partial_energy(labels) == pytest.approx(second.partial_energy(labels))
        node = int(rng.integers(6))
        assert first.label_costs(labels, node) == pytest.approx(second.label_costs(labels, node))


@pytest.mark.parametrize("name", list(groups()))
def test_rewards_sum_to_the_energy(name):
    """R1 telescopes to −E(ŷ) whatever the partial form is."""
    rng = np.random.default_rng(3)
    crf = pc.CRF(rng.random((6, 4)), pc.Potts([[0, 1], [2, 5]], 0.5), groups()[name])
    episode = Episode(crf)
    labels = rng.integers(0, 2, 6)
    earned = sum(episode.step(int(i), int(labels[i]))["difference"] for i in rng.permutation(6))
    assert earned == pytest.approx(-reference_energy(crf, labels.tolist()))
    for _ in range(3):
        episode.undo()
    assert episode.energy == pytest.approx(reference_energy(crf, episode.labels.tolist()))


@pytest.mark.parametrize("name", list(groups()))
def test_the_change_of_a_relabel_is_that_of_the_energy(name):
    rng = np.random.default_rng(5)
    tables = random_crf(2, n_nodes=6, groups=("potts", "hop1", "hop2", "tables")).potentials
    tables = [p for p in tables if p.name != "Tables"]
    crf = pc.CRF(rng.random((6, 4)), *tables, groups()[name])
    state = new_state(crf.arrays)
    for _ in range(60):
        labels = rng.integers(0, 4, 6)
        load_labels(crf.arrays, state, labels)
        node, label = int(rng.integers(6)), int(rng.integers(4))
        if label == labels[node]:
            continue
        other = labels.copy()
        other[node] = label
        before, after = crf.energy(labels), crf.energy(other)
        found = change_of(crf.arrays, state, node, label)
        if np.isfinite(before) and np.isfinite(after):
            assert found == pytest.approx(after - before, abs=1e-9)
        elif np.isfinite(before):
            assert found == np.inf
        assert state.labels.tolist() == labels.tolist()


@numba.njit
def change_of(arrays, state, node, label):
    return relabel_change(arrays, state, node, label)


@pytest.mark.parametrize("name", list(groups()))
@pytest.mark.parametrize("solver", ["exact", "brute_force", "belief_propagation", "refine", "icm"])
def test_solvers_take_every_form(name, solver):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        crf = pc.CRF(rng.random((6, 3)), pc.Potts([[0, 1], [1, 2]], 0.3), groups()[name])
        solution = pc.solve(crf, solver)
        least = reference_minimum(crf)
        assert solution.energy == pytest.approx(reference_energy(crf, solution.labels.tolist()))
        assert solution.energy >= least - 1e-9
        if solver in ("exact", "brute_force"):
            assert solution.optimal
            assert solution.energy == pytest.approx(least)


@pytest.mark.parametrize("name", list(groups()))
def test_files_keep_how_it_is_asked(name, tmp_path):
    functions = {f.__name__: f for f in (few_labels, few_of_counts, ordered, hopeful, strict)}
    crf = pc.CRF(np.zeros((6, 4)), groups()[name])
    crf.save(tmp_path / "model.npz")
    again = pc.CRF.load(tmp_path / "model.npz", functions=functions)
    rng = np.random.default_rng(0)
    for _ in range(20):
        labels = rng.integers(-1, 4, 6)
        assert again.partial_energy(labels) == crf.partial_energy(labels)
    with pytest.raises(InvalidFile, match="custom function"):
        pc.CRF.load(tmp_path / "model.npz")


def test_asking_half_way_finds_what_asking_at_the_end_does_not():
    rng = np.random.default_rng(0)
    unary = rng.exponential(size=(36, 6))
    found = {}
    for partial in ("complete", "subset"):
        region = pc.Custom([np.arange(36)], few_labels, [[8.0]], partial=partial)
        crf = pc.CRF(unary, region)
        found[partial] = pc.solve(crf, "highest_confidence_first").energy
        found[f"untrained {partial}"] = pc.solve(crf, "untrained").energy
    assert found["subset"] < 0.9 * found["complete"]
    assert found["untrained subset"] < 0.9 * found["untrained complete"]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"partial": "sometimes"}, "partial must be 'complete', 'subset' or a function"),
        ({"of": "sums"}, "of must be 'labels', 'counts' or a Summary"),
        ({"of": "counts", "partial": hopeful}, "needs no function for a part"),
    ],
)
def test_mistakes_are_named(fields, says):
    with pytest.raises(InvalidPotential, match=says):
        pc.Custom(CLIQUES, few_labels, [[1.0], [1.0]], **fields)
