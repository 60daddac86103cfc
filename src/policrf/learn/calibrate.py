"""The paper's grid search over the energy's weights, on training instances only (appendix A).

In stages, each with the best of the one before: the pairwise term for every gate (α with β, or with
the contrast's widths), then HOP1 (w, with α once more), then HOP2 (λ and C), and last the
temperature of the policy's edge weights. Every setting is scored by the pixel IoU of a solver's
labelings; a temperature by that of distributions averaged over neighbours with its weights.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policrf.datasets.confusion import class_iou, mean_over_classes, pixel_confusion
from policrf.datasets.store import Prepared
from policrf.datasets.workers import each
from policrf.errors import InvalidInstance, InvalidOption
from policrf.solvers import solve
from policrf.vision.build import to_instance
from policrf.vision.energy import Energy
from policrf.vision.features import edge_weights
from policrf.vision.record import Record

IntArray = NDArray[np.int64]
Setting = tuple[Energy, str]
GATES = ("below", "above", "contrast")
FREQUENT = 10


@dataclass(frozen=True)
class Grids:
    """The values that are tried."""

    alpha: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
    """For the hard gates; the contrast gate, per pixel of border, tries a twentieth of these."""
    beta: tuple[float, ...] = (0.1, 0.25, 0.5, 0.75, 0.9)
    """Quantiles of |g_i · g_j| over the training edges."""
    sigma_colour: tuple[float, ...] = (5.0, 10.0, 20.0, math.inf)
    sigma_feature: tuple[float, ...] = (0.5, 2.0, math.inf)
    """In units of the mean of 1 − g_i · g_j over the training edges."""
    w: tuple[float, ...] = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6)
    lambda_: tuple[float, ...] = (0.0, 0.25, 0.5, 1.0, 2.0)
    C: tuple[float, ...] = (1.5, 2.0, 3.0, 5.0)
    temperature: tuple[float, ...] = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


@dataclass(frozen=True)
class Trial:
    """One setting and its score."""

    stage: str
    energy: Energy
    potentials: str
    iou: float
    frequent: float


@dataclass(frozen=True)
class Calibration:
    """The chosen energy, and everything that was tried."""

    energy: Energy
    trials: tuple[Trial, ...]
    baseline: float
    """Pixel IoU of the unary argmax on the same images."""
    images: int
    solver: str
    best: dict[str, float] = field(default_factory=dict)
    """The best score of every stage."""


@dataclass(frozen=True)
class _Job:
    prepared: Prepared
    settings: tuple[Setting, ...]
    solver: str
    seed: int


class _Search:
    """Scores settings on a fixed set of images."""

    def __init__(
        self, prepared: Prepared, positions: Sequence[int], solver: str, seed: int, jobs: int,
        score: str, advance: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.prepared, self.positions = prepared, positions
        self.solver, self.seed, self.jobs = solver, seed, jobs
        self.score, self.advance = score, advance
        self.trials: list[Trial] = []

    def run(self, stage: str, settings: Sequence[Setting]) -> Trial:
        """Try all settings; the first of the best wins."""
        job = _Job(self.prepared, tuple(settings), self.solver, self.seed)
        work = _temperatures if stage == "temperature" else _solutions
        n_labels = len(self.prepared.labels)
        total = np.zeros((len(settings), n_labels, n_labels), np.int64)
        images = np.zeros(n_labels, np.int64)
        for confusions in each(work, job, self.positions, self.jobs):
            total += confusions
            images += confusions[0].sum(axis=1) > 0
            self.advance(stage)
        iou = class_iou(total)
        every = mean_over_classes(iou)
        chosen = images >= FREQUENT
        frequent = mean_over_classes(iou, chosen) if chosen.any() else every
        trials = [
            Trial(stage, energy, potentials, float(a), float(f))
            for (energy, potentials), a, f in zip(settings, every, frequent, strict=True)
        ]
        self.trials += trials
        return max(trials, key=lambda trial: self.value(trial))

    def value(self, trial: Trial) -> float:
        """What is maximised."""
        return trial.frequent if self.score == "frequent" else trial.iou


def calibrate(
    prepared: Prepared,
    *,
    start: Energy | None = None,
    solver: str = "alpha_expansion",
    gates: Sequence[str] = GATES,
    grids: Grids | None = None,
    images: int | None = None,
    score: str = "all",
    seed: int = 0,
    jobs: int = 1,
    advance: Callable[[str], None] = lambda stage: None,
) -> Calibration:
    """Choose an energy on prepared training data.

    images: use so many, drawn by `seed`; all by default.
    score: "all" classes, or those "frequent" in at least ten of the images.
    """
    for gate in gates:
        if gate not in GATES:
            raise InvalidOption(f"gate {gate!r}: there are {', '.join(GATES)}")
    if score not in ("all", "frequent"):
        raise InvalidOption(f"score {score!r}: it is all or frequent")
    energy, grids = start or Energy(), grids or Grids()
    positions = _positions(prepared, images, seed)
    search = _Search(prepared, positions, solver, seed, jobs, score, advance)
    baseline = search.run("unary", [(energy, "u")])
    quantiles, spread, has_boxes, has_support = _survey(prepared, positions, grids.beta)

    pairwise = [
        search.run(f"pairwise {gate}", list(_pairwise(energy, gate, grids, quantiles, spread)))
        for gate in gates
    ]
    winner = max(pairwise, key=search.value)
    best = {"unary": baseline.iou} | {trial.stage: trial.iou for trial in pairwise}
    if has_boxes:
        factors = (0.5, 1.0, 2.0)
        pairs = itertools.product(factors, grids.w)
        settings = [
            (winner.energy.replace(alpha=winner.energy.alpha * f, w=w), "u+p+hop1")
            for f, w in pairs
        ]
        winner = search.run("hop1", settings)
        best["hop1"] = winner.iou
    if has_support:
        options = itertools.product(grids.lambda_, grids.C)
        settings = [
            (winner.energy.replace(lambda_=lam, C=c), "u+p+hop1+hop2") for lam, c in options
        ]
        winner = search.run("hop2", settings)
        best["hop2"] = winner.iou
    settings = [(winner.energy.replace(temperature=t), "") for t in grids.temperature]
    chosen = search.run("temperature", settings).energy
    return Calibration(chosen, tuple(search.trials), baseline.iou, len(positions), solver, best)


def stages(gates: Sequence[str]) -> int:
    """How many passes over the images `calibrate` makes at most."""
    return len(gates) + 4


def _pairwise(
    energy: Energy, gate: str, grids: Grids, quantiles: Sequence[float], spread: float
) -> Iterator[Setting]:
    if gate == "contrast":
        for alpha, colour, feature in itertools.product(
            grids.alpha, grids.sigma_colour, grids.sigma_feature
        ):
            changes: dict[str, Any] = {"alpha": alpha / 20, "sigma_colour": colour}
            yield energy.replace(gate=gate, sigma_feature=feature * spread, **changes), "u+p"
        return
    for alpha, beta in itertools.product(grids.alpha, quantiles):
        yield energy.replace(gate=gate, alpha=alpha, beta=beta), "u+p"


def _positions(prepared: Prepared, images: int | None, seed: int) -> list[int]:
    count = len(prepared)
    if images is None or images >= count:
        return list(range(count))
    if images < 1:
        raise InvalidOption(f"images is {images}; calibration needs at least one")
    return sorted(np.random.default_rng(seed).permutation(count)[:images].tolist())


def _survey(
    prepared: Prepared, positions: Sequence[int], levels: Sequence[float]
) -> tuple[list[float], float, bool, bool]:
    """Quantiles of |g_i · g_j|, mean of 1 − g_i · g_j, whether there are boxes for HOP1, HOP2."""
    products, boxes, support = [], False, False
    for position in positions[:: max(1, len(positions) // 100)]:
        record = prepared.record(position)
        products.append(record.product)
        boxes |= bool((record.box_labels > 0).any())
        support |= bool((record.box_support >= 0).any())
    joined = np.concatenate(products)
    quantiles = [round(float(q), 6) for q in np.quantile(np.abs(joined), levels)]
    return quantiles, round(float(1 - joined.mean()), 6), boxes, support


def _solutions(job: _Job, position: int, cache: dict[str, Any]) -> IntArray:
    """The confusion of every setting on one image, `[settings, L, L]`."""
    record = job.prepared.record(position)
    truth = _truth(record, job)
    out = []
    for energy, potentials in job.settings:
        crf = to_instance(record, energy, potentials=potentials).crf
        solver = "unary" if potentials == "u" else job.solver
        out.append(pixel_confusion(truth, solve(crf, solver, seed=job.seed).labels))
    return np.stack(out)


def _temperatures(job: _Job, position: int, cache: dict[str, Any]) -> IntArray:
    """The confusion of averaging each node with its neighbours, for every temperature."""
    record = job.prepared.record(position)
    truth = _truth(record, job)
    first, second = record.edges[:, 0], record.edges[:, 1]
    out = []
    for energy, _ in job.settings:
        weights = edge_weights(record, energy.temperature)
        mixed = record.distribution.astype(np.float64)
        np.add.at(mixed, first, weights[:, :1] * record.distribution[second])
        np.add.at(mixed, second, weights[:, 1:] * record.distribution[first])
        out.append(pixel_confusion(truth, mixed.argmax(axis=1)))
    return np.stack(out)


def _truth(record: Record, job: _Job) -> IntArray:
    truth = record.truth_counts()
    if truth is None:
        raise InvalidInstance(
            f"{job.prepared.folder}: {record.name} has no truth, and calibration needs it"
        )
    return truth
