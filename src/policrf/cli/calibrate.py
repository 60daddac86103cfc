"""`policrf calibrate PREPARED --out energy.yaml`: choose the energy's weights on training data."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from policrf.errors import InvalidFile

if TYPE_CHECKING:
    from policrf.plots.figures import Heat
    from policrf.vision.calibrate import Calibration

# The weights that each stage varies; the first two are the axes of its picture.
_AXES = {
    "below": ("alpha", "beta"),
    "above": ("alpha", "beta"),
    "contrast": ("alpha", "sigma_colour", "sigma_feature"),
    "hop1": ("alpha", "w"),
    "hop2": ("lambda", "C", "support", "w"),
    "temperature": ("gate", "temperature"),
}


@dataclass(frozen=True)
class Config:
    """Grid search over the weights of the energy, scored by pixel IoU on training images."""

    prepared: Annotated[Path, tyro.conf.Positional]
    """Prepared training data, with truth."""
    out: Path = Path("energy.yaml")
    """The chosen weights; beside it .KIND.yaml for each kind of energy, .csv, .md and .png."""
    solver: str = "alpha_expansion"
    """Which solver labels the images."""
    gates: tuple[Literal["below", "above", "contrast"], ...] = ("below", "above", "contrast")
    """Which forms of the pairwise term to try."""
    images: int | None = None
    """Use only so many images, drawn by the seed."""
    score: Literal["all", "frequent"] = "frequent"
    """Mean IoU over all classes, or over those that occur in at least ten of the images."""
    seed: int = 0
    """Seed of the draw and of the solver."""
    jobs: int = os.cpu_count() or 1
    """Processes."""
    json: bool = False
    """Print one JSON object instead of text."""


def run(config: Config) -> None:
    """Calibrate, write the energy with tables and a picture, print the best of every stage."""
    from policrf.cli.progress import progress_bar
    from policrf.datasets.store import Prepared
    from policrf.solvers.spec import SolverSpec
    from policrf.vision.calibrate import calibrate, stages

    SolverSpec.parse(config.solver)
    if not config.out.parent.is_dir():
        raise InvalidFile(f"{config.out}: the folder {config.out.parent} does not exist")
    prepared = Prepared(config.prepared)
    images = min(config.images or len(prepared), len(prepared))
    with progress_bar("calibrating", images * stages(config.gates)) as advance:
        found = calibrate(
            prepared, solver=config.solver, gates=config.gates, images=config.images,
            score=config.score, seed=config.seed, jobs=config.jobs, advance=advance,
        )  # fmt: skip
    _write(config, found)
    chosen = {name: _plain(value) for name, value in found.energy.as_dict().items()}
    if config.json:
        print(json.dumps({"energy": chosen, "best": found.best, "images": found.images}))
        return
    print(_markdown(found), end="")
    print(f"\n{config.out}: " + ", ".join(f"{k} {v}" for k, v in chosen.items()))


def _write(config: Config, found: Calibration) -> None:
    from policrf.crf.io.files import atomic_write
    from policrf.plots.figures import heat_figure

    about = {
        "prepared": config.prepared.name,
        "images": found.images,
        "solver": found.solver,
        "score": config.score,
        "seed": config.seed,
        "iou": {stage: round(value, 6) for stage, value in found.best.items()},
    }
    found.energy.save(config.out, about)
    for kind, energy in found.kinds.items():
        energy.save(config.out.with_suffix(f".{kind}{config.out.suffix}"), about)
    for suffix, text in ((".csv", _csv(found)), (".md", _markdown(found))):
        with atomic_write(config.out.with_suffix(suffix)) as file:
            file.write(text.encode())
    panels = [_heat(found, stage, *_AXES[stage.split()[-1]][:2]) for stage in _stages(found)]
    heat_figure(
        config.out.with_suffix(".png"), panels, f"pixel IoU, {found.score} classes, training images"
    )


def _csv(found: Calibration) -> str:
    """Every setting that was tried."""
    columns = list(found.energy.as_dict())
    lines = [",".join(["stage", "potentials", "iou", "iou_frequent", *columns])]
    for trial in found.trials:
        weights = trial.energy.as_dict()
        figures = [f"{trial.iou:.6f}", f"{trial.frequent:.6f}"]
        plain = [str(_plain(weights[name])) for name in columns]
        lines.append(",".join([trial.stage, trial.potentials, *figures, *plain]))
    return "\n".join(lines) + "\n"


def _markdown(found: Calibration) -> str:
    """The best five settings of every stage."""
    lines = [
        f"{found.images} images, {found.solver}, chosen by {found.score} classes; "
        f"unary argmax {100 * found.baseline:.2f}", "",
        "| stage | weights | IoU (p) | IoU (p) frequent |", "| --- | --- | --- | --- |",
    ]  # fmt: skip
    for stage in _stages(found):
        trials = [trial for trial in found.trials if trial.stage == stage]
        for trial in sorted(trials, key=lambda trial: -found.value(trial))[:5]:
            weights = trial.energy.as_dict()
            shown = ", ".join(f"{k} {_short(weights[k])}" for k in _AXES[stage.split()[-1]])
            points = f"{100 * trial.iou:.2f} | {100 * trial.frequent:.2f}"
            lines.append(f"| {stage} | {shown} | {points} |")
    return "\n".join(lines) + "\n"


def _stages(found: Calibration) -> list[str]:
    return list(dict.fromkeys(trial.stage for trial in found.trials if trial.stage != "unary"))


def _heat(found: Calibration, stage: str, row: str, column: str) -> Heat:
    """The best score of a stage for every pair of two weights."""
    import numpy as np

    from policrf.plots.figures import Heat

    scores: dict[tuple[Any, Any], float] = {}
    for trial in found.trials:
        if trial.stage == stage:
            weights = trial.energy.as_dict()
            key = weights[row], weights[column]
            scores[key] = max(scores.get(key, 0.0), 100 * found.value(trial))
    rows, columns = (sorted({key[axis] for key in scores}) for axis in (0, 1))
    values = np.asarray([[scores.get((r, c), np.nan) for c in columns] for r in rows])
    names = [[_short(value) for value in axis] for axis in (rows, columns)]
    return Heat(stage, values, names[0], names[1], row, column)


def _short(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def _plain(value: Any) -> Any:
    return "inf" if value == float("inf") else value
