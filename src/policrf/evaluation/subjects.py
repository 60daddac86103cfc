"""What is evaluated: any instances, under names that are unique, with what is known beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from policrf.crf.instance import Instance
from policrf.datasets.instances import InstanceSequence
from policrf.types import IntArray


class Subject(NamedTuple):
    """One instance of an evaluation."""

    name: str
    instance: Instance
    net_confusion: IntArray | None
    """Of the segmentation net's own pixels, `[L, L]`; only prepared images have it."""


def subject_names(instances: Sequence[Instance]) -> list[str]:
    """The images' names; instances that are no prepared images are numbered."""
    if isinstance(instances, InstanceSequence):
        return instances.names
    return [_number(k) for k in range(len(instances))]


def label_names(instances: Sequence[Instance]) -> tuple[str, ...]:
    """The names of the labels, or their numbers."""
    if isinstance(instances, InstanceSequence):
        return instances.prepared.labels
    first = instances[0]
    return first.label_names or tuple(map(str, range(first.crf.n_labels)))


def read_subject(instances: Sequence[Instance], position: int) -> Subject:
    """The instance at a position."""
    if isinstance(instances, InstanceSequence):
        record = instances.record(position)
        return Subject(record.name, instances.build(record), record.net_confusion)
    return Subject(_number(position), instances[position], None)


def _number(position: int) -> str:
    return f"{position:05d}"
