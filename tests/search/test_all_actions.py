"""A tree without a limit on candidates holds every action of a state, whatever their number."""

import numpy as np
import pytest

import policrf as pc
from policrf.policy.policy import Policy
from policrf.search.candidates import SORTED
from policrf.search.search import SearchOptions, TreeSearch


@pytest.mark.parametrize("encourage", [True, False])
def test_every_action_is_at_the_root_with_its_prior(encourage):
    scene = pc.make_scene(20, "A", seed=2)
    policy = Policy.untrained(n_labels=21, n_features=85, width=8, seed=1)
    options = SearchOptions(
        candidates=0, encourage=encourage, temperature=1.0, exploration=1.0, borrow=0,
        stop_early=False, reward="difference", scaled=False, simulations=5,
    )  # fmt: skip
    search = TreeSearch(policy, scene, options)
    scores = search.engine.all_scores()
    search.simulate(5)
    tree, count = search.tree, int(search.tree.n_actions[0])
    assert count == np.isfinite(scores).sum() > SORTED
    actions = tree.action[0, :count]
    assert len({tuple(action) for action in actions.tolist()}) == count
    found = scores[actions[:, 0], actions[:, 1]]
    np.testing.assert_allclose(tree.score[0, :count], found, atol=1e-5)
    prior = np.exp(found - found.max())
    np.testing.assert_allclose(tree.prior[0, :count], prior / prior.sum(), rtol=1e-4)
    bests = [found[actions[:, 0] == node].max() for node in dict.fromkeys(actions[:, 0].tolist())]
    assert bests == sorted(bests, reverse=True)
    assert tree.taken[0, :count].sum() == 5
