"""The instances of a cell: prepared records under its energy, damaged if it says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.damage import Damaged
from policrf.bench.reproduce.jobs.calibrate_job import load_energy
from policrf.bench.reproduce.jobs.prepare_job import prepared_folder
from policrf.bench.reproduce.store import Store
from policrf.crf.instance import Instance
from policrf.datasets.instances import InstanceSequence
from policrf.datasets.sources import load_instances
from policrf.datasets.store import Prepared
from policrf.vision.energy.weights import Energy

WEIGHTS = ("alpha", "w", "lambda_", "long_range")


def drawn_scenes(cell: Cell) -> Sequence[Instance]:
    """What a cell works on that says scenes."""
    about = cell.about
    source = f"{about['scenes']}:{about['size']}"
    return load_instances(source, potentials=about["terms"], count=about["images"])


def instances_of(store: Store, cell: Cell) -> InstanceSequence:
    """What a cell with the needs data and energy works on."""
    about = cell.about
    energy = load_energy(store, cell.needs["energy"], about["terms"])
    folder = prepared_folder(store, cell.needs["data"])
    features = about.get("features", "paper")
    found = load(folder, energy, about["terms"], features, about.get("damage", {}))
    return found[: about.get("images")]


def load(
    folder: Path, energy: Energy, terms: str, features: str, damage: Mapping[str, Any]
) -> InstanceSequence:
    """Prepared records under an energy.

    Parameters
    ----------
    folder
        What `prepare` wrote.
    energy, terms, features
        As in `load_prepared`.
    damage
        Share of boxes by what is done to them (`damage.DAMAGES`); `weights`: a factor on all
        weights beside the unaries.
    """
    boxes = dict(damage)
    factor = boxes.pop("weights", 1.0)
    energy = energy.replace(**{name: factor * getattr(energy, name) for name in WEIGHTS})
    prepared = Prepared(folder)
    if boxes:
        return Damaged(prepared, energy, potentials=terms, features=features, damage=boxes)
    return InstanceSequence(prepared, energy, potentials=terms, features=features)


def sample(count: int, most: int, seed: int = 0) -> list[int]:
    """Some of `count` positions, in order."""
    chosen = np.random.default_rng(seed).permutation(count)[:most]
    return sorted(int(k) for k in chosen)
