"""Where instances come from: scenes made on the fly, models in files, or prepared images.

synthetic:A:250          scenes of regime A with 250 nodes (`make_scene`), as many as asked for
synthetic:A+B:50+250     a mixture: regimes and sizes take turns
synthetic:A:250:6+21     with 6 and 21 labels in turn; 21 unless told
family:parity:144        CRFs of a family of hard potentials with 144 nodes (`scenes.make_family`)
family:parity:144:6+12   with 6 and 12 labels in turn; 6 unless told
SOURCE,SOURCE            several of these in turn, for policies that take any instance
prepared/train           a folder that `policrf prepare` wrote, under an energy (energy.yaml)
models/                  any folder of .npz and .uai files of one label set
model.uai                one such file
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from policrf.argument_types import typed
from policrf.crf.instance import Instance
from policrf.crf.io import read
from policrf.crf.selection import restrict
from policrf.datasets.lazy import Chosen
from policrf.errors import InvalidFile, InvalidOption, MissingDependency

if TYPE_CHECKING:
    from policrf.vision.energy.weights import Energy

MADE = SYNTHETIC, FAMILY = "synthetic", "family"
SCENES = 300  # how many scenes unless told


@typed()
def load_instances(
    source: str | Path,
    *,
    energy: Energy | str | Path | None = None,
    potentials: str = "u+p+hop1+hop2",
    features: str = "paper",
    count: int = 0,
    seed: int = 0,
) -> Sequence[Instance]:
    """The instances that `source` names; prepared data is read when it is asked for.

    Parameters
    ----------
    source
        Scenes as "synthetic:A:250", CRFs as "family:parity:144", a prepared folder, a folder of
        models, or one model file.
    energy
        The weights of prepared data, or the path of an energy.yaml.
    potentials
        Which terms to keep, joined by +; models from files keep tables and custom terms
        too.
    features
        Of prepared data: "paper", "appearance", "ridden", or several joined by +.
    count
        How many; 0 is all (300 scenes).
    seed
        Of the first synthetic scene; the others follow.

    >>> [scene.crf.n_nodes for scene in load_instances("synthetic:A+B:20+30", count=3)]
    [20, 30, 20]
    """
    if count < 0:
        raise InvalidOption(f"the number of instances is {count}; it must be 0 (all) or more")
    if "," in str(source) and all(part.split(":")[0] in MADE for part in str(source).split(",")):
        return list(_mixture(str(source), potentials, count or SCENES, seed))[: count or SCENES]
    if str(source).split(":")[0] == SYNTHETIC:
        return list(_scenes(str(source), potentials, count or SCENES, seed))
    if str(source).split(":")[0] == FAMILY:
        return list(_families(str(source), count or SCENES, seed))
    path = Path(source)
    if path.is_file():
        return [_model(path, potentials)]
    if not path.is_dir():
        raise InvalidFile(
            f"{source}: there is no such folder or file; give a folder of prepared images or of "
            ".npz and .uai models, one such model, or scenes as synthetic:A:250"
        )
    if (path / "index.json").is_file():
        return _prepared(path, energy, potentials, features)[: count or None]
    return _models(path, potentials, count)


def _scenes(source: str, potentials: str, count: int, seed: int) -> Iterator[Instance]:
    from policrf.scenes import make_scene

    parts = source.split(":")
    numbers = [part.split("+") for part in parts[2:]]
    if not 3 <= len(parts) <= 4 or not all(n.isdigit() for part in numbers for n in part):
        raise InvalidOption(
            f"{source!r}: scenes are given as synthetic:REGIME:NODES, as in synthetic:A:250, or "
            "with numbers of labels, synthetic:A:250:6+21"
        )
    sizes, labels = [list(map(int, part)) for part in (numbers[0], (*numbers, ["21"])[1])]
    kinds = list(product(parts[1].split("+"), sizes, labels))
    for k in range(count):
        regime, nodes, n_labels = kinds[k % len(kinds)]
        yield make_scene(nodes, regime, seed=seed + k, potentials=potentials, n_labels=n_labels)


def _families(source: str, count: int, seed: int) -> Iterator[Instance]:
    from policrf.scenes import make_family

    parts = source.split(":")
    numbers = [part.split("+") for part in parts[2:]]
    if not 3 <= len(parts) <= 4 or not all(n.isdigit() for part in numbers for n in part):
        raise InvalidOption(
            f"{source!r}: families are given as family:NAME:NODES, as in family:parity:144, or "
            "with numbers of labels, family:parity:144:6+12"
        )
    sizes, labels = [list(map(int, part)) for part in (numbers[0], (*numbers, ["6"])[1])]
    kinds = list(product(parts[1].split("+"), sizes, labels))
    for k in range(count):
        family, nodes, n_labels = kinds[k % len(kinds)]
        yield Instance.from_crf(make_family(family, nodes, n_labels, seed + k))


def _mixture(source: str, potentials: str, count: int, seed: int) -> Iterator[Instance]:
    """Instances of several sources of scenes and families, in turn."""
    sources = source.split(",")
    each = -(-count // len(sources))
    made = [
        (_scenes(one, potentials, each, seed) if one.split(":")[0] == SYNTHETIC
         else _families(one, each, seed))
        for one in sources
    ]  # fmt: skip
    for _ in range(each):
        for found in made:
            yield next(found)


def _prepared(
    folder: Path, energy: Energy | str | Path | None, potentials: str, features: str
) -> Sequence[Instance]:
    try:
        from policrf.datasets.instances import load_prepared
    except ImportError as error:
        raise MissingDependency(
            f"{folder} holds prepared images; reading them needs: pip install 'policrf[vision]'"
        ) from error
    return load_prepared(folder, energy, potentials=potentials, features=features)


def _models(folder: Path, potentials: str, count: int) -> list[Instance]:
    files = sorted(p for p in folder.iterdir() if p.suffix.lower() in (".npz", ".uai"))
    if not files:
        raise InvalidFile(
            f"{folder}: holds no .npz or .uai model, nor prepared images (index.json)"
        )
    return [_model(path, potentials) for path in files[: count or len(files)]]


def _model(path: Path, potentials: str) -> Instance:
    problem = read(path)
    instance = problem if isinstance(problem, Instance) else Instance.from_crf(problem)
    return restrict(instance, f"{potentials}+tables+custom")


def split(
    instances: Sequence[Instance], share: float, most: int
) -> tuple[Sequence[Instance], list[Instance]]:
    """The training instances, and a part of them, drawn at random, that is not trained on.

    Only that part is read; the others stay as lazy as they came.

    Parameters
    ----------
    instances
        All of them.
    share
        How large the part is, 0 … 1.
    most
        Its largest number of instances.
    """
    count = min(most, int(len(instances) * share))
    if count == 0:
        return instances, list(instances[:most])
    # Drawn, not every k-th: sources of several kinds take turns.
    held = set(np.random.default_rng(0).permutation(len(instances))[:count].tolist())
    others = [k for k in range(len(instances)) if k not in held]
    return Chosen(instances, others), [instances[k] for k in sorted(held)]
