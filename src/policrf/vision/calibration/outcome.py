"""From all scored settings to a Calibration: the choice, the kinds, the picture's profiles."""

from __future__ import annotations

from policrf.crf.io.json_text import to_json
from policrf.datasets.store import Prepared
from policrf.metrics import FREQUENT
from policrf.vision.calibration.choice import (
    Scored,
    choose,
    choose_confirmed,
    family_estimates,
    fold_estimate,
    surest,
)
from policrf.vision.calibration.journal import digest
from policrf.vision.calibration.options import CalibrateOptions, Grids
from policrf.vision.calibration.result import Calibration, Profile, Trial
from policrf.vision.calibration.scores import scores
from policrf.vision.calibration.search import Row, Search
from policrf.vision.calibration.stages import TERMS, crf_terms, energy_key, net_alone, terms_of
from policrf.vision.energy.weights import Energy

FEW_IMAGES = 100  # below, a choice is worth a warning
NO_PIXELS = (
    "the prepared data hold no pixels, so deciding pixels at the end was not tried and is left out "
    "(pixels: 0); prepare with --keep-pixels to have it tried"
)


def outcome(
    search: Search, grids: Grids, options: CalibrateOptions, prepared: Prepared, *, few: bool
) -> Calibration:
    """The choice among everything that `search` has scored.

    Parameters
    ----------
    search
        At least the net alone is in it.
    grids, options, prepared
        As `calibrate` has them.
    few
        Fewer than two classes are frequent.
    """
    scored = search.scored()
    chosen = choose(scored) if options.force else choose_confirmed(scored)
    energy = scored.energies[chosen]
    tried = len(scored.energies) > 1
    profiles = _profiles(search, energy, scored, grids) if tried else {}
    warm = {"temperature": _temperature(search, energy, grids)} if tried else {}
    trials = {key: _trial(search, row) for key, row in search.rows.items()}
    classes = [name for name, c in zip(prepared.labels, search.classes, strict=True) if c]
    return Calibration(
        energy=energy.replace(**warm),
        terms=terms_of(energy),
        chosen=trials[energy_key(energy)],
        net=next(iter(trials.values())),
        folds=fold_estimate(scored),  # of choosing without that last look
        kinds={name: e.replace(**warm) for name, e in _kinds(scored).items()},
        estimates=family_estimates(scored),
        trials=tuple(trials.values()),
        scored=scored,
        profiles=tuple(
            Profile(
                weight,
                tuple(float(getattr(e, weight)) for e in energies),
                tuple(trials[energy_key(e)] for e in energies),
                float(getattr(energy, weight)),
            )
            for weight, energies in profiles.items()
        ),
        classes=tuple(classes),
        images=len(search.positions),
        about=_about(prepared),
        options=options,
        warnings=(
            *_warnings(len(search.positions), len(classes), options, few=few),
            *([NO_PIXELS] if tried and not prepared.recipe.keep_pixels else []),
        ),
    )


def _trial(search: Search, row: Row) -> Trial:
    net = next(iter(search.rows.values()))
    values, errors, paired = search.compared(row, net)
    return Trial(
        stage=row.stage,
        energy=row.energy,
        images=len(row.counts),
        score=float(values[0]),
        error=float(errors[0]),
        difference=float(values[0] - values[1]),
        difference_error=float(paired[0]),
        iou=search.all_classes(row),
    )


def _kinds(scored: Scored) -> dict[str, Energy]:
    """The choice among the energies whose last potential is the named one."""
    found = {"u": scored.energies[0]}
    last = {"u+p": {"p", "far"}, "u+p+hop1": {"hop1"}, "u+p+hop1+hop2": {"hop2"}}
    for kind, names in last.items():
        members = [s for s, e in enumerate(scored.energies) if {*crf_terms(e)[-1:]} & names]
        if members:
            found[kind] = scored.energies[surest(scored, members)]
    return found


def _profiles(
    search: Search, energy: Energy, scored: Scored, grids: Grids
) -> dict[str, list[Energy]]:
    """Every term's weight varied, the others as chosen; scored on all images."""
    best = scored.energies[int(scores(scored.counts).argmax())]
    # Without terms the choice has no form of its own; the picture shows the best one's.
    base = energy if terms_of(energy) else net_alone(best)
    pixels = getattr(base, "unary", "mean") == "pixels"
    contrast = grids.alpha_pixels if pixels else grids.alpha_contrast
    values: dict[str, tuple[float, ...]] = {
        "alpha": contrast if base.gate == "contrast" else grids.alpha,
        "long_range": grids.long_range,
        "w": grids.w,
        "lambda_": grids.lambda_,
        "pixels": grids.pixels,
    }
    active = {term for e in scored.energies for term in terms_of(e)}
    found = {}
    for weight, term in TERMS.items():
        if term in active:
            line = sorted({0.0, *values[weight], getattr(base, weight)})
            found[weight] = [base.replace(**{weight: value}) for value in line]
    search.run("profile", [e for line in found.values() for e in line], stop_early=False)
    return found


def _temperature(search: Search, energy: Energy, grids: Grids) -> float:
    tried = [energy.replace(temperature=t) for t in grids.temperature]
    return tried[int(search.averaged(tried).argmax())].temperature


def _about(prepared: Prepared) -> dict[str, object]:
    recipe = prepared.recipe.as_dict()
    return {
        "prepared": prepared.folder.name,
        "dataset": recipe["dataset"],
        "superpixels": recipe["superpixels"],
        "recipe": digest(to_json(recipe)),
    }


def _warnings(images: int, classes: int, options: CalibrateOptions, *, few: bool) -> list[str]:
    if few and not options.force:
        return [
            f"fewer than two classes occur on at least {FREQUENT} of the {images} images: too few "
            "to choose an energy on, so the result is the net alone; prepare more images, or "
            "choose all the same with --force"
        ]
    if few:
        return [
            f"fewer than two classes occur on at least {FREQUENT} of the {images} images; the "
            "choice was forced, and another draw of images may well give another one"
        ]
    if images < FEW_IMAGES:
        return [
            f"only {images} images and {classes} classes carry this choice; "
            f"with {FEW_IMAGES} or more it would be firmer"
        ]
    return []
