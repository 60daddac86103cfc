"""Damaged boxes: the same for every row, more of them with a larger share, and still a record."""

import numpy as np
import pytest
from tests.vision.builders import record

from policrf.bench.reproduce.damage import damaged
from policrf.vision.energy.build import to_instance
from policrf.vision.energy.weights import Energy


@pytest.fixture(scope="module")
def whole():
    found = next(r for r in map(record, range(20)) if len(r.box_scores) >= 3)
    assert (found.box_labels > 0).all()
    return found


def test_mislabeled_boxes_have_another_label_and_nothing_else_changes(whole):
    hit = damaged(whole, {"mislabeled": 1.0})
    assert (hit.box_labels != whole.box_labels).all()
    assert ((hit.box_labels > 0) & (hit.box_labels < whole.n_labels)).all()
    np.testing.assert_array_equal(hit.box_nodes, whole.box_nodes)
    asked = whole.box_support >= 0
    np.testing.assert_array_equal(hit.box_support[asked], hit.box_labels[asked])


def test_dropped_boxes_take_their_nodes_along(whole):
    assert len(damaged(whole, {"dropped": 1.0}).box_scores) == 0
    half = damaged(whole, {"dropped": 0.5})
    kept = [whole.box_scores.tolist().index(score) for score in half.box_scores]
    for k, b in enumerate(kept):
        here = half.box_nodes[half.box_ptr[k] : half.box_ptr[k + 1]]
        there = whole.box_nodes[whole.box_ptr[b] : whole.box_ptr[b + 1]]
        np.testing.assert_array_equal(here, there)


def test_added_boxes_stand_beside_the_others(whole):
    more = damaged(whole, {"added": 1.0})
    assert len(more.box_scores) > len(whole.box_scores)
    np.testing.assert_array_equal(more.box_labels[: len(whole.box_labels)], whole.box_labels)
    assert more.box_ptr[-1] == len(more.box_nodes) == len(more.box_shares)


@pytest.mark.parametrize("kind", ["mislabeled", "dropped", "added"])
def test_damage_is_the_same_every_time_and_gives_an_instance(whole, kind):
    one, other = (damaged(whole, {kind: 0.6}) for _ in range(2))
    np.testing.assert_array_equal(one.box_labels, other.box_labels)
    instance = to_instance(one, Energy())
    assert np.isfinite(instance.features).all()
    assert np.isfinite(instance.crf.energy(instance.crf.unary.argmin(axis=1)))


def test_a_larger_share_hits_what_a_smaller_one_did(whole):
    few = damaged(whole, {"mislabeled": 0.3}).box_labels != whole.box_labels
    many = damaged(whole, {"mislabeled": 0.7}).box_labels != whole.box_labels
    assert (many | ~few).all()
