"""The IoU of a set, and the paired test on it."""

from __future__ import annotations

import numpy as np
import pytest

from policrf.learn.label_score import fewer_misses, set_iou
from policrf.metrics import mean_iou


def drawn(generator: np.random.Generator, right: float, count: int, size: int = 4) -> list:
    """Confusions of images on which about this share of the pixels is right."""
    found = []
    for _ in range(count):
        true = generator.integers(20, 60, size)
        share = np.clip(generator.normal(right, 0.1, size), 0, 1)
        hits = np.round(share * true).astype(np.int64)
        matrix = np.diag(hits)
        matrix[np.arange(size), (np.arange(size) + 1) % size] += true - hits
        found.append(matrix)
    return found


def test_the_iou_is_that_of_all_pixels_over_the_frequent_classes() -> None:
    some = drawn(np.random.default_rng(0), 0.7, 12)
    assert set_iou(some) == pytest.approx(100 * mean_iou(np.sum(some, axis=0)))
    rare = [matrix.copy() for matrix in some]
    for matrix in rare[:3]:  # the last class is on nine images only
        matrix[3] = 0
    classes = np.array([True, True, True, False])
    assert set_iou(rare) == pytest.approx(100 * mean_iou(np.sum(rare, axis=0), classes))
    few = some[:5]  # no class is on ten
    assert set_iou(few) == pytest.approx(100 * mean_iou(np.sum(few, axis=0)))


def test_sets_with_other_labels_are_averaged() -> None:
    generator = np.random.default_rng(1)
    small, large = drawn(generator, 0.5, 15, 3), drawn(generator, 0.8, 11, 6)
    mixed = [one for pair in zip(small, large, strict=False) for one in pair] + small[11:]
    assert set_iou(mixed) == pytest.approx((set_iou(small) + set_iou(large)) / 2)
    better = [matrix + 5 * np.eye(len(matrix), dtype=np.int64) for matrix in mixed]
    found = fewer_misses(better, mixed)
    assert found.mean == pytest.approx(set_iou(mixed) - set_iou(better), abs=0.05)
    assert found.wins
    assert fewer_misses(mixed, better).loses


def test_one_in_twenty_wins_by_chance() -> None:
    """Two ways that are equally good: the jackknife's test keeps its level, about."""
    generator = np.random.default_rng(2)
    wins = sum(
        fewer_misses(drawn(generator, 0.7, 30), drawn(generator, 0.7, 30)).wins for _ in range(400)
    )
    assert 5 <= wins <= 35


def test_the_interval_is_that_of_the_bootstrap() -> None:
    generator = np.random.default_rng(3)
    ours, theirs = np.array(drawn(generator, 0.75, 60)), np.array(drawn(generator, 0.7, 60))
    found = fewer_misses(list(ours), list(theirs))
    draws = generator.integers(60, size=(400, 60))
    spread = np.std([set_iou(list(theirs[k])) - set_iou(list(ours[k])) for k in draws])
    assert found.half == pytest.approx(2 * spread, rel=0.2)
