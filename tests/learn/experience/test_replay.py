from typing import NamedTuple

import numpy as np
import pytest

from policrf.errors import InvalidOption
from policrf.learn.experience.replay import Replay, Steps, returns, states_before


class Number(NamedTuple):
    number: np.ndarray


BLANK = Number(np.zeros(1, np.float32))


def steps(labels, instance=0, n_nodes=4):
    count = len(labels)
    return Steps(
        instances=np.full(count, instance),
        nodes=np.arange(count) % n_nodes,
        labels=np.asarray(labels),
        states=np.full((count, n_nodes), -1, np.int16),
        actions=np.zeros((count, 0, 2), np.int32),
        kept=Number(np.arange(count, dtype=np.float32)),
    )


def test_batches_are_even_over_chunks_and_classes():
    replay = Replay(8000, 4, 4, blank=BLANK)
    replay.add(steps([0] * 900 + [1] * 20 + [2] * 3), np.zeros(923, bool))
    replay.add(steps([1, 3]), np.ones(2, bool))
    drawn = replay.sample(6000, np.random.default_rng(0))
    counts = np.bincount(drawn.labels, minlength=4) / 6000
    # Chunk 1 holds classes 0, 1, 2 (a sixth each); chunk 2 classes 1 and 3 (a quarter each).
    np.testing.assert_allclose(counts, [1 / 6, 1 / 6 + 1 / 4, 1 / 6, 1 / 4], atol=0.03)


def test_each_cell_is_a_ring_of_its_own_and_memory_is_bounded():
    replay = Replay(80, 4, 4, blank=BLANK)  # rings of 10
    size = replay.nbytes
    replay.add(steps([2]), np.zeros(1, bool))
    for k in range(30):
        replay.add(steps([0] * 7, instance=k), np.zeros(7, bool))
    assert len(replay) == 11
    assert replay.nbytes == size
    drawn = replay.sample(400, np.random.default_rng(1))
    assert (drawn.labels == 2).any()
    assert set(drawn.instances[drawn.labels == 0]) == {28, 29}


def test_more_steps_at_once_than_a_ring_holds_keeps_the_last():
    replay = Replay(16, 4, 4, blank=BLANK)  # rings of 2
    replay.add(steps([1, 1, 1, 1, 1]), np.zeros(5, bool))
    drawn = replay.sample(100, np.random.default_rng(0))
    assert set(drawn.kept.number) == {3.0, 4.0}


def test_state_and_restore_give_the_same_draws():
    replay, other = Replay(200, 4, 4, blank=BLANK), Replay(200, 4, 4, blank=BLANK)
    rng = np.random.default_rng(2)
    for _ in range(9):
        replay.add(steps(rng.integers(4, size=11)), rng.random(11) < 0.5)
    other.restore(replay.state())
    one = replay.sample(50, np.random.default_rng(3))
    two = other.sample(50, np.random.default_rng(3))
    for a, b in zip([*one[:-1], *one.kept], [*two[:-1], *two.kept], strict=True):
        np.testing.assert_array_equal(a, b)
    replay.add(steps([1, 2]), np.zeros(2, bool))
    other.add(steps([1, 2]), np.zeros(2, bool))
    np.testing.assert_array_equal(replay.heads, other.heads)


def test_mistakes_are_named():
    with pytest.raises(InvalidOption, match="at least 8"):
        Replay(7, 4, 4, blank=BLANK)
    with pytest.raises(InvalidOption, match="empty"):
        Replay(8, 4, 4, blank=BLANK).sample(1, np.random.default_rng(0))


def test_states_before_and_returns():
    nodes, labels = np.array([2, 0, 1]), np.array([5, 3, 4])
    states = states_before(nodes, labels, np.array([0, 1, 2]), 3)
    assert states.tolist() == [[-1, -1, -1], [-1, -1, 5], [3, -1, 5]]
    np.testing.assert_allclose(returns(np.array([1.0, 2.0, 4.0]), 0.5), [3.0, 4.0, 4.0])


def test_balance_and_share():
    replay = Replay(8000, 4, 4, blank=BLANK)
    replay.add(
        steps([0] * 900 + [1] * 60 + [2] * 40), np.r_[np.zeros(960, bool), np.ones(40, bool)]
    )
    natural = replay.sample(4000, np.random.default_rng(0), balance=0.0)
    np.testing.assert_allclose(
        np.bincount(natural.labels, minlength=4) / 4000, [0.9, 0.06, 0.04, 0.0], atol=0.02
    )
    skewed = replay.sample(4000, np.random.default_rng(0), share=0.8)
    np.testing.assert_allclose(
        np.bincount(skewed.labels, minlength=4) / 4000, [0.1, 0.1, 0.8, 0.0], atol=0.03
    )
