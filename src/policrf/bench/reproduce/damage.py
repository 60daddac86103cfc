"""Boxes as a worse detector would have found them: mislabeled, dropped, or added.

What is done to an image depends on its name alone, so that every row sees the same damage; and a
box that is hit at a share is hit at every larger one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np

from policrf.crf.instance import Instance
from policrf.datasets.instances import InstanceSequence
from policrf.datasets.store import Prepared
from policrf.errors import InvalidOption
from policrf.types import BoolArray
from policrf.vision.energy.weights import Energy
from policrf.vision.record import Record

DAMAGES = ("mislabeled", "dropped", "added")
_BOX_ROWS = ("boxes", "box_scores", "box_labels", "box_support", "box_distribution")


class Damaged(InstanceSequence):
    """Prepared instances whose boxes are damaged.

    Parameters
    ----------
    damage
        Share of an image's boxes, 0 … 1, by what is done to them.
    """

    def __init__(
        self, prepared: Prepared, energy: Energy, *, potentials: str, features: str,
        damage: Mapping[str, float],
    ) -> None:  # fmt: skip
        super().__init__(prepared, energy, potentials=potentials, features=features)
        for kind in damage:
            if kind not in DAMAGES:
                raise InvalidOption(f"boxes are {', '.join(DAMAGES)}, not {kind!r}")
        self.damage = dict(damage)

    def read(self, position: int) -> Instance:
        """The instance of a damaged record."""
        return self.build(damaged(self.prepared.record(position), self.damage))

    def record(self, position: int) -> Record:
        """The damaged record."""
        return damaged(super().record(position), self.damage)


def damaged(record: Record, damage: Mapping[str, float]) -> Record:
    """A record with some of its boxes mislabeled, dropped, or others added."""
    for kind, share in damage.items():
        rng = np.random.default_rng([crc32(record.name.encode()), DAMAGES.index(kind)])
        chosen = rng.random(len(record.box_scores)) < share
        labels = rng.integers(1, record.n_labels, size=len(chosen))
        if kind == "mislabeled":
            record = _mislabeled(record, chosen, labels)
        elif kind == "dropped":
            record = _kept(record, ~chosen)
        else:
            places = rng.random((len(chosen), 2))
            for b in np.flatnonzero(chosen):
                record = _with_copy(record, int(b), int(labels[b]), places[b])
    return record


def _mislabeled(record: Record, chosen: BoolArray, labels: Any) -> Record:
    """Chosen boxes get another label than theirs, what HOP2 asks for included."""
    chosen = chosen & (record.box_labels > 0)
    other = 1 + (labels - 1 + (labels == record.box_labels)) % (record.n_labels - 1)
    own = chosen & (record.box_support == record.box_labels)
    return replace(
        record,
        box_labels=np.where(chosen, other, record.box_labels).astype(np.int32),
        box_support=np.where(own, other, record.box_support).astype(np.int32),
    )


def _kept(record: Record, kept: BoolArray) -> Record:
    """Only these boxes."""
    counts = np.diff(record.box_ptr)
    rows = np.repeat(kept, counts)
    changes = {name: getattr(record, name)[kept] for name in _BOX_ROWS}
    return replace(
        record,
        **changes,
        box_ptr=np.concatenate([[0], np.cumsum(counts[kept])]).astype(np.int32),
        box_nodes=record.box_nodes[rows],
        box_shares=record.box_shares[rows],
    )


def _with_copy(record: Record, b: int, label: int, place: Any) -> Record:
    """One more box: of the size and confidence of box b, elsewhere, with another label."""
    left, top, right, bottom = record.boxes[b]
    width, height = right - left, bottom - top
    x, y = place[0] * (1 - width), place[1] * (1 - height)
    box = np.asarray([x, y, x + width, y + height], np.float32)
    inside = (np.abs(record.position[:, 1] - (x + width / 2)) <= width / 2) & (
        np.abs(record.position[:, 0] - (y + height / 2)) <= height / 2
    )
    nodes = np.flatnonzero(inside)
    if len(nodes) == 0:
        return record
    distribution = record.distribution[nodes].mean(axis=0, keepdims=True)
    return replace(
        record,
        boxes=np.concatenate([record.boxes, box[None]]),
        box_scores=np.append(record.box_scores, record.box_scores[b]).astype(np.float32),
        box_labels=np.append(record.box_labels, label).astype(np.int32),
        box_support=np.append(record.box_support, -1).astype(np.int32),
        box_distribution=np.concatenate([record.box_distribution, distribution]),
        box_ptr=np.append(record.box_ptr, record.box_ptr[-1] + len(nodes)).astype(np.int32),
        box_nodes=np.append(record.box_nodes, nodes).astype(np.int32),
        box_shares=np.append(record.box_shares, np.ones(len(nodes))).astype(np.float32),
    )
