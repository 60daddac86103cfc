"""What a page holds of an instance and its answers, as values for JSON.

Arrays are base64 of little-endian numbers. A map of nodes is runs along its rows: a node's number
and a length, so that 500 superpixels take some tens of kilobytes.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policrf.crf.instance import Instance
from policrf.crf.potentials import BoxAgreement, BoxSupport
from policrf.explore.answers import Answer
from policrf.explore.drawing import Drawing
from policrf.plots.colours import label_colours
from policrf.plots.png import data_url
from policrf.types import LabelMap, Pixels

MOST_EDGES = 60_000  # that a page draws and tells of
JPEG_QUALITY = 82


def payload(
    title: str,
    instance: Instance,
    drawing: Drawing,
    answers: Sequence[Answer],
    *,
    net: Answer | None = None,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Everything that the page shows. `net`: what a segmentation begins with, if it is one."""
    crf, names = instance.crf, instance.label_names
    truth = None if instance.truth is None else packed(instance.true_labels, "<i2")
    return {
        "title": title,
        "labels": list(names) or [f"label {k}" for k in range(crf.n_labels)],
        "colours": label_colours(max(crf.n_labels, 2))[: crf.n_labels].tolist(),
        "nodes": crf.n_nodes,
        "drawing": _drawing(drawing),
        "unary": packed(np.minimum(crf.unary, 1e30), "<f4"),
        "truth": truth,
        "edges": _edges(instance),
        "boxes": _boxes(instance),
        "answers": [_answer(answer) for answer in answers],
        "net": None if net is None else _answer(net),
        "notes": list(notes),
    }


def packed(values: Any, kind: str) -> str:
    """Base64 of an array as numbers of that NumPy type."""
    array = np.ascontiguousarray(values, dtype=np.dtype(kind))
    return base64.b64encode(array.tobytes()).decode()


def runs_of(nodes: LabelMap) -> NDArray[np.uint32]:
    """(node, length) of every run of equal entries, row after row, `[runs, 2]`."""
    flat = np.asarray(nodes).reshape(-1)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(flat)) + 1])
    lengths = np.diff(np.append(starts, len(flat)))
    return np.stack([flat[starts], lengths], axis=1).astype(np.uint32)


def _drawing(drawing: Drawing) -> dict[str, Any]:
    if drawing.nodes is None:
        return {"kind": "graph", "positions": packed(drawing.positions, "<f4")}
    height, width = drawing.nodes.shape
    return {
        "kind": "map",
        "width": width,
        "height": height,
        "runs": packed(runs_of(drawing.nodes), "<u4"),
        "photo": None if drawing.photo is None else _photo(drawing.photo),
    }


def _photo(pixels: Pixels) -> str:
    """As JPEG where pillow is installed, as PNG where not."""
    try:
        from PIL import Image
    except ImportError:
        return data_url(pixels)
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(file, "JPEG", quality=JPEG_QUALITY)
    return "data:image/jpeg;base64," + base64.b64encode(file.getvalue()).decode()


def _edges(instance: Instance) -> dict[str, Any] | None:
    """The pairs of the energy with their weights; of the graph where it has no Potts term."""
    a = instance.crf.arrays
    edges, weights = a.edges, a.edge_weights
    if not len(edges):
        edges, weights = instance.edges, np.ones(len(instance.edges))
    if not 0 < len(edges) <= MOST_EDGES:
        return None
    return {"nodes": packed(edges, "<u4"), "weights": packed(weights, "<f4")}


def _boxes(instance: Instance) -> list[dict[str, Any]]:
    """Cliques of the boxes' terms: the members, the label, and what it says."""
    found = []
    for group in instance.crf.potentials:
        if not isinstance(group, BoxAgreement | BoxSupport):
            continue
        for k, (members, label) in enumerate(zip(group.cliques, group.labels, strict=True)):
            if isinstance(group, BoxAgreement):
                text = f"all or none of {len(members)} nodes, {group.weights[k]:.3g} a node"
            else:
                price = f"{group.penalties[k]:.3g}"
                text = f"at least {group.counts[k]} of {len(members)} nodes, or {price}"
            found.append({"label": int(label), "members": packed(members, "<u4"), "text": text})
    return found


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "name": answer.name,
        "labels": packed(answer.labels, "<i2"),
        "energy": _finite(answer.energy),
        "bound": _finite(answer.lower_bound),
        "proven": answer.optimal,
        "seconds": answer.seconds,
        "trace": [[_finite(value) for value in point] for point in answer.trace],
        "terms": {name: _finite(value) for name, value in answer.terms.items()},
        "shares": {name: packed(part, "<f4") for name, part in answer.shares.items()},
        "iou": answer.iou,
        "order": None if answer.order is None else packed(answer.order, "<u4"),
        "maps": {str(step): packed(values, "u1") for step, values in answer.maps.items()},
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
