"""How good a policy is: energies, with and without `refine`, and IoU where the truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from policrf.crf.instance import Instance
from policrf.execution.executor import Workers
from policrf.learn.experience.engines import Kept, kept_engines
from policrf.metrics import mean_iou, node_confusion, pixel_confusion
from policrf.policy.engine import Engine
from policrf.policy.policy import Policy
from policrf.solvers.refine.refine_rounds import refine_labels
from policrf.types import IntArray

PART = 8  # instances that go to a worker together


class Part(NamedTuple):
    """Some instances that a policy is to label."""

    policy: Policy
    positions: range
    refine: bool


class Labeled(NamedTuple):
    """Labels `[N]` by the policy, and after local search where that is asked for."""

    labels: IntArray
    refined: IntArray


@dataclass(frozen=True)
class Figures:
    """Means over instances; IoU in percent over the whole set, NaN without truth.

    Instances with other numbers of labels are sets of their own, whose IoUs are averaged.
    """

    energy: float
    iou: float
    """Of superpixels."""
    pixel_iou: float
    refined: float = float("nan")
    """Energy after local search."""
    refined_iou: float = float("nan")

    def as_dict(self) -> dict[str, Any]:
        """Names and values, those that are not a number left out."""
        return {name: value for name, value in asdict(self).items() if value == value}


def validate(
    policy: Policy, instances: Sequence[Instance], *, refine: bool = False,
    engines: Kept[Engine] | None = None, workers: Workers[Part, list[Labeled]] | None = None,
) -> Figures:  # fmt: skip
    """Label every instance greedily and score the labelings.

    Parameters
    ----------
    policy
        Whose labelings.
    instances
        What is labeled.
    refine
        Whether to score them after local search too.
    engines
        Kept for these instances, where they are validated on again and again.
    workers
        Do `label_part` on these instances; None: this process does.
    """
    if workers is None:
        lender = kept_engines(instances, largest=0) if engines is None else engines
        everything = Part(policy, range(len(instances)), refine)
        found = label_part(instances, everything, {"engines": lender})
    else:
        cut = range(0, len(instances), PART)
        parts = [Part(policy, range(k, min(k + PART, len(instances))), refine) for k in cut]
        found = [one for part in workers.each(parts) for one in part]
    labelings, refined = [one.labels for one in found], [one.refined for one in found]
    energy, iou, pixel_iou = score(instances, labelings)
    if not refine:
        return Figures(energy, iou, pixel_iou)
    refined_energy, refined_iou, _ = score(instances, refined)
    return Figures(energy, iou, pixel_iou, refined=refined_energy, refined_iou=refined_iou)


def label_part(instances: Sequence[Instance], part: Part, cache: dict[str, Any]) -> list[Labeled]:
    """Label some instances, in whichever process that falls to."""
    engines = cache.get("engines")
    if engines is None:
        engines = cache["engines"] = kept_engines(instances)
    found = []
    for k in part.positions:
        with engines.lent(part.policy, k) as engine:
            labels = engine.label_all()[0]
        refined = refine_labels(instances[k].crf, labels) if part.refine else labels
        found.append(Labeled(labels, refined))
    return found


def score(
    instances: Sequence[Instance], labelings: Sequence[IntArray]
) -> tuple[float, float, float]:
    """Mean energy, superpixel IoU and pixel IoU of labelings."""
    energies = [i.crf.energy(y) for i, y in zip(instances, labelings, strict=True)]
    if any(instance.truth is None for instance in instances):
        return float(np.mean(energies)), float("nan"), float("nan")
    figures = []
    for n_labels in {instance.crf.n_labels for instance in instances}:
        nodes: Any = 0
        pixels: Any = 0
        for instance, labels in zip(instances, labelings, strict=True):
            if instance.truth is not None and instance.crf.n_labels == n_labels:
                nodes = nodes + node_confusion(instance.truth, labels)
                pixels = pixels + pixel_confusion(instance.truth, labels)
        figures.append((100 * mean_iou(nodes), 100 * mean_iou(pixels)))
    iou, pixel_iou = np.mean(figures, axis=0).tolist()
    return float(np.mean(energies)), iou, pixel_iou
