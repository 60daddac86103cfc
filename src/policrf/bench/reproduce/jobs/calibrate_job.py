"""A cell of kind calibrate: weights for every kind of energy, chosen on training images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.jobs.prepare_job import prepared_folder
from policrf.bench.reproduce.store import Store, Tell
from policrf.crf.io.json_text import as_json
from policrf.datasets.store import Prepared
from policrf.errors import InvalidInstance
from policrf.execution.executor import Executor
from policrf.vision.calibration.calibrate import STEPS, calibrate
from policrf.vision.calibration.options import CalibrateOptions, Form, Grids
from policrf.vision.energy.weights import Energy

FORMS: dict[str, Form] = {"paper": "paper", "ours": "all"}
# One value each, for the preset that only shows that everything runs.
SMALL = Grids(
    alpha=(0.2,), beta=(0.5,), w=(0.2,), w_support=(), lambda_=(1.0,), lambda_fixed=(2.0,),
    C=(2.0,), support=("special",), temperature=(0.1,),
)  # fmt: skip


def energy_file(store: Store, cell: Cell, terms: str) -> Path:
    """The weights of one kind of energy."""
    return store.folder(cell) / f"energy.{terms}.yaml"


def load_energy(store: Store, cell: Cell, terms: str) -> Energy:
    """The same, read; weights that no image asked for are an error that says so."""
    path = energy_file(store, cell, terms)
    if not path.is_file():
        raise InvalidInstance(
            f"{cell.name}: calibration has found no energy {terms}: no training image has a box; "
            "give a --detector"
        )
    return Energy.load(path)


def run_calibrate(cell: Cell, store: Store, tell: Tell, executor: Executor) -> Any:
    """Choose the weights; goes on from the journal of a run that was killed."""
    about, folder = cell.about, store.folder(cell)
    prepared = Prepared(prepared_folder(store, cell.needs["data"]))
    options = CalibrateOptions(
        form=FORMS[about["form"]], images=min(about["images"], len(prepared)), seed=about["seed"],
        force=True,
    )  # fmt: skip
    total, done = STEPS * min(about["images"], len(prepared)), [0]

    def advance(stage: str) -> None:
        done[0] += 1
        tell(min(1.0, done[0] / total), stage)

    journal = folder / "journal.jsonl"
    found = calibrate(
        prepared, options, grids=SMALL if about["small"] else None, executor=executor,
        journal=journal, advance=advance,
    )  # fmt: skip
    found.save(folder / "energy.yaml")
    journal.unlink(missing_ok=True)
    kinds = {
        terms: as_json(energy.as_dict(), infinity="inf") for terms, energy in found.kinds.items()
    }
    return {"kinds": kinds, "verdict": found.verdict(), "images": found.images}
