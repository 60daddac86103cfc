"""Node embeddings μ⁽ᴷ⁾ of a learned policy, projected by t-SNE (appendix C2).

The state is the empty one: μ knows features and neighbours, and nobody's label.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.jobs.instances import instances_of
from policrf.bench.reproduce.jobs.train_job import policy_file
from policrf.bench.reproduce.store import Store
from policrf.crf.instance import Instance
from policrf.mdp.graph import build_graph
from policrf.optional import need
from policrf.plots.colours import label_colours
from policrf.plots.figures import PRINT_DPI, save_figure
from policrf.policy.checkpoint import load_policy
from policrf.policy.policy import Policy
from policrf.types import FloatArray, IntArray

MOST = 3000  # nodes in the picture
NEIGHBOURS = 10


def embed(policy: Policy, instance: Instance) -> FloatArray:
    """μ⁽ᴷ⁾ of every node at the empty labeling, `[N, p]`."""
    weights, graph = policy.weights, build_graph(instance)
    target = np.repeat(np.arange(instance.crf.n_nodes), np.diff(graph.ptr))
    embedding = np.zeros((instance.crf.n_nodes, policy.spec.width))
    for k in range(policy.spec.layers):
        total = instance.features @ weights["theta3"][k].T
        if "bias" in weights:
            total = total + weights["bias"][k]
        if k > 0:
            message = embedding @ weights["theta4"][k - 1].T
            np.add.at(total, target, graph.weight[:, None] * message[graph.node])
        embedding = np.maximum(total, 0.0)
    return np.asarray(embedding, np.float64)


def draw_embeddings(cell: Cell, store: Store) -> dict[str, Any]:
    """Points coloured by their true class."""
    policy = load_policy(policy_file(store, cell.needs["policy"]))
    instances = instances_of(store, cell)
    rows, classes = [], []
    for instance in instances:
        labels = instance.true_labels
        rows.append(embed(policy, instance)[labels >= 0])
        classes.append(labels[labels >= 0])
    points, labels = np.concatenate(rows), np.concatenate(classes)
    chosen = balanced(labels, MOST)
    points, labels = points[chosen], labels[chosen]
    projected = _project(points)
    _draw(store.folder(cell) / "embeddings.png", projected, labels, instances.prepared.labels)
    pure, chance = purity(points, labels)
    shows = (
        f"μ⁽ᴷ⁾ of {len(points)} nodes at the empty labeling, at most equally many a class, by "
        f"t-SNE. Of the {NEIGHBOURS} nearest embeddings of a node {100 * pure:.0f} % are of its "
        f"class, {100 * chance:.0f} % by chance"
    )
    return {"files": ["embeddings.png"], "shows": shows}


def balanced(labels: IntArray, most: int, seed: int = 0) -> IntArray:
    """Positions of at most `most` labels in all, no class with more than its share."""
    rng = np.random.default_rng(seed)
    present = np.unique(labels)
    each = max(1, most // len(present))
    parts = [rng.permutation(np.flatnonzero(labels == label))[:each] for label in present]
    return np.sort(np.concatenate(parts))


def purity(points: FloatArray, labels: IntArray) -> tuple[float, float]:
    """Share of the nearest neighbours that have a point's class, and what chance would give."""
    from scipy.spatial import cKDTree

    count = min(NEIGHBOURS, len(points) - 1)
    nearest = np.asarray(cKDTree(points).query(points, k=count + 1)[1])[:, 1:]
    frequency = np.bincount(labels) / len(labels)
    return float((labels[nearest] == labels[:, None]).mean()), float((frequency**2).sum())


def _project(points: FloatArray) -> FloatArray:
    module = need("sklearn.manifold", "scikit-learn", "figures")
    perplexity = min(30.0, max(2.0, (len(points) - 1) / 4))
    # The same points twice have no direction between them.
    jitter = np.random.default_rng(0).normal(scale=1e-6, size=points.shape)
    reducer = module.TSNE(perplexity=perplexity, random_state=0, init="pca", max_iter=500)
    return np.asarray(reducer.fit_transform(points + jitter))


def _draw(path: Any, points: FloatArray, labels: IntArray, names: Any) -> None:
    figure = need("matplotlib.figure", "matplotlib").Figure(
        figsize=(5.5, 4.2), layout="constrained"
    )
    axis = figure.subplots()
    colours = label_colours(256) / 255
    for label in np.unique(labels):
        chosen = labels == label
        axis.scatter(*points[chosen].T, s=5, color=colours[label], label=names[label], linewidths=0)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.set_title("node embeddings, coloured by the true class", fontsize=9)
    figure.legend(loc="outside right center", fontsize=7, markerscale=2.5, frameon=False)
    save_figure(figure, path, dpi=PRINT_DPI)
