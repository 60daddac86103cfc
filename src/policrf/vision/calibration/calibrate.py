"""Choosing an energy on prepared images with truth, so that it holds on the next images.

In stages (`stages.py`), each begun with the best energy so far and with the chosen one: the
pairwise term in all its forms, long-range edges, the band, HOP1, HOP2, and pixels decided at the
end, where they were kept. Settings that are clearly worse stop early (`search.py`). Then the energy
whose gain is surest is chosen, with no more terms than help (`choice.py`); the net alone is one of
the settings. Last comes the temperature of the policy's edge weights, by the score of
distributions averaged over neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from policrf.argument_types import typed
from policrf.crf.io.json_text import to_json
from policrf.datasets.options import changed
from policrf.datasets.store import Prepared
from policrf.errors import InvalidInstance
from policrf.execution.executor import Advance, Executor
from policrf.execution.processes import chosen
from policrf.metrics import FREQUENT
from policrf.types import IntArray
from policrf.vision.calibration.choice import assign_folds, choose
from policrf.vision.calibration.counting import Job, count_item
from policrf.vision.calibration.journal import Journal
from policrf.vision.calibration.options import CalibrateOptions, Grids
from policrf.vision.calibration.outcome import outcome
from policrf.vision.calibration.result import Calibration
from policrf.vision.calibration.scores import frequent_classes, scores
from policrf.vision.calibration.search import Search
from policrf.vision.calibration.stages import PAPER, Survey, all_stages, net_alone, paper_stages
from policrf.vision.energy.weights import Energy

STEPS = 9  # passes over the images: the net, up to six stages, the picture, the temperature


@typed()
def calibrate(
    prepared: Prepared | str | Path,
    options: CalibrateOptions | None = None,
    *,
    start: Energy | None = None,
    grids: Grids | None = None,
    jobs: int = 1,
    executor: Executor | None = None,
    journal: str | Path | None = None,
    advance: Advance = lambda stage: None,
    **changes: Any,
) -> Calibration:
    """Choose an energy on prepared data.

    Parameters
    ----------
    prepared
        What `prepare` wrote, with truth.
    options
        Solver, gates, images, folds, score, seed; the defaults without them.
    start
        The weights that are not varied.
    grids
        The values that are tried.
    jobs
        Processes. A script that asks for more than one needs `if __name__ == "__main__":`.
    executor
        Who does the work instead of processes, such as a `RayCluster`.
    journal
        A file that keeps what has been scored: the same call goes on from it after a kill.
    advance
        Called with the stage for every image that is done.
    changes
        Fields of `CalibrateOptions` by name, such as solver="icm".

    Returns
    -------
    Calibration
        With fewer than two frequent classes nothing is tried and the energy is the net alone,
        unless force=True.
    """
    asked = changed(options or CalibrateOptions(), changes, "calibrate")
    if not isinstance(prepared, Prepared):
        prepared = Prepared(prepared)
    energy, grids = start or Energy(), grids or Grids()
    if asked.form == "paper":
        energy = energy.replace(**PAPER)
    positions = _positions(prepared, asked)
    survey, truth = _survey(prepared, positions, grids.beta)
    frequent = frequent_classes(truth, FREQUENT)
    few = int(frequent.sum()) < 2
    counted = frequent_classes(truth, 1) if few or asked.score == "all" else frequent
    question = [prepared.recipe.as_dict(), prepared.names, asked.solver, asked.seed]
    job = Job(prepared, asked.solver, asked.seed)
    with chosen(executor, jobs).open(count_item, job) as workers:
        search = Search(
            workers,
            positions,
            truth,
            counted,
            assign_folds(len(positions), asked.folds),
            journal=Journal(None if journal is None else Path(journal), to_json(question)),
            advance=advance,
        )
        try:
            search.run("net", [net_alone(energy)])
            if not few or asked.force:
                _run_stages(search, net_alone(energy), grids, asked, survey)
            return outcome(search, grids, asked, prepared, few=few)
        finally:
            search.journal.close()


def _run_stages(
    search: Search, net: Energy, grids: Grids, options: CalibrateOptions, survey: Survey
) -> None:
    stages = paper_stages if options.form == "paper" else all_stages
    for stage in stages(grids, options.gates, survey):
        search.run(stage.name, stage.energies(_bases(search)))


def _bases(search: Search) -> Sequence[Energy]:
    """The energy of the best score so far, and the one that would be chosen."""
    scored = search.scored()
    best = scored.energies[int(scores(scored.counts).argmax())]
    taken = scored.energies[choose(scored)]
    return [best] if best == taken else [best, taken]


def _positions(prepared: Prepared, options: CalibrateOptions) -> list[int]:
    """The images in random order."""
    if not len(prepared):
        raise InvalidInstance(f"{prepared.folder}: there are no prepared images to calibrate on")
    order = np.random.default_rng(options.seed).permutation(len(prepared))
    return [int(position) for position in order[: options.images]]


def _survey(
    prepared: Prepared, positions: Sequence[int], levels: Sequence[float]
) -> tuple[Survey, IntArray]:
    """What decides the values to try, and the pixels of every label on every image, `[n, L]`."""
    products, truth, boxes = [], [], False
    sampled = set(positions[:: max(1, len(positions) // 100)])
    for position in positions:
        record = prepared.record(position)
        if record.truth is None:
            raise InvalidInstance(
                f"{prepared.folder}: {record.name} has no truth, and calibration needs it; "
                "prepare a data set with masks"
            )
        truth.append(record.truth.sum(axis=0))
        boxes |= bool((record.box_labels > 0).any())
        if position in sampled:
            products.append(record.product)
    joined = np.concatenate(products).astype(np.float64)
    if not len(joined):
        joined = np.ones(1)
    quantiles = {round(float(q), 6) for q in np.quantile(np.abs(joined), levels)}
    spread = round(float(1 - joined.mean()), 6) or 1.0
    survey = Survey(
        quantiles=tuple(sorted(quantiles)), spread=spread, boxes=boxes,
        pixels=prepared.recipe.keep_pixels,
    )  # fmt: skip
    return survey, np.stack(truth)
