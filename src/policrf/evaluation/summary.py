"""Figures of a grid of results: IoU with intervals over images, energies, gaps, paired comparisons.

Intervals are bootstrap intervals over images (percentiles, 95 %): images are drawn with replacement
and the data set's confusion matrix is summed again. Two solvers are compared on the same draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policrf.errors import InvalidOption
from policrf.evaluation.results import Result
from policrf.metrics import FREQUENT, class_iou, dense_matrix, mean_over_classes, pixel_accuracy
from policrf.types import FloatArray

DRAWS = 1000
LEVELS = (2.5, 97.5)


@dataclass(frozen=True)
class Comparison:
    """Solver `first` minus solver `second`, in IoU points, on the same images."""

    first: str
    second: str
    difference: float
    low: float
    high: float
    wins: float
    """Share of the draws in which `first` is ahead."""


class ResultGrid:
    """All results of one evaluation, by solver; images in the same order for each."""

    def __init__(self, results: Sequence[Result], labels: Sequence[str], seed: int = 0) -> None:
        self.results = list(results)
        self.labels = tuple(labels)
        self.seed = seed
        self.by_solver: dict[str, list[Result]] = {}
        for result in results:
            self.by_solver.setdefault(result.solver, []).append(result)

    def solvers(self) -> list[str]:
        """In the order they came."""
        return list(self.by_solver)

    def __str__(self) -> str:
        """The summary as a Markdown table."""
        from policrf.evaluation.summary_tables import summary_markdown

        return summary_markdown([self.row(solver) for solver in self.solvers()])

    def failed(self, solver: str) -> str:
        """Why the solver has no labelings, empty if it has."""
        return next((r.failed for r in self.by_solver[solver] if r.failed), "")

    def confusions(self, solver: str, level: str = "pixels") -> NDArray[np.int64] | None:
        """`[images, L, L]`; None without truth, or for a solver that failed."""
        entries = [getattr(result, level) for result in self.by_solver[solver]]
        if any(entry is None for entry in entries):
            return None
        size = len(self.labels)
        return np.stack([dense_matrix(entry, (size, size)) for entry in entries])

    def frequent(self, solver: str) -> NDArray[np.bool_]:
        """Classes that occur in the truth of at least ten images."""
        confusions = self.confusions(solver)
        assert confusions is not None
        found: NDArray[np.bool_] = (confusions.sum(axis=2) > 0).sum(axis=0) >= FREQUENT
        return found

    def row(self, solver: str) -> dict[str, Any]:
        """Every figure of one solver."""
        results = self.by_solver[solver]
        row: dict[str, Any] = {"solver": solver, "images": len(results)}
        row["nodes"] = float(np.mean([result.nodes for result in results]))
        row["failed"] = self.failed(solver)
        if row["failed"]:
            return row
        for level in ("pixels", "superpixels"):
            row |= self._iou(solver, level)
        energies = np.asarray([result.energy for result in results])
        if np.isfinite(energies).all():
            row["energy"] = float(energies.mean())
            row["terms"] = _mean_terms(results)
            row["seconds"] = float(np.mean([result.seconds for result in results]))
            row["cpu_seconds"] = float(np.mean([result.cpu_seconds for result in results]))
            spent = [r.pixel_cpu_seconds for r in results if np.isfinite(r.pixel_cpu_seconds)]
            if spent:
                row["pixel_cpu_seconds"] = float(np.mean(spent))
            row["optimal"] = float(np.mean([result.optimal for result in results]))
            row |= self._gap(results)
        return row

    def _iou(self, solver: str, level: str) -> dict[str, Any]:
        confusions = self.confusions(solver, level)
        if confusions is None:
            return {}
        total = confusions.sum(axis=0)
        found = self.draws(len(confusions)) @ confusions.reshape(len(confusions), -1)
        drawn = class_iou(found.reshape(len(found), *total.shape))
        iou, frequent = class_iou(total), self.frequent(solver)
        out: dict[str, Any] = {}
        for name, classes in (("all", None), ("frequent", frequent)):
            if classes is not None and not classes.any():
                continue
            low, high = np.percentile(mean_over_classes(drawn, classes), LEVELS)
            mean = mean_over_classes(iou, classes)
            out[f"{level}_{name}"] = {"iou": float(mean), "low": float(low), "high": float(high)}
        out[f"{level}_classes"] = {
            name: None if math.isnan(value) else float(value)
            for name, value in zip(self.labels, iou, strict=True)
        }
        out[f"{level}_accuracy"] = pixel_accuracy(total)
        return out

    def draws(self, count: int) -> FloatArray:
        """`[draws, images]`: how often each image is drawn; the same for every solver."""
        rng = np.random.default_rng([self.seed, count])
        return rng.multinomial(count, np.full(count, 1 / count), DRAWS).astype(np.float64)

    def _gap(self, results: Sequence[Result]) -> dict[str, float]:
        """Mean of (energy − optimum) / |optimum| over the images that `exact` has proven."""
        optima = {
            result.name: result.energy
            for solver, rows in self.by_solver.items()
            if solver.split(":")[0] == "exact"
            for result in rows
            if result.optimal
        }
        gaps = [
            (result.energy - optima[result.name]) / max(abs(optima[result.name]), 1e-12)
            for result in results
            if result.name in optima
        ]
        if not gaps:
            return {}
        return {"gap": float(np.mean(gaps)), "gap_images": len(gaps)}

    def compare(self, first: str, second: str, classes: str = "all") -> Comparison:
        """The difference in pixel IoU, with its interval over the same draws of images."""
        for solver in (first, second):
            if solver not in self.by_solver:
                raise InvalidOption(
                    f"{solver!r} was not evaluated; there are {', '.join(self.solvers())}"
                )
        a, b = self.confusions(first), self.confusions(second)
        if a is None or b is None:
            raise InvalidOption(f"{first} and {second} cannot be compared: there is no truth")
        chosen = self.frequent(first) if classes == "frequent" else None
        weights = self.draws(len(a))
        drawn = [
            mean_over_classes(
                class_iou((weights @ x.reshape(len(x), -1)).reshape(-1, *x.shape[1:])), chosen
            )
            for x in (a, b)
        ]
        difference = drawn[0] - drawn[1]
        exact = [float(mean_over_classes(class_iou(x.sum(axis=0)), chosen)) for x in (a, b)]
        low, high = np.percentile(difference, LEVELS)
        ahead = (difference > 0).mean() + 0.5 * (difference == 0).mean()
        return Comparison(
            first=first,
            second=second,
            difference=exact[0] - exact[1],
            low=float(low),
            high=float(high),
            wins=float(ahead),
        )


def _mean_terms(results: Sequence[Result]) -> dict[str, float]:
    names = results[0].terms
    return {name: float(np.mean([result.terms[name] for result in results])) for name in names}
