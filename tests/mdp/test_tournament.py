"""The tournament tree against numpy.argmax."""

from __future__ import annotations

import numpy as np
import pytest

from policrf.mdp.tournament import champion, new_tournament, rebuild, update


@pytest.mark.parametrize("n_leaves", [1, 2, 3, 8, 13, 100])
def test_the_champion_is_the_argmax_after_every_change(n_leaves: int) -> None:
    rng = np.random.default_rng(n_leaves)
    tree = new_tournament(n_leaves)
    for _ in range(300):
        # Few distinct values: ties are common, and the lowest leaf must win them.
        update(tree, int(rng.integers(n_leaves)), float(rng.choice([-np.inf, 0.0, 1.0, 2.0])))
        assert champion(tree) == int(np.argmax(tree.values))


def test_rebuilding_gives_the_tree_of_single_changes() -> None:
    rng = np.random.default_rng(0)
    one, other = new_tournament(37), new_tournament(37)
    for leaf, value in enumerate(rng.integers(0, 5, 37)):
        update(one, leaf, float(value))
    other.values[:] = one.values
    rebuild(other)
    assert other.winners.tolist() == one.winners.tolist()
