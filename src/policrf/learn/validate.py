"""How good a policy is: energies, with and without `refine`, and IoU where the truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from policrf.crf.instance import Instance
from policrf.learn.experience.engines import Kept, kept_engines
from policrf.metrics import mean_iou, node_confusion, pixel_confusion
from policrf.policy.engine import Engine
from policrf.policy.policy import Policy
from policrf.solvers.refine.refine_rounds import refine_labels
from policrf.types import IntArray


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
    engines: Kept[Engine] | None = None,
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
    """
    lender = kept_engines(instances, largest=0) if engines is None else engines
    labelings = []
    for k in range(len(instances)):
        with lender.lent(policy, k) as engine:
            labelings.append(engine.label_all()[0])
    energy, iou, pixel_iou = score(instances, labelings)
    if not refine:
        return Figures(energy, iou, pixel_iou)
    refined = [refine_labels(i.crf, y) for i, y in zip(instances, labelings, strict=True)]
    refined_energy, refined_iou, _ = score(instances, refined)
    return Figures(energy, iou, pixel_iou, refined=refined_energy, refined_iou=refined_iou)


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
