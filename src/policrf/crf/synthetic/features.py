"""Node features b_i, F = 4L + 1 (85 for 21 labels): appendix "Implementation details".

The unary distribution (L), its entropy (1), and for each label: the confidence of the best box of
that label on the node; the mean unary distribution of the node's best box; the overlap · confidence
of other boxes with that box.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policrf.crf.checks import FloatArray, IntArray
from policrf.crf.instance import Float32Array
from policrf.crf.synthetic.boxes import Detection, overlap_shares


def scene_features(
    probabilities: FloatArray, detections: Sequence[Detection], cliques: Sequence[IntArray]
) -> Float32Array:
    """`[N, 4L + 1]` from the net's distributions `[N, L]` and every box's foreground nodes."""
    n_nodes, n_labels = probabilities.shape
    out = np.zeros((n_nodes, 4 * n_labels + 1), np.float32)
    out[:, :n_labels] = probabilities
    out[:, n_labels] = -np.sum(probabilities * np.log(np.maximum(probabilities, 1e-300)), axis=1)
    if not detections:
        return out
    confidence = out[:, n_labels + 1 : 2 * n_labels + 1]
    composition = out[:, 2 * n_labels + 1 : 3 * n_labels + 1]
    others = out[:, 3 * n_labels + 1 :]
    shares = overlap_shares(np.stack([d.box for d in detections]))
    np.fill_diagonal(shares, 0.0)
    # From the least confident box to the most: what is written last is the best box's.
    for b in sorted(range(len(detections)), key=lambda b: detections[b].confidence):
        nodes, detection = cliques[b], detections[b]
        confidence[nodes, detection.label] = detection.confidence
        composition[nodes] = probabilities[nodes].mean(axis=0)
        row = np.zeros(n_labels)
        for other, neighbour in enumerate(detections):
            row[neighbour.label] = max(
                row[neighbour.label], shares[b, other] * neighbour.confidence
            )
        others[nodes] = row
    return out


def feature_names(n_labels: int) -> tuple[str, ...]:
    """The names of the columns, in order."""
    groups = ("box_confidence", "box_unary", "box_overlap")
    return (
        *(f"unary:{label}" for label in range(n_labels)),
        "entropy",
        *(f"{group}:{label}" for group in groups for label in range(n_labels)),
    )
