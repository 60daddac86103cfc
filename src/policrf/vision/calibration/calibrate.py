"""The paper's grid search over the energy's weights, on training instances only (appendix A).

In stages, each with the best of the one before: the pairwise term for every gate (α with β, or with
the contrast's widths), then HOP1 (w, with α once more), then HOP2 (λ, C and w), and last the
temperature of the policy's edge weights. Every setting is scored by the pixel IoU of a solver's
labelings; a temperature by that of distributions averaged over neighbours with its weights.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from policrf.datasets.options import changed
from policrf.datasets.store import Prepared
from policrf.datasets.workers import Advance, each
from policrf.errors import InvalidInstance, InvalidOption
from policrf.metrics import FREQUENT, class_iou, mean_over_classes, pixel_confusion
from policrf.solvers import solve
from policrf.types import IntArray
from policrf.vision.build import to_instance
from policrf.vision.calibration.result import CalibrateOptions, Calibration, Grids, Trial
from policrf.vision.energy_weights import Energy
from policrf.vision.node_features import edge_weights
from policrf.vision.record import Record

Setting = tuple[Energy, str]


@dataclass(frozen=True)
class _Job:
    prepared: Prepared
    settings: tuple[Setting, ...]
    solver: str
    seed: int


class _Search:
    """Scores settings on a fixed set of images."""

    def __init__(
        self, prepared: Prepared, options: CalibrateOptions, jobs: int, advance: Advance
    ) -> None:
        self.prepared, self.options = prepared, options
        self.positions = _positions(prepared, options.images, options.seed)
        self.jobs, self.advance = jobs, advance
        self.trials: list[Trial] = []

    def run(self, stage: str, settings: Sequence[Setting]) -> Trial:
        """Try all settings; the first of the best wins."""
        job = _Job(self.prepared, tuple(settings), self.options.solver, self.options.seed)
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
            Trial(
                stage=stage, energy=energy, potentials=potentials, iou=float(a), frequent=float(f)
            )
            for (energy, potentials), a, f in zip(settings, every, frequent, strict=True)
        ]
        self.trials += trials
        return max(trials, key=self.value)

    def value(self, trial: Trial) -> float:
        """What is maximised."""
        return trial.value(self.options.score)


def calibrate(
    prepared: Prepared | str | Path,
    options: CalibrateOptions | None = None,
    *,
    start: Energy | None = None,
    grids: Grids | None = None,
    jobs: int = 1,
    advance: Advance = lambda stage: None,
    **changes: Any,
) -> Calibration:
    """Choose an energy on prepared training data.

    Parameters
    ----------
    prepared
        What `prepare` wrote, with truth.
    options
        Solver, gates, images, score, seed; the defaults without them. With score="frequent"
        few images decide with less noise (all classes count where none is frequent).
    start
        The weights that are not varied, and those of the first stage.
    grids
        The values that are tried.
    jobs
        Processes. A script that asks for more than one needs `if __name__ == "__main__":`.
    advance
        Called with the stage for every image that is done.
    changes
        Fields of `CalibrateOptions` by name, such as solver="icm".
    """
    chosen = changed(options or CalibrateOptions(), changes, "calibrate")
    if not isinstance(prepared, Prepared):
        prepared = Prepared(prepared)
    energy, grids = start or Energy(), grids or Grids()
    search = _Search(prepared, chosen, jobs, advance)
    baseline = search.run("unary", [(energy, "u")])
    quantiles, spread, has_boxes = _survey(prepared, search.positions, grids.beta)

    pairwise = [
        search.run(f"pairwise {gate}", list(_pairwise(energy, gate, grids, quantiles, spread)))
        for gate in chosen.gates
    ]
    steps = [max(pairwise, key=search.value)]
    for stage, settings in (("hop1", _agreement), ("hop2", _support)) if has_boxes else ():
        steps.append(search.run(stage, list(settings(steps[-1].energy, grids))))
    winner = steps[-1].energy
    warm = [(winner.replace(temperature=t), "") for t in grids.temperature]
    temperature = search.run("temperature", warm).energy.temperature
    kinds = {"u": energy} | {step.potentials: step.energy for step in steps}
    scored = (baseline, *pairwise, *steps[1:])
    return Calibration(
        energy=winner.replace(temperature=temperature),
        kinds={name: kind.replace(temperature=temperature) for name, kind in kinds.items()},
        trials=tuple(search.trials),
        baseline=search.value(baseline),
        images=len(search.positions),
        prepared=prepared.folder.name,
        options=chosen,
        best={trial.stage: search.value(trial) for trial in scored},
    )


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
    # A quota that is met by a part of the box asks HOP1 for the rest: w is tried again beside it.
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
    truth = record.truth
    if truth is None:
        raise InvalidInstance(
            f"{job.prepared.folder}: {record.name} has no truth, and calibration needs it"
        )
    return truth
