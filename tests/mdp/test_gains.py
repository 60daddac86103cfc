"""Gains of cliques asked half-way: the formula, and kept step by step to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from tests.policy.builders import halfway_crf

import policrf as pc
from policrf.crf.arrays import PARTIAL
from policrf.crf.potentials import COMPLETE
from policrf.mdp.gains import find_gains, gains_change, new_gains, open_eighths


def by_formula(crf: pc.CRF, c: int, labels: np.ndarray) -> np.ndarray:
    """gain_c(l) of every label, straight from the definition."""
    a = crf.arrays
    members = a.clique_nodes[a.clique_ptr[c] : a.clique_ptr[c + 1]]
    given = labels[members]
    present = np.unique(given[given >= 0])
    unary = crf.unary[members]
    if len(present):
        reference = unary[:, present].min(axis=1)
    else:
        reference = np.nanmean(np.where(np.isinf(unary), np.nan, unary), axis=1)
    with np.errstate(invalid="ignore"):
        wanted = np.maximum(0.0, reference[:, None] - unary)
    wanted[np.isinf(reference)] = 0.0
    part = SHARE[int((given < 0).sum()), len(members)]
    return np.asarray(part * wanted.sum(axis=0))


SHARE = {
    (unlabeled, size): np.floor(8 * unlabeled / size) / 8
    for size in (7, 12, 20)
    for unlabeled in range(size + 1)
}


@pytest.mark.parametrize("size", [7, 12, 20])
def test_gains_follow_their_formula_while_labels_come_and_go(size: int) -> None:
    crf = halfway_crf(size, n_nodes=20, size=size)
    unary = crf.unary.copy()
    unary[3, 1] = unary[5, [0, 2]] = np.inf
    crf = pc.CRF(unary, *crf.potentials)
    a = crf.arrays
    kept, fresh = new_gains(a, 0.5), new_gains(a, 0.5)
    labels = np.full(20, -1, np.int64)
    find_gains(a, kept, labels)
    rng = np.random.default_rng(0)
    changes = 0
    for _ in range(120):
        i = int(rng.integers(20))
        by = 1 if labels[i] < 0 else -1
        label = int(rng.integers(4)) if by == 1 else int(labels[i])
        labels[i] = label if by == 1 else -1
        for c in a.node_clique[a.node_ptr[i] : a.node_ptr[i + 1]]:
            before = kept.values[c].copy()
            members = a.clique_nodes[a.clique_ptr[c] : a.clique_ptr[c + 1]]
            changed = gains_change(a, kept, c, label, by, int((labels[members] >= 0).sum()))
            assert changed or np.array_equal(kept.values[c], before)
            changes += changed
        find_gains(a, fresh, labels)
        assert np.array_equal(kept.values, fresh.values)
        for c in range(len(a.clique_kind)):
            np.testing.assert_allclose(kept.values[c], 0.5 * by_formula(crf, c, labels), atol=1e-12)
    assert changes


def test_there_is_nothing_to_keep_where_nothing_is_asked_half_way() -> None:
    scene = pc.make_scene(30, "B", seed=0).crf
    assert (scene.arrays.custom[:, PARTIAL] == COMPLETE).all()
    assert new_gains(scene.arrays, 0.5).values.shape == (0, 21)
    assert new_gains(halfway_crf(0).arrays, 0.0).values.shape == (0, 4)


def test_eighths_of_a_clique() -> None:
    assert [open_eighths(16, labeled) for labeled in (0, 1, 2, 15, 16)] == [8, 7, 7, 0, 0]
    assert [open_eighths(3, labeled) for labeled in range(4)] == [8, 5, 2, 0]
