"""Where training instances come from: scenes made on the fly, a folder of CRFs, or prepared images.

synthetic:A:250          scenes of regime A with 250 nodes (`make_scene`), as many as asked for
synthetic:A+B:50+250     a mixture: regimes and sizes take turns
prepared/train           a folder that `policrf prepare` wrote, under an energy (energy.yaml)
models/                  any folder of .npz and .uai files of one label set
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import overload

import numpy as np

from policrf.crf.instance import Instance
from policrf.crf.io import read
from policrf.crf.selection import restrict
from policrf.errors import InvalidFile, InvalidOption, MissingDependency

SYNTHETIC = "synthetic"
SCENES = 300  # how many scenes unless told


def load_source(
    source: str, *, energy: str | Path | None = None, potentials: str = "u+p+hop1+hop2",
    features: str = "paper", count: int = 0, seed: int = 0,
) -> Sequence[Instance]:  # fmt: skip
    """The instances that `source` names; prepared data is read when it is asked for.

    Parameters
    ----------
    energy: the weights of prepared data (energy.yaml).
    potentials: which terms of the energy to keep; models from files keep tables and custom terms
    too. features: of prepared data: "paper", "appearance" or "paper+appearance". count: how many; 0
    = all (300 scenes). seed: of the first synthetic scene; the others follow.
    """
    if source.split(":")[0] == SYNTHETIC:
        return list(_scenes(source, potentials, count or SCENES, seed))
    folder = Path(source)
    if not folder.is_dir():
        raise InvalidFile(
            f"{source}: there is no such folder; give a folder of prepared images or of .npz and "
            ".uai models, or scenes as synthetic:A:250"
        )
    if (folder / "index.json").is_file():
        return _prepared(folder, energy, potentials, features, count)
    return _models(folder, potentials, count)


def _scenes(source: str, potentials: str, count: int, seed: int) -> Iterator[Instance]:
    from policrf.scenes import make_scene

    parts = source.split(":")
    if len(parts) != 3 or not all(size.isdigit() for size in parts[2].split("+")):
        raise InvalidOption(
            f"{source!r}: scenes are given as synthetic:REGIME:NODES, as in synthetic:A:250"
        )
    kinds = list(product(parts[1].split("+"), (int(size) for size in parts[2].split("+"))))
    for k in range(count):
        regime, nodes = kinds[k % len(kinds)]
        yield make_scene(nodes, regime, seed=seed + k, potentials=potentials)


def _prepared(
    folder: Path, energy: str | Path | None, potentials: str, features: str, count: int
) -> Sequence[Instance]:
    try:
        from policrf.datasets.instances import load_instances
    except ImportError as error:
        raise MissingDependency(
            f"{folder} holds prepared images; reading them needs: pip install 'policrf[vision]'"
        ) from error
    instances = load_instances(folder, energy, potentials=potentials, features=features)
    return instances[:count] if count else instances


def _models(folder: Path, potentials: str, count: int) -> list[Instance]:
    files = sorted(p for p in folder.iterdir() if p.suffix.lower() in (".npz", ".uai"))
    if not files:
        raise InvalidFile(
            f"{folder}: holds no .npz or .uai model, nor prepared images (index.json)"
        )
    instances = []
    for path in files[: count or len(files)]:
        problem = read(path)
        instance = problem if isinstance(problem, Instance) else Instance.from_crf(problem)
        instances.append(restrict(instance, f"{potentials}+tables+custom"))
    return instances


def split(
    instances: Sequence[Instance], share: float, most: int
) -> tuple[Sequence[Instance], list[Instance]]:
    """The training instances, and a part of them, drawn at random, that is not trained on.

    Only that part is read; the others stay as lazy as they came.
    """
    count = min(most, int(len(instances) * share))
    if count == 0:
        return instances, list(instances[:most])
    # Drawn, not every k-th: sources of several kinds take turns.
    held = set(np.random.default_rng(0).permutation(len(instances))[:count].tolist())
    others = [k for k in range(len(instances)) if k not in held]
    return Chosen(instances, others), [instances[k] for k in sorted(held)]


class Chosen(Sequence[Instance]):
    """Some of the instances of another sequence, read when they are asked for."""

    def __init__(self, instances: Sequence[Instance], positions: Sequence[int]) -> None:
        self.instances, self.positions = instances, positions

    def __len__(self) -> int:
        return len(self.positions)

    @overload
    def __getitem__(self, k: int) -> Instance: ...
    @overload
    def __getitem__(self, k: slice) -> Chosen: ...
    def __getitem__(self, k: int | slice) -> Instance | Chosen:
        if isinstance(k, slice):
            return Chosen(self.instances, self.positions[k])
        return self.instances[self.positions[k]]
