"""How close labelings of a set of instances are to the truth, and whether one way is closer.

The IoU of a set is that of the benchmarks: pixels by (true, given) label of all instances in one
matrix, the mean over the classes that are on `FREQUENT` instances or more (over all that occur,
where none is). Instances with other numbers of labels are sets of their own, whose IoUs are
averaged. A difference of two sets is no mean over instances, but almost one: the jackknife leaves
out one instance after the other and turns the IoU of the set into a value for each,

    d_i = n θ − (n − 1) θ_(−i),    θ the difference of the whole set,

whose mean and deviation go into the same paired test as everywhere (`tuning.paired`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policrf.crf.instance import Instance
from policrf.learn.tuning.paired import Difference, difference
from policrf.metrics import FREQUENT, class_iou, mean_over_classes, pixel_confusion
from policrf.types import BoolArray, FloatArray, IntArray


def confusions_of(instances: Sequence[Instance], labelings: Sequence[IntArray]) -> list[IntArray]:
    """Pixels by true and given label `[L, L]` of every instance, all of them with truth."""
    found = []
    for instance, labels in zip(instances, labelings, strict=True):
        assert instance.truth is not None
        found.append(pixel_confusion(instance.truth, labels))
    return found


def set_iou(confusions: Sequence[IntArray]) -> float:
    """The IoU of the set, in percent."""
    return float(np.mean([_iou(part.sum(axis=0), _classes(part)) for part in _sets(confusions)]))


def fewer_misses(ours: Sequence[IntArray], theirs: Sequence[IntArray]) -> Difference:
    """The IoU of `theirs` less that of `ours`, the same instances: below 0 if ours is closer."""
    values = []
    sets = list(zip(_sets(ours), _sets(theirs), strict=True))
    for first, second in sets:
        classes = _classes(first)
        whole = _iou(second.sum(axis=0), classes) - _iou(first.sum(axis=0), classes)
        without = _iou(_others(second), classes) - _iou(_others(first), classes)
        count = len(first)
        # A set of n of all N instances counts 1 / sets of the mean: its n values N / (n · sets).
        weight = len(ours) / (count * len(sets))
        values.append(weight * (count * whole - (count - 1) * without))
    pairs = np.concatenate(values)
    return difference(pairs.tolist(), np.zeros(len(pairs)).tolist())


def _sets(confusions: Sequence[IntArray]) -> list[IntArray]:
    """Matrices `[n, L, L]` for each number of labels."""
    sizes = sorted({len(one) for one in confusions})
    return [np.array([one for one in confusions if len(one) == size]) for size in sizes]


def _classes(confusions: IntArray) -> BoolArray:
    """Which labels count `[L]`; it depends on the truth alone."""
    images = (confusions.sum(axis=2) > 0).sum(axis=0)
    frequent = images >= FREQUENT
    return np.asarray(frequent if frequent.any() else images > 0)


def _others(confusions: IntArray) -> IntArray:
    """The set's matrix without each instance `[n, L, L]`."""
    return np.asarray(confusions.sum(axis=0) - confusions)


def _iou(matrix: IntArray, classes: BoolArray) -> FloatArray:
    return np.asarray(100 * mean_over_classes(class_iou(matrix), classes))
