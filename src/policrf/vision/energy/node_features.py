"""Node features b_i and the policy's edge weights (appendix A), from a record.

"paper" is the paper's set (`crf.features.paper_features`), with the composition of a box taken from
its pixels. "appearance" adds what the paper leaves to the hypercolumns: their principal components,
mean colour, position, size. "ridden" shows boxes of classes that are no label but decide over one:
the bicycles of MOTS, whose riders are background.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from policrf.crf.box_overlap import covered_share
from policrf.crf.features import (
    FeatureBoxes,
    feature_names,
    paper_features,
    softmax_over_neighbours,
)
from policrf.errors import InvalidOption
from policrf.types import Float32Array
from policrf.vision.record import Record

FEATURE_SETS = ("paper", "appearance", "ridden")
RIDDEN_NAMES = ("ridden:confidence", "ridden:cover")
Members = list[NDArray[np.int64]]


def node_features(
    record: Record, members: Members, names: str
) -> tuple[Float32Array, tuple[str, ...]]:
    """The named sets, joined by +: `[N, F]` and the columns' names."""
    blocks: list[Float32Array] = []
    columns: list[str] = []
    for name in names.split("+"):
        if name == "paper":
            blocks.append(paper_set(record, members))
            columns += feature_names(record.n_labels)
        elif name == "appearance":
            blocks.append(appearance_set(record))
            columns += appearance_names(record.appearance.shape[1])
        elif name == "ridden":
            blocks.append(ridden_set(record, members))
            columns += RIDDEN_NAMES
        else:
            known = ", ".join(FEATURE_SETS)
            raise InvalidOption(f"features {names!r}: there are {known}, joined by +")
    return np.concatenate(blocks, axis=1), tuple(columns)


def paper_set(record: Record, members: Members) -> Float32Array:
    """`[N, 4 L + 1]`, from the boxes that have a label."""
    labeled = np.flatnonzero(record.box_labels > 0)
    boxes = FeatureBoxes(
        members=[members[b] for b in labeled],
        labels=record.box_labels[labeled].astype(np.int64),
        confidences=record.box_scores[labeled],
        composition=record.box_distribution[labeled],
        cover=covered_share(record.boxes[labeled]),
    )
    return paper_features(record.distribution, boxes)


def ridden_set(record: Record, members: Members) -> Float32Array:
    """`[N, 2]`: the confidence of a ridden box on the node; of the boxes with a label on it, how
    much ridden ones cover, times their confidence (the largest)."""
    out = np.zeros((record.n_nodes, len(RIDDEN_NAMES)), np.float32)
    ridden = np.flatnonzero(record.box_labels < 0)
    if len(ridden) == 0:
        return out
    cover = (covered_share(record.boxes)[:, ridden] * record.box_scores[ridden]).max(axis=1)
    for b, nodes in enumerate(members):
        column, value = (0, record.box_scores[b]) if b in ridden else (1, cover[b])
        out[nodes, column] = np.maximum(out[nodes, column], value)
    return out


def appearance_set(record: Record) -> Float32Array:
    """`[N, K + 6]`: components, Lab / 100, centre, and log of the size against the mean."""
    size = np.log(record.size / record.size.mean())
    return np.concatenate(
        [record.appearance, record.colour / 100, record.position, size[:, None]], axis=1
    ).astype(np.float32)


def appearance_names(n_components: int) -> list[str]:
    """The names of `appearance_set`'s columns."""
    components = [f"hypercolumn:{k}" for k in range(n_components)]
    return [*components, "colour:L", "colour:a", "colour:b", "position:y", "position:x", "size"]


def edge_weights(record: Record, temperature: float) -> Float32Array:
    """w(i, j), `[M, 2]`: softmax over neighbours of g_i · g_j / temperature."""
    scores = record.product.astype(np.float64) / temperature
    return softmax_over_neighbours(record.edges.astype(np.int64), scores, record.n_nodes)
