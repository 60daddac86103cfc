import numpy as np

from policrf.vision.superpixels.adjacency import adjacency


def slow_adjacency(segments):
    """The length of every border, by pairs of superpixels, in order."""
    height, width = segments.shape
    counts = {}
    for y in range(height):
        for x in range(width):
            for v, u in ((y + 1, x), (y, x + 1)):
                if v < height and u < width and segments[y, x] != segments[v, u]:
                    pair = tuple(sorted((int(segments[y, x]), int(segments[v, u]))))
                    counts[pair] = counts.get(pair, 0) + 1
    return dict(sorted(counts.items()))


def test_adjacency_against_a_loop():
    segments = np.random.default_rng(0).integers(0, 6, (9, 11)).astype(np.int32)
    counts = slow_adjacency(segments)
    found = adjacency(segments)
    assert [tuple(edge) for edge in found.edges.tolist()] == list(counts)
    assert found.length.tolist() == list(counts.values())


def test_one_segment_has_no_edges():
    found = adjacency(np.zeros((4, 4), np.int32))
    assert found.edges.shape == (0, 2)
    assert found.length.shape == (0,)
