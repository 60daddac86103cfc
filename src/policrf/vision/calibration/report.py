"""A calibration as files: the energies, every setting as CSV, kinds and the best as Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from policrf.crf.io.files import atomic_write
from policrf.crf.io.json_text import as_json
from policrf.plots.figures import Band, band_figure
from policrf.vision.calibration.choice import Estimate
from policrf.vision.calibration.result import Calibration, Trial
from policrf.vision.calibration.stages import Terms

# The weights that a stage varies, for the tables.
_AXES = {
    "pairwise": ("gate", "unary", "alpha", "beta", "sigma_colour", "sigma_feature"),
    "far": ("long_range", "alpha"),
    "band": ("band",),
    "hop1": ("w", "alpha"),
    "hop2": ("lambda", "C", "support", "w"),
    "pixels": ("pixels", "unary", "alpha", "long_range", "sigma_colour", "band"),
    "profile": ("alpha", "long_range", "w", "lambda", "pixels"),
}
_BEST = 5  # settings of a stage in the table


def write_calibration(found: Calibration, path: Path) -> list[Path]:
    """All files of a calibration, named after `path`; what was written, the energy first."""
    about = calibration_summary(found)
    written = [path]
    found.energy.save(path, about)
    for kind, energy in found.kinds.items():
        written.append(path.with_suffix(f".{kind}{path.suffix}"))
        energy.save(written[-1], about)
    for suffix, text in ((".csv", calibration_csv(found)), (".md", calibration_markdown(found))):
        written.append(path.with_suffix(suffix))
        with atomic_write(written[-1]) as file:
            file.write(text.encode())
    if found.profiles:
        written.append(path.with_suffix(".png"))
        _draw(found, written[-1])
    return written


def calibration_summary(found: Calibration) -> dict[str, Any]:
    """On what the energy was chosen, and what that is worth: plain values for energy.yaml."""
    summary: dict[str, Any] = as_json(
        found.about
        | {
            "images": found.images,
            "classes": found.classes,
            "score": found.options.score,
            "folds": found.options.folds,
            "seed": found.options.seed,
            "solver": found.options.solver,
            "terms": _named(found.terms),
            "settings": len(found.trials),
            "net": _points(found.net.score),
            "chosen": _estimate(_as_estimate(found.chosen)),
            "by_folds": _estimate(found.folds),
            "terms_allowed": {_named(terms): _estimate(e) for terms, e in found.estimates.items()},
        }
        | ({"warnings": found.warnings} if found.warnings else {})
    )
    return summary


def verdict(found: Calibration) -> str:
    """The choice in a sentence."""
    basis = f"{found.images} images and {len(found.classes)} classes ({', '.join(found.classes)})"
    if not found.terms:
        choice = (
            "the net alone: no energy is better beyond one standard error"
            if len(found.trials) > 1
            else "the net alone: nothing was tried"
        )
        return f"Chosen on {basis}: {choice}."
    gain, fold = _gain(_as_estimate(found.chosen)), _gain(found.folds)
    return (
        f"Chosen on {basis}: {_named(found.terms)}, {gain} points to the net there; "
        f"the same rule on folds it did not choose on: {fold}."
    )


def calibration_csv(found: Calibration) -> str:
    """Every setting that was tried."""
    columns = list(found.energy.as_dict())
    figures = "stage,images,score,error,difference,difference_error,iou_all,chosen"
    lines = [",".join([figures, *columns])]
    for trial in found.trials:
        weights = as_json(trial.energy.as_dict(), infinity="inf")
        values = [trial.score, trial.error, trial.difference, trial.difference_error, trial.iou]
        lines.append(
            ",".join(
                [trial.stage, str(trial.images), *(f"{value:.6f}" for value in values)]
                + [str(int(trial == found.chosen))]
                + [str(weights[name]).replace(",", ";") for name in columns]
            )
        )
    return "\n".join(lines) + "\n"


def calibration_markdown(found: Calibration) -> str:
    """The choice, the kinds by folds, and the best settings of every stage."""
    lines = [verdict(found), *found.warnings, ""]
    lines += ["| terms allowed | by folds: IoU (p) | to the net |", "| --- | --- | --- |"]
    for terms, estimate in found.estimates.items():
        score = f"{100 * estimate.score:.2f}"
        lines.append(f"| {_named(terms)} | {score} | {_gain(estimate)} |")
    lines += ["", "| stage | weights | images | IoU (p) | to the net | IoU (p), all classes |"]
    lines += ["|" + " --- |" * 6]
    for stage in found.stages():
        trials = [trial for trial in found.trials if trial.stage == stage]
        for trial in sorted(trials, key=lambda trial: (-trial.images, -trial.score))[:_BEST]:
            lines.append(_line(trial))
    return "\n".join(lines) + "\n"


def _line(trial: Trial) -> str:
    weights = trial.energy.as_dict()
    axes = [name for name in _AXES.get(trial.stage, ()) if name in weights]
    shown = ", ".join(f"{name} {_short(weights[name])}" for name in axes)
    score = f"{100 * trial.score:.2f} ± {100 * trial.error:.2f}"
    gain = _gain(_as_estimate(trial))
    return (
        f"| {trial.stage} | {shown} | {trial.images} | {score} | {gain} | {100 * trial.iou:.2f} |"
    )


def _draw(found: Calibration, path: Path) -> None:
    panels = [
        Band(
            title=profile.weight.rstrip("_"),
            x=[_short(value) for value in profile.values],
            y=[100 * trial.difference for trial in profile.trials],
            error=[100 * trial.difference_error for trial in profile.trials],
            chosen=profile.values.index(profile.chosen) if profile.chosen in profile.values else 0,
        )
        for profile in found.profiles
    ]
    title = f"{found.images} images, {len(found.classes)} classes; band: one standard error"
    band_figure(path, panels, "points of pixel IoU to the net alone", title=title)


def _as_estimate(trial: Trial) -> Estimate:
    return Estimate(trial.score, trial.difference, trial.difference_error)


def _estimate(estimate: Estimate) -> dict[str, float]:
    return {
        "score": _points(estimate.score),
        "to_net": _points(estimate.difference),
        "error": _points(estimate.error),
    }


def _gain(estimate: Estimate) -> str:
    return f"{100 * estimate.difference:+.2f} ± {100 * estimate.error:.2f}"


def _points(value: float) -> float:
    """A share as points with two digits."""
    return round(100 * value, 2)


def _named(terms: Terms) -> str:
    return "+".join(("u", *terms)) if terms else "net alone"


def _short(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
