"""Superpixels that follow a label map: connected, and wrong only inside joined fragments."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from tests.vision.builders import LABELS, recipe, scene
from tests.vision.superpixels.test_adjacency import slow_adjacency

from policrf.vision.energy.build import unary
from policrf.vision.energy.weights import Energy
from policrf.vision.pipeline import Pipeline
from policrf.vision.superpixels.follow import follow_labels, fragment_size
from policrf.vision.superpixels.pieces import Pieces, join_small
from policrf.vision.superpixels.regions import find_regions
from policrf.vision.superpixels.slic import superpixels


@st.composite
def images(draw):
    """An image, class scores with many small regions, how many superpixels, and the smallest."""
    height, width = draw(st.integers(1, 24)), draw(st.integers(1, 24))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    image = rng.integers(0, 256, (height, width, 3)).astype(np.uint8)
    scores = rng.random((height, width, len(LABELS))) ** 2
    blur = draw(st.sampled_from([0.0, 1.0, 3.0]))
    scores = ndimage.gaussian_filter(scores, (blur, blur, 0)) + 1e-3
    count, smallest = draw(st.sampled_from([1, 4, 20])), draw(st.sampled_from([1, 3, 8, 40]))
    return image, scores.astype(np.float32), count, smallest


def fragments(slic, best, smallest):
    """Pixels in connected pieces of one label within one superpixel that are too small."""
    small = np.zeros(best.shape, bool)
    for segment in np.unique(slic):
        for label in np.unique(best[slic == segment]):
            pieces, count = ndimage.label((slic == segment) & (best == label))
            for piece in range(1, count + 1):
                if (pieces == piece).sum() < smallest:
                    small[pieces == piece] = True
    return small


@settings(max_examples=60, deadline=None)
@given(images())
def test_unaries_are_the_net_except_inside_joined_fragments(drawn):
    image, scores, count, smallest = drawn
    view = Pipeline(recipe(superpixels=count, smallest=smallest)).view(image, scores=scores)
    regions = find_regions(
        image, view.distribution, recipe(superpixels=count, smallest=smallest, follow_net=False)
    )
    best = view.distribution.argmax(axis=0)
    small = fragments(regions.segments, best, fragment_size(best.size, smallest, count))
    for kind in ("mean", "pixels"):
        labels = unary(view.record, Energy(unary=kind)).argmin(axis=1)
        np.testing.assert_array_equal(labels[view.segments][~small], best[~small])


@settings(max_examples=60, deadline=None)
@given(images())
def test_superpixels_are_connected_and_touch_as_the_record_says(drawn):
    image, scores, count, smallest = drawn
    view = Pipeline(recipe(superpixels=count, smallest=smallest)).view(image, scores=scores)
    sizes = np.bincount(view.segments.reshape(-1))
    assert sizes.min() >= min(fragment_size(sizes.sum(), smallest, count), sizes.sum())
    for number in range(len(sizes)):
        assert ndimage.label(view.segments == number)[1] == 1
    np.testing.assert_array_equal(view.record.pixels, sizes)
    borders = slow_adjacency(view.segments)
    assert [tuple(edge) for edge in view.record.edges.tolist()] == list(borders)
    assert view.record.length.tolist() == list(borders.values())


def test_a_fragment_joins_its_own_label_before_a_longer_border():
    segments = np.asarray([[0, 0, 0, 0], [1, 2, 2, 2], [1, 3, 3, 3]], np.int32)
    labels = np.asarray([5, 7, 5, 7], np.int32)
    joined = join_small(Pieces(segments, labels), 3)
    assert joined.segments.tolist() == [[0, 0, 0, 0], [1, 2, 2, 2], [1, 1, 1, 1]]
    assert joined.labels.tolist() == [5, 7, 5]


def test_a_fragment_without_a_like_neighbour_joins_the_longest_border():
    segments = np.asarray([[0, 0, 0, 0], [0, 1, 1, 2], [2, 2, 2, 2]], np.int32)
    joined = join_small(Pieces(segments, np.asarray([0, 1, 2], np.int32)), 3)
    assert len(joined.labels) == 2
    # Three pixel pairs with each of its neighbours: the one that comes first takes it.
    assert joined.labels.tolist() == [0, 2]
    assert joined.segments[1].tolist() in ([0, 0, 0, 1], [0, 1, 1, 1])


def test_nothing_to_cut_leaves_the_superpixels():
    regions = superpixels(scene(0).image.astype(np.float32), 30)
    followed = follow_labels(regions, np.zeros(regions.shape, np.int64), 8, 30)
    np.testing.assert_array_equal(followed.segments, regions)


@pytest.mark.parametrize("follow", [True, False])
def test_following_can_be_turned_off(follow):
    rendered = scene(0)
    view = Pipeline(recipe(superpixels=12, follow_net=follow)).view(
        rendered.image, scores=rendered.scores
    )
    best = view.distribution.argmax(axis=0)
    labels = view.record.distribution.argmax(axis=1)[view.segments]
    assert ((labels == best).mean() > 0.97) == follow
