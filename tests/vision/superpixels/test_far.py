import numpy as np

from policrf.vision.superpixels.far import far_edges


def test_against_all_distances():
    rng = np.random.default_rng(0)
    position, colour = rng.random((40, 2)), rng.random((40, 3))
    feature = np.concatenate([position, colour], axis=1)
    distance = ((feature[:, None] - feature[None]) ** 2).sum(axis=2)
    wanted = set()
    for i in range(40):
        for j in np.argsort(distance[i])[1:6].tolist():
            wanted.add((min(i, j), max(i, j)))
    assert [tuple(edge) for edge in far_edges(position, colour, 5).tolist()] == sorted(wanted)


def test_fewer_nodes_than_neighbours_and_none():
    position, colour = np.zeros((3, 2)), np.zeros((3, 3))
    assert far_edges(position, colour, 16).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert far_edges(position, colour, 0).shape == (0, 2)
    assert far_edges(position[:1], colour[:1], 16).shape == (0, 2)
