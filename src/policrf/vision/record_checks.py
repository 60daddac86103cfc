"""Whether the fields of a record fit together: what is read from a disk is not believed."""

from __future__ import annotations

import numpy as np

from policrf import limits
from policrf.vision.record import Int32Array, Record


def check_record(record: Record) -> None:
    """A ValueError for the first field that does not fit the others."""
    n_nodes, n_labels, n_boxes = record.n_nodes, record.n_labels, len(record.box_scores)
    shapes = {
        "log_probability": (n_nodes, n_labels), "colour": (n_nodes, 3), "position": (n_nodes, 2),
        "size": (n_nodes,), "pixels": (n_nodes,), "length": (len(record.edges),),
        "product": (len(record.edges),), "boxes": (n_boxes, 4), "box_labels": (n_boxes,),
        "box_support": (n_boxes,), "box_ptr": (n_boxes + 1,),
        "box_shares": (len(record.box_nodes),),
    }  # fmt: skip
    for name, shape in shapes.items():
        if getattr(record, name).shape != shape:
            raise ValueError(f"{name} has shape {getattr(record, name).shape}, not {shape}")
    for name in ("distribution", *shapes, "appearance", "box_distribution", "box_scores"):
        if not np.isfinite(getattr(record, name)).all():
            raise ValueError(f"{name} holds numbers that are not finite")
    if n_labels < 1 or not _is_picture(record):
        raise ValueError("there are no labels, or no pixels")
    for name in ("edges", "far_edges", "box_nodes"):
        _check_range(name, getattr(record, name), 0, n_nodes)
    for name in ("box_labels", "box_support"):
        _check_range(name, getattr(record, name), -1, n_labels)
    for name in ("size", "pixels", "length"):
        _check_range(name, getattr(record, name), 0, 2**31)
    ptr = record.box_ptr
    if ptr[0] != 0 or ptr[-1] != len(record.box_nodes) or (ptr[1:] < ptr[:-1]).any():
        raise ValueError("box_ptr does not cut box_nodes into boxes")


def _is_picture(record: Record) -> bool:
    sides = (record.height, record.width)
    if not isinstance(record.name, str) or not all(isinstance(side, int) for side in sides):
        return False
    return (
        min(sides) > 0 and sides[0] * sides[1] <= limits.IMAGE_PIXELS and bool(record.pixels.any())
    )


def _check_range(name: str, values: Int32Array, least: int, beyond: int) -> None:
    if values.size and not least <= int(values.min()) <= int(values.max()) < beyond:
        raise ValueError(f"{name} holds a number outside {least} … {beyond - 1}")
