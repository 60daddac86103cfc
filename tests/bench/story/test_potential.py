"""The demo's potentials, and what its training says."""

import numpy as np
import pytest

from policrf.bench.story import potential
from policrf.bench.story.potential import POTENTIALS, make, show_potential


def test_the_potentials_say_what_their_names_say():
    third, even, two = POTENTIALS.values()
    size = np.array([36.0])
    assert third.py_func(np.array([0, 12, 24, 36]), size) == 6.0  # 24 is twelve off, cut at 6
    assert third.py_func(np.array([1, 11, 0]), size) == 2.0
    assert even.py_func(np.array([2, 3, 5]), size) == 3.0
    assert two.py_func(np.array([1, 1, 1, 1]), size) == 12.0


def test_instances_depend_on_the_seed_alone():
    one, two, other = (make(next(iter(POTENTIALS.values())), seed) for seed in (1, 1, 2))
    labels = np.zeros(144, int)
    assert one.energy(labels) == two.energy(labels) != other.energy(labels)


@pytest.mark.slow
def test_the_part_says_what_was_chosen_and_whether_training_won(monkeypatch):
    monkeypatch.setattr(potential, "INSTANCES", 30)
    outcome = show_potential(1.0, 0)
    assert outcome.function is POTENTIALS[outcome.wants]
    assert outcome.said[-1].startswith("training won" if outcome.won else "training did not win")
    assert {"untrained", "untrained + refine", "refine"} <= {row[0] for row in outcome.table.rows}
