"""Belief propagation: exact on forests, close to the optimum on loops, takes every potential."""

import numpy as np
import pytest

import policrf as pc
from policrf.errors import InvalidOption
from policrf.testing import random_crf, reference_minimum


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("forbidden", [0.0, 0.2])
def test_exact_on_trees(seed, forbidden):
    crf = random_crf(
        seed, n_nodes=7, n_labels=3, groups=("potts",), tree=True, forbidden=forbidden, ragged=True
    )
    solution = pc.solve(crf, "belief_propagation")
    assert solution.energy == pytest.approx(reference_minimum(crf))
    assert solution.optimal
    assert solution.lower_bound == pytest.approx(solution.energy)


def test_a_long_chain_with_forbidden_steps():
    """A path through a table that allows only y, y + 1: dynamic programming in plain numpy."""
    rng = np.random.default_rng(1)
    n, n_labels = 300, 5
    unary = rng.normal(size=(n, n_labels))
    step = np.full((n_labels, n_labels), np.inf)
    for y in range(n_labels):
        step[y, y] = step[y, (y + 1) % n_labels] = 0.0
    order = rng.permutation(n)
    crf = pc.CRF(
        unary, pc.Tables(np.stack([order[:-1], order[1:]], axis=1), np.tile(step, (n - 1, 1, 1)))
    )
    costs = unary[order[0]]
    for node in order[1:]:
        costs = (costs[:, None] + step).min(axis=0) + unary[node]
    solution = pc.solve(crf, "belief_propagation")
    assert solution.energy == pytest.approx(costs.min())
    assert solution.optimal


def test_every_group_of_small_loopy_crfs():
    found = []
    for seed in range(40):
        crf = random_crf(seed, n_nodes=5, forbidden=0.1 * (seed % 2), ragged=seed % 3 == 0)
        solution = pc.solve(crf, "belief_propagation")
        lowest = reference_minimum(crf)
        assert solution.energy >= lowest - 1e-9
        assert solution.lower_bound <= lowest + 1e-9
        found.append(solution.energy <= lowest + 1e-9)
    assert np.mean(found) >= 0.95


@pytest.mark.parametrize("regime", ["A", "B"])
@pytest.mark.parametrize(
    ("potentials", "gap"), [("u+p", 0.005), ("u+p+hop1", 0.005), ("u+p+hop1+hop2", 0.02)]
)
def test_scenes(regime, potentials, gap):
    crf = pc.make_scene(300, regime, seed=3, potentials=potentials).crf
    solution = pc.solve(crf, "belief_propagation")
    bound = pc.solve(crf, "tree_reweighted").lower_bound
    assert solution.energy <= bound + gap * abs(bound)


def test_plain_belief_propagation_is_an_option():
    crf = pc.make_scene(200, "B", seed=1, potentials="u+p").crf
    plain = pc.solve(crf, "belief_propagation", fraction=1.0, damping=0.5)
    warmed = pc.solve(crf, "belief_propagation")
    assert plain.info["converged"]
    assert warmed.energy <= plain.energy + 1e-9
    assert plain.energy < pc.solve(crf, "unary").energy


def test_answers_scale_with_the_energies():
    crf = random_crf(11, n_nodes=8, groups=("potts", "hop1", "hop2"))
    for scale in (1e9, 1e-9):
        scaled = random_crf(11, n_nodes=8, groups=("potts", "hop1", "hop2"), scale=scale)
        here, there = (pc.solve(c, "belief_propagation") for c in (crf, scaled))
        assert here.labels.tolist() == there.labels.tolist()
        assert there.energy == pytest.approx(here.energy * scale)


@pytest.mark.parametrize(
    ("option", "value"), [("damping", 1.0), ("fraction", 0.0), ("decode_every", 0)]
)
def test_options_out_of_range(option, value):
    with pytest.raises(InvalidOption, match=option):
        pc.solve(pc.CRF([[0.0, 1.0]]), "belief_propagation", **{option: value})
