import numpy as np
import pytest

from policrf.metrics import class_iou, pixel_confusion
from policrf.vision.calibration.choice import Scored, assign_folds, choose, choose_confirmed, surest
from policrf.vision.calibration.scores import (
    Counts,
    errors,
    frequent_classes,
    label_counts,
    scores,
    scores_without,
)
from policrf.vision.calibration.stages import net_alone
from policrf.vision.energy.weights import Energy

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


def test_a_sure_gain_goes_before_a_larger_one_that_varies():
    rng = np.random.default_rng(0)
    base, noise = rng.integers(40, 60, 40), rng.integers(-25, 26, 40)
    weak, strong = NET.replace(alpha=0.1), NET.replace(alpha=0.4)
    table = scored([NET, weak, strong], [base, base + 10, base + 12 + noise - int(noise.mean())])
    values = scores(table.counts)
    assert values[2] > values[1] > values[0]
    assert surest(table, [0, 1, 2]) == 1
    assert choose(table) == 1
    assert surest(table, [0, 2]) == 2


def test_the_net_stays_where_no_gain_is_sure():
    rng = np.random.default_rng(0)
    base, noise = rng.integers(40, 60, 40), rng.integers(-20, 21, 40)
    table = scored([NET, NET.replace(alpha=0.1)], [base, base + 1 + noise - int(noise.mean())])
    assert scores(table.counts)[1] > scores(table.counts)[0]
    assert surest(table, [0, 1]) == choose(table) == 0
    one = scored([NET, NET.replace(alpha=0.1)], [[50], [60]])
    assert surest(one, [0, 1]) == 0  # of one image no error can be had


def test_a_further_term_must_help_on_other_images():
    rng = np.random.default_rng(0)
    base = rng.integers(40, 60, 40)
    noise = rng.integers(-4, 5, 40)
    plain, agree = NET.replace(alpha=0.4), NET.replace(alpha=0.4, w=0.2)
    helps = scored([NET, plain, agree], [base, base + 20, base + 23])
    assert choose(helps) == 2
    level = noise - round(noise.mean())
    doubtful = scored([NET, plain, agree], [base, base + 20 + level, base + 20])
    assert surest(doubtful, [0, 1, 2]) == 2
    assert choose(doubtful) == 1


def test_luck_among_many_settings_is_seldom_a_choice():
    """The best of 200 settings of pure noise looks sure on the images it is the best of."""
    confirmed, chosen, looks = 0, 0, 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        base = rng.integers(40, 60, 60)
        noise = [base + rng.integers(-8, 9, 60) for _ in range(200)]
        energies = [NET, *(NET.replace(alpha=0.01 * (k + 1)) for k in range(200))]
        table = scored(energies, [base, *noise])
        looks += surest(table, list(range(201))) != 0
        chosen += choose(table) != 0
        confirmed += choose_confirmed(table) != 0
    assert looks >= 10
    assert chosen <= looks // 2
    assert confirmed <= 1


def test_a_gain_on_most_folds_is_confirmed():
    rng = np.random.default_rng(0)
    base = rng.integers(40, 60, 60)
    table = scored([NET, NET.replace(alpha=0.1)], [base, base + rng.integers(0, 9, 60)])
    assert choose_confirmed(table) == choose(table) == 1


def test_frequent_classes_by_images():
    truth = np.zeros((12, 3), np.int64)
    truth[:, 0], truth[:10, 1], truth[:9, 2] = 5, 1, 700
    assert frequent_classes(truth, 10).tolist() == [True, True, False]
