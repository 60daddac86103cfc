"""Learned choice of clique moves: the same for a seed, better than chance, none from nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import policrf as pc
from policrf.learn import move_weights
from policrf.learn.move_weights import CHOICES, with_learned_choice
from policrf.scenes import make_family
from policrf.solvers.numbers import DEFAULT, KNOWN, Numbers

BUDGET = 1e-5
CRFS = [make_family("absent_or_many", 144, seed=seed) for seed in range(6)]


@pytest.fixture(scope="module")
def learned():
    return with_learned_choice(CRFS, BUDGET)


def test_the_same_seed_learns_the_same(learned):
    assert with_learned_choice(CRFS, BUDGET) == learned
    assert with_learned_choice(CRFS, BUDGET, seed=1) != learned


def test_only_the_choice_is_learned(learned):
    numbers = Numbers(move_temperature=0.2)
    found = with_learned_choice(CRFS, BUDGET, numbers)
    same = {"choices": DEFAULT.choices, "move_weights": DEFAULT.move_weights}
    assert replace(found, **same) == numbers
    assert learned.choices == CHOICES
    assert max(map(abs, learned.move_weights)) == pytest.approx(1.0)


def test_moves_of_a_low_score_bring_more(learned):
    """On another instance, at random: the better half by score has most of what moves gain."""
    crf = make_family("absent_or_many", 144, seed=9)
    rows = np.array(list(move_weights._search(crf, 1e-4, DEFAULT, 3)))
    scores = rows[:, : len(KNOWN)] @ np.array(learned.move_weights)
    gains = rows[np.argsort(scores), -2]
    assert gains[: len(gains) // 2].sum() > 3 * gains[len(gains) // 2 :].sum()


@pytest.mark.parametrize("crfs", [[], CRFS[:1], [pc.CRF(np.eye(4))] * 3])
def test_too_little_to_learn_from_leaves_the_numbers(crfs, monkeypatch):
    monkeypatch.setattr(move_weights, "SAMPLES", 50)
    assert with_learned_choice(crfs, BUDGET) == DEFAULT


def test_time_that_is_out_ends_the_samples():
    assert with_learned_choice(CRFS, BUDGET, seconds=0.0) == DEFAULT
