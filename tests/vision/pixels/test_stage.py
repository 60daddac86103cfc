"""What the stage may change and what not."""

import math

import numpy as np
import pytest
from tests.vision.builders import recipe, scene

from policrf.errors import InvalidOption
from policrf.vision.energy.weights import Energy
from policrf.vision.pipeline import Pipeline
from policrf.vision.pixels.around import Widths, look_around
from policrf.vision.pixels.distance import near_boundary
from policrf.vision.pixels.grid import Contrast, grid_of
from policrf.vision.pixels.options import PixelStage
from policrf.vision.pixels.stage import around, pixel_problem, refined_labels, stage_of

STAGE = PixelStage(width=4, reach=20)


@pytest.fixture(scope="module", params=[0, 1, 2])
def view(request):
    rendered = scene(request.param, preset="C")
    return Pipeline(recipe()).view(rendered.image, scores=rendered.scores)


def solution(view):
    """Labels of superpixels: the net's, with some changed by chance."""
    labels = view.record.distribution.argmax(axis=1)
    rng = np.random.default_rng(0)
    changed = rng.random(len(labels)) < 0.1
    return np.where(changed, rng.permutation(labels), labels)


def test_pixels_away_from_boundaries_keep_their_label(view):
    labels = solution(view)
    coarse = labels[view.segments].astype(np.int32)
    fine = refined_labels(view, labels, STAGE)
    near = near_boundary(coarse, STAGE.width)
    np.testing.assert_array_equal(fine[~near], coarse[~near])
    assert (fine != coarse).any()
    assert near.any()
    assert not near.all()


def test_only_labels_of_the_solution_occur(view):
    labels = solution(view)
    labels[labels == labels.max()] = labels.min()
    assert set(np.unique(refined_labels(view, labels, STAGE))) <= set(labels.tolist())


def test_without_terms_a_pixel_gets_the_best_score_among_the_labels_present(view):
    labels = solution(view)
    plain = PixelStage(width=4, votes=0, ratio=0, grid=0)
    fine = refined_labels(view, labels, plain)
    present = np.unique(labels)
    free = near_boundary(labels[view.segments].astype(np.int32), plain.width)
    best = present[view.distribution[present].argmax(axis=0)]
    np.testing.assert_array_equal(fine[free], best[free])


def test_one_label_comes_back_as_it_is(view):
    labels = np.full(view.record.n_nodes, 2)
    assert (refined_labels(view, labels, STAGE) == 2).all()
    assert pixel_problem(view, labels, STAGE) is None


def test_no_width_changes_nothing(view):
    labels = solution(view)
    fine = refined_labels(view, labels, PixelStage(width=0))
    np.testing.assert_array_equal(fine, labels[view.segments])


def test_the_energy_is_the_sum_of_its_parts(view):
    labels = solution(view)
    problem = pixel_problem(view, labels, STAGE)
    assert problem is not None
    index = np.searchsorted(problem.present, labels).astype(np.int32)
    number = np.full(problem.free.shape, -1, np.int32)
    number[problem.free] = np.arange(problem.free.sum())
    widths = Widths(STAGE.reach, STAGE.sharp, STAGE.floor)
    n_labels = len(problem.present)
    votes, ratio = look_around(number, view.lab, around(view, index), widths, n_labels)
    cost = Contrast(STAGE.grid, STAGE.contrast)
    grid = grid_of(number, view.lab, index[view.segments], n_labels, cost)
    chosen = np.random.default_rng(1).integers(0, n_labels, len(votes))
    rows = np.arange(len(votes))
    scores = np.log(view.distribution[problem.present][:, problem.free].T[rows, chosen])
    expected = -scores.sum() - 2 * votes[rows, chosen].sum() - ratio[rows, chosen].sum()
    expected += grid.paid[rows, chosen].sum()
    expected += grid.weights[chosen[grid.pairs[:, 0]] != chosen[grid.pairs[:, 1]]].sum()
    assert problem.crf.energy(chosen) == pytest.approx(expected, rel=1e-5)


def test_superpixels_lie_where_their_pixels_do(view):
    found = around(view, np.zeros(view.record.n_nodes, np.int32))
    rows, columns = np.nonzero(view.segments == 5)
    expected = [rows.mean() + 0.5, columns.mean() + 0.5]
    np.testing.assert_allclose(found.position[5], expected, rtol=1e-4)
    assert found.size[5] == len(rows)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("width", -1), ("votes", -0.1), ("ratio", math.nan), ("reach", 0), ("sharp", 0),
        ("floor", 0), ("grid", math.inf), ("contrast", -5), ("grid", "much"), ("votes", True),
    ],
)  # fmt: skip
def test_wrong_values_are_named(name, value):
    with pytest.raises(InvalidOption, match=f"pixels: {name} is"):
        PixelStage(**{name: value})


def test_the_strength_weighs_all_but_the_scores():
    half = STAGE.scaled(0.5)
    assert (half.votes, half.ratio, half.grid) == (1.0, 0.5, 5.0)
    assert (half.width, half.reach, half.contrast) == (STAGE.width, STAGE.reach, STAGE.contrast)


@pytest.mark.parametrize(
    ("changes", "potentials", "solver", "strength"),
    [
        ({}, "u+p", "icm", 1.0),
        ({"pixels": 0.5}, "u+p+hop1", "alpha_expansion", 0.5),
        ({"alpha": 0}, "u+p", "icm", 1.0),
        ({"pixels": 0}, "u+p", "icm", None),
        ({"alpha": 0, "long_range": 0}, "u+p", "icm", None),
        ({}, "u+hop1", "icm", None),
        ({}, "u+p", "unary", None),
    ],
)
def test_the_stage_follows_energies_with_edges(changes, potentials, solver, strength):
    expected = None if strength is None else PixelStage().scaled(strength)
    assert stage_of(Energy(**changes), potentials, solver) == expected
