import numpy as np
import pytest

from policrf.metrics import class_iou, pixel_confusion
from policrf.vision.calibration.choice import Scored, assign_folds, choose, simplest
from policrf.vision.calibration.scores import (
    Counts,
    errors,
    frequent_classes,
    label_counts,
    scores,
    scores_without,
)
from policrf.vision.calibration.stages import net_alone
from policrf.vision.energy_weights import Energy

NET = net_alone(Energy())


def counts(right):
    """Two classes of 100 pixels an image; `right` [S, n] of each have their label."""
    right = np.asarray(right, np.int64)
    hits = np.stack([right, right], axis=-1)
    truth = np.full((right.shape[1], 2), 100)
    return Counts(hits, hits + (100 - hits[..., ::-1]), truth)


def scored(energies, right):
    return Scored(energies, counts(right), assign_folds(np.shape(right)[1], 5))


def test_scores_agree_with_confusions():
    rng = np.random.default_rng(0)
    truths = rng.integers(0, 50, (4, 9, 3))
    labels = rng.integers(0, 3, (4, 9))
    made = np.stack([label_counts(t, y) for t, y in zip(truths, labels, strict=True)])
    table = Counts(made[None, :, 0], made[None, :, 1], truths.sum(axis=1))
    total = sum(pixel_confusion(t, y) for t, y in zip(truths, labels, strict=True))
    assert scores(table)[0] == pytest.approx(class_iou(total).mean())
    for left in range(4):
        rest = [k for k in range(4) if k != left]
        assert scores_without(table)[0, left] == pytest.approx(scores(table.on(rest))[0])


def test_the_error_of_a_pair_is_the_one_of_a_mean():
    """With equal images IoU is nearly a mean, so the jackknife is nearly σ / √n."""
    noise = np.random.default_rng(1).integers(-3, 4, 50)
    base = np.random.default_rng(2).integers(40, 80, 50)
    without = scores_without(counts([base, base + noise]))
    found = errors(without, without[0])[1]
    iou = scores(counts([np.full(50, 60), np.full(50, 61)]))
    expected = noise.std(ddof=1) / np.sqrt(50) * (iou[1] - iou[0])
    assert found == pytest.approx(expected, rel=0.25)
    assert errors(without)[1] > 3 * found  # what both share cancels


def test_within_one_error_the_fewest_terms_then_the_smallest_weights_win():
    rng = np.random.default_rng(0)
    base = rng.integers(40, 60, 40)
    noise = rng.integers(-5, 6, 40)
    weak, strong = NET.replace(alpha=0.1), NET.replace(alpha=0.4)
    agree = strong.replace(w=0.2)
    table = scored([NET, weak, strong, agree], [base, base + 20, base + 20 + noise, base + 21])
    assert choose(table) == 3
    near = scored([NET, weak, strong, agree], [base, base + 20 - noise, base + 20, base + 20])
    assert simplest(near, [0, 1, 2, 3]) == 1
    assert choose(near) == 1


def test_luck_among_many_settings_is_not_a_choice():
    """The best of 200 settings of pure noise is above the net by more than one error."""
    rng = np.random.default_rng(5)
    base = rng.integers(40, 60, 60)
    noise = [base + rng.integers(-8, 9, 60) for _ in range(200)]
    energies = [NET, *(NET.replace(alpha=0.01 * (k + 1)) for k in range(200))]
    table = scored(energies, [base, *noise])
    assert simplest(table, list(range(201))) != 0
    assert choose(table) == 0


def test_frequent_classes_by_images():
    truth = np.zeros((12, 3), np.int64)
    truth[:, 0], truth[:10, 1], truth[:9, 2] = 5, 1, 700
    assert frequent_classes(truth, 10).tolist() == [True, True, False]
