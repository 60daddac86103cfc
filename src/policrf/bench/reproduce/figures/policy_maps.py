"""The learned policy (appendix C3): where it would go next, φ, as an image is labeled.

φ(i) = Σ_y π((i, y) | s_t) over unlabeled nodes, π the softmax of the scores over all valid actions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.figures.panels import Panel, over_pixels, picture_grid, truth_at
from policrf.bench.reproduce.jobs.instances import instances_of
from policrf.bench.reproduce.jobs.train_job import policy_file
from policrf.bench.reproduce.store import Store
from policrf.crf.features import entropy, unary_distribution
from policrf.crf.instance import Instance
from policrf.datasets.instances import InstanceSequence
from policrf.policy.checkpoint import load_policy
from policrf.policy.engine import Engine
from policrf.policy.policy import Policy
from policrf.types import FloatArray, IntArray

SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9)  # of the nodes that are labeled
MEASURED = 50  # images behind the figures in the text


def draw_policy(cell: Cell, store: Store) -> dict[str, Any]:
    """φ at six moments of one image."""
    policy = load_policy(policy_file(store, cell.needs["policy"]))
    instances = instances_of(store, cell)
    position = _shown_image(instances)
    record = instances.record(position)
    kept = instances.rebuilt(position, record)
    segments, image = kept.maps.segments, kept.image
    maps, labels = moments(policy, instances[position])
    first = [Panel("image", image)]
    panels = [
        Panel(f"{100 * share:.0f} % labeled", image, values=over_pixels(values, segments))
        for share, values in zip(SHARES, maps, strict=True)
    ]
    result = [Panel("result", image, over_pixels(labels, segments))]
    truth = truth_at(kept.truth, image.shape)
    if truth is not None:
        result.append(Panel("truth", image, truth))
    rows = [[*first, *panels[:3]], [*panels[3:], *result[:1]]]
    picture_grid(
        store.folder(cell) / "policy.png", rows, instances.prepared.labels,
        bar="φ / its largest value",
    )  # fmt: skip
    sure, near = _habits(policy, instances)
    shows = (
        f"φ of {record.name} over time, labeled nodes in white. Over "
        f"{min(MEASURED, len(instances))} images the rank of a step and the entropy of its node "
        f"correlate by {sure:+.2f} (above 0: sure nodes first); {100 * near:.0f} % of the steps "
        "give a node the label of a neighbour that is labeled already"
    )
    return {"files": ["policy.png"], "shows": shows}


def _shown_image(instances: InstanceSequence) -> int:
    """The first image with a box and two labels in its truth; else the first."""
    for k in range(len(instances)):
        record = instances.record(k)
        truth = record.truth
        if truth is not None and len(record.box_scores) and (truth.sum(axis=0) > 0).sum() >= 2:
            return k
    return 0


def moments(policy: Policy, instance: Instance) -> tuple[list[FloatArray], IntArray]:
    """φ / max φ at each of SHARES, NaN where labeled; and the labels at the end."""
    engine = Engine(policy, instance)
    total, found = instance.crf.n_nodes, []
    for share in SHARES:
        while total - engine.remaining < round(share * total):
            node, label, _ = engine.best()
            engine.step(node, label)
        found.append(chances(engine.all_scores()))
    return found, engine.label_all()[0]


def chances(scores: FloatArray) -> FloatArray:
    """φ / max φ of every node; NaN where no action is left."""
    open_nodes = np.isfinite(scores).any(axis=1)
    shifted = np.exp(scores - scores[open_nodes].max())
    phi = np.where(open_nodes, np.nansum(np.where(np.isfinite(scores), shifted, 0), axis=1), np.nan)
    return np.asarray(phi / np.nanmax(phi))


def _habits(policy: Policy, instances: InstanceSequence) -> tuple[float, float]:
    """Correlation of step and entropy; share of steps that follow a labeled neighbour."""
    correlations, followed = [], []
    for k in range(min(MEASURED, len(instances))):
        instance = instances[k]
        labels, order, _ = Engine(policy, instance).label_all()
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        unsure = entropy(unary_distribution(instance.crf.unary)).argsort().argsort()
        if len(order) > 2:
            correlations.append(float(np.corrcoef(rank, unsure)[0, 1]))
        first, second = instance.edges.T
        same = labels[first] == labels[second]
        later = np.where(rank[first] > rank[second], first, second)[same]
        followed.append(len(np.unique(later)) / len(order))
    return float(np.mean(correlations)), float(np.mean(followed))
