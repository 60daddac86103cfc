"""The paper's grid search over the energy's weights, on training instances only (appendix A).

In stages, each with the best of the one before: the pairwise term for every gate (α with β, or with
the contrast's widths), then HOP1 (w, with α once more), then HOP2 (λ, C and w), and last the
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

from policrf.datasets.store import Prepared
from policrf.datasets.workers import each
from policrf.errors import InvalidInstance, InvalidOption
from policrf.metrics import class_iou, mean_over_classes, pixel_confusion
from policrf.solvers import solve
from policrf.types import IntArray
from policrf.vision.build import to_instance
from policrf.vision.energy_weights import Energy
from policrf.vision.node_features import edge_weights
from policrf.vision.record import Record

Setting = tuple[Energy, str]
GATES = ("below", "above", "contrast")
FREQUENT = 10


@dataclass(frozen=True)
class Grids:
    """The values that are tried."""

    alpha: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
    """For the hard gates."""
    alpha_contrast: tuple[float, ...] = (0.0125, 0.025, 0.05, 0.1, 0.2, 0.4)
    """For the contrast gate, per pixel of border."""
    beta: tuple[float, ...] = (0.1, 0.25, 0.5, 0.75, 0.9)
    """Quantiles of |g_i · g_j| over the training edges."""
    sigma_colour: tuple[float, ...] = (5.0, 10.0, 20.0, math.inf)
    sigma_feature: tuple[float, ...] = (0.5, 2.0, math.inf)
    """In units of the mean of 1 − g_i · g_j over the training edges."""
    w: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
    w_support: tuple[float, ...] = (0.4,)
    """Values of w that are tried beside the chosen one when HOP2 joins."""
    lambda_: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)
    C: tuple[float, ...] = (1.5, 2.0, 3.0)
    support: tuple[str, ...] = ("special", "all")
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
    kinds: dict[str, Energy]
    """The best energy of every kind: u, u+p, u+p+hop1, u+p+hop1+hop2. A term that lowers the score
    is there with the weight that harms least; `best` shows it."""
    trials: tuple[Trial, ...]
    baseline: float
    """Score of the unary argmax on the same images."""
    images: int
    solver: str
    score: str
    best: dict[str, float] = field(default_factory=dict)
    """The score of the best setting of every stage."""

    def value(self, trial: Trial) -> float:
        """What was maximised."""
        return trial.frequent if self.score == "frequent" else trial.iou


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
        return max(trials, key=self.value)

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
    score: str = "frequent",
    seed: int = 0,
    jobs: int = 1,
    advance: Callable[[str], None] = lambda stage: None,
) -> Calibration:
    """Choose an energy on prepared training data.

    images: use so many, drawn by `seed`; all by default.
    score: the mean IoU over "all" classes, or over those "frequent" in at least ten of the images,
    which few images decide with less noise (over all classes where none is frequent).
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
    quantiles, spread, has_boxes = _survey(prepared, positions, grids.beta)

    pairwise = [
        search.run(f"pairwise {gate}", list(_pairwise(energy, gate, grids, quantiles, spread)))
        for gate in gates
    ]
    winner = max(pairwise, key=search.value)
    best = {trial.stage: search.value(trial) for trial in (baseline, *pairwise)}
    kinds = {"u": energy, "u+p": winner.energy}
    if has_boxes:
        for stage, settings in (("hop1", _agreement), ("hop2", _support)):
            winner = search.run(stage, list(settings(winner.energy, grids)))
            kinds[winner.potentials] = winner.energy
            best[stage] = search.value(winner)
    warm = [(winner.energy.replace(temperature=t), "") for t in grids.temperature]
    temperature = search.run("temperature", warm).energy.temperature
    kinds = {name: kind.replace(temperature=temperature) for name, kind in kinds.items()}
    return Calibration(
        energy=winner.energy.replace(temperature=temperature),
        kinds=kinds,
        trials=tuple(search.trials),
        baseline=search.value(baseline),
        images=len(positions),
        solver=solver,
        score=score,
        best=best,
    )


def stages(gates: Sequence[str]) -> int:
    """How many passes over the images `calibrate` makes at most."""
    return len(gates) + 4


def _pairwise(
    energy: Energy, gate: str, grids: Grids, quantiles: Sequence[float], spread: float
) -> Iterator[Setting]:
    if gate == "contrast":
        for alpha, colour, feature in itertools.product(
            grids.alpha_contrast, grids.sigma_colour, grids.sigma_feature
        ):
            widths = {"sigma_colour": colour, "sigma_feature": feature * spread}
            yield energy.replace(gate=gate, alpha=alpha, **widths), "u+p"
        return
    for alpha, beta in itertools.product(grids.alpha, quantiles):
        yield energy.replace(gate=gate, alpha=alpha, beta=beta), "u+p"


def _agreement(energy: Energy, grids: Grids) -> Iterator[Setting]:
    for factor, w in itertools.product((0.5, 1.0, 2.0), grids.w):
        yield energy.replace(alpha=energy.alpha * factor, w=w), "u+p+hop1"


def _support(energy: Energy, grids: Grids) -> Iterator[Setting]:
    # A quota that is met by a part of the box asks HOP1 for the rest: w is tried anew beside it.
    strengths = sorted({energy.w, *grids.w_support})
    for w, chosen, lam, c in itertools.product(strengths, grids.support, grids.lambda_, grids.C):
        yield energy.replace(w=w, support=chosen, lambda_=lam, C=c), "u+p+hop1+hop2"


def _positions(prepared: Prepared, images: int | None, seed: int) -> list[int]:
    count = len(prepared)
    if images is None or images >= count:
        return list(range(count))
    if images < 1:
        raise InvalidOption(f"images is {images}; calibration needs at least one")
    return sorted(np.random.default_rng(seed).permutation(count)[:images].tolist())


def _survey(
    prepared: Prepared, positions: Sequence[int], levels: Sequence[float]
) -> tuple[list[float], float, bool]:
    """Quantiles of |g_i · g_j|, the mean of 1 − g_i · g_j, and whether there are boxes."""
    products, boxes = [], False
    for position in positions[:: max(1, len(positions) // 100)]:
        record = prepared.record(position)
        products.append(record.product)
        boxes |= bool((record.box_labels > 0).any())
    joined = np.concatenate(products)
    quantiles = [round(float(q), 6) for q in np.quantile(np.abs(joined), levels)]
    return quantiles, round(float(1 - joined.mean()), 6), boxes


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
