"""Node features b_i and the policy's edge weights (appendix A), from a record.

The paper's set, F = 4 L + 1: unary distribution, its entropy, and per label the confidence of the
best box on the node, the pixel-level unary composition of the node's most confident box, and the
share of that box which other boxes of the label cover, times their confidence. "appearance" adds
what the paper leaves to the hypercolumns: their principal components, mean colour, position, size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from policrf.crf.features import entropy, feature_names, softmax_over_neighbours
from policrf.errors import InvalidOption
from policrf.types import Float32Array
from policrf.vision.boxes import covered_share
from policrf.vision.record import Record

FEATURE_SETS = ("paper", "paper+appearance", "appearance")
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
        else:
            raise InvalidOption(f"features {names!r}: there are {', '.join(FEATURE_SETS)}")
    return np.concatenate(blocks, axis=1), tuple(columns)


def paper_set(record: Record, members: Members) -> Float32Array:
    """`[N, 4 L + 1]`."""
    n_nodes, n_labels = record.distribution.shape
    out = np.zeros((n_nodes, 4 * n_labels + 1), np.float32)
    out[:, :n_labels] = record.distribution
    out[:, n_labels] = entropy(record.distribution.astype(np.float64))
    confidence = out[:, n_labels + 1 : 2 * n_labels + 1]
    composition = out[:, 2 * n_labels + 1 : 3 * n_labels + 1]
    others = out[:, 3 * n_labels + 1 :]
    labeled = record.box_labels > 0
    cover = covered_share(record.boxes) * np.where(labeled, record.box_scores, 0)[None, :]
    np.fill_diagonal(cover, 0)
    # From the least confident box to the most: what is written last is the best box's.
    for b in np.argsort(record.box_scores, kind="stable"):
        if not labeled[b]:
            continue
        inside, label = members[b], record.box_labels[b]
        confidence[inside, label] = record.box_scores[b]
        composition[inside] = record.box_distribution[b]
        row = np.zeros(n_labels, np.float32)
        np.maximum.at(row, record.box_labels[labeled], cover[b, labeled])
        others[inside] = row
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
