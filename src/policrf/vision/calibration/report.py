"""A calibration as files: the energies, every setting as CSV, the best as Markdown, heat maps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from policrf.crf.io.files import atomic_write
from policrf.crf.io.json_text import as_json
from policrf.plots.figures import Heat, heat_figure
from policrf.vision.calibration.result import Calibration

# The weights that each stage varies; the first two are the axes of its picture.
_AXES = {
    "below": ("alpha", "beta"),
    "above": ("alpha", "beta"),
    "contrast": ("alpha", "sigma_colour", "sigma_feature"),
    "hop1": ("alpha", "w"),
    "hop2": ("lambda", "C", "support", "w"),
    "temperature": ("gate", "temperature"),
}


def write_calibration(found: Calibration, path: Path) -> list[Path]:
    """All files of a calibration, named after `path`; what was written, the energy first."""
    about = {
        "prepared": found.prepared,
        "images": found.images,
        "solver": found.options.solver,
        "score": found.options.score,
        "seed": found.options.seed,
        "iou": {stage: round(value, 6) for stage, value in found.best.items()},
    }
    written = [path]
    found.energy.save(path, about)
    for kind, energy in found.kinds.items():
        written.append(path.with_suffix(f".{kind}{path.suffix}"))
        energy.save(written[-1], about)
    for suffix, text in ((".csv", calibration_csv(found)), (".md", calibration_markdown(found))):
        written.append(path.with_suffix(suffix))
        with atomic_write(written[-1]) as file:
            file.write(text.encode())
    written.append(path.with_suffix(".png"))
    scale = f"pixel IoU, {found.options.score} classes, training images"
    heat_figure(written[-1], [heat_map(found, stage) for stage in found.stages()], scale)
    return written


def calibration_csv(found: Calibration) -> str:
    """Every setting that was tried."""
    columns = list(found.energy.as_dict())
    lines = [",".join(["stage", "potentials", "iou", "iou_frequent", *columns])]
    for trial in found.trials:
        weights = as_json(trial.energy.as_dict(), infinity="inf")
        figures = [f"{trial.iou:.6f}", f"{trial.frequent:.6f}"]
        plain = [str(weights[name]) for name in columns]
        lines.append(",".join([trial.stage, trial.potentials, *figures, *plain]))
    return "\n".join(lines) + "\n"


def calibration_markdown(found: Calibration) -> str:
    """The best five settings of every stage."""
    lines = [
        f"{found.images} images, {found.options.solver}, chosen by {found.options.score} classes; "
        f"unary argmax {100 * found.baseline:.2f}", "",
        "| stage | weights | IoU (p) | IoU (p) frequent |", "| --- | --- | --- | --- |",
    ]  # fmt: skip
    for stage in found.stages():
        trials = [trial for trial in found.trials if trial.stage == stage]
        for trial in sorted(trials, key=lambda trial: -found.value(trial))[:5]:
            weights = trial.energy.as_dict()
            shown = ", ".join(f"{name} {_short(weights[name])}" for name in _axes(stage))
            points = f"{100 * trial.iou:.2f} | {100 * trial.frequent:.2f}"
            lines.append(f"| {stage} | {shown} | {points} |")
    return "\n".join(lines) + "\n"


def heat_map(found: Calibration, stage: str) -> Heat:
    """The best score of a stage for every pair of its first two weights."""
    row, column = _axes(stage)[:2]
    scores: dict[tuple[Any, Any], float] = {}
    for trial in found.trials:
        if trial.stage == stage:
            weights = trial.energy.as_dict()
            key = weights[row], weights[column]
            scores[key] = max(scores.get(key, 0.0), 100 * found.value(trial))
    rows, columns = (sorted({key[axis] for key in scores}) for axis in (0, 1))
    return Heat(
        title=stage,
        values=np.asarray([[scores.get((r, c), np.nan) for c in columns] for r in rows]),
        rows=[_short(value) for value in rows],
        columns=[_short(value) for value in columns],
        row_name=row,
        column_name=column,
    )


def _axes(stage: str) -> tuple[str, ...]:
    return _AXES[stage.split()[-1]]


def _short(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
