"""`policrf train energy` and `policrf train labels`: training by a goal, judged in the end.

    policrf train energy --data family:parity:144 --budget 7us --seconds 60 --out runs/parity
    policrf solve model.npz --solver runs/parity/best.safetensors --seconds 0.001

The last lines are a table on held-out instances and one line that says whether training won.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from policrf.cli.progress import share_bar
from policrf.errors import InvalidOption
from policrf.learn.tuning.tune import Tune


@dataclass(frozen=True)
class Source:
    """Which instances, and which energy they have."""

    count: int = 0
    """Instances, a part of which is held out; 0 = all (300 of scenes and families)."""
    energy: Path | None = None
    """Weights of the energy of prepared data (energy.yaml)."""
    potentials: str = "u+p+hop1+hop2"
    """Which terms of the energy to keep, joined by +."""
    features: str = "paper"
    """Node features of prepared data: paper, appearance, ridden, or several joined by +."""


@dataclass(frozen=True)
class Labels:
    """How to learn labels close to the truth."""

    truth: float = 1.0
    """Share of the truth in what is imitated, where there is one; 0: the energy alone."""
    seconds: float = 60.0
    """For learning; judging comes on top."""


@dataclass(frozen=True, kw_only=True)
class GoalTraining:
    """Data and results of training by a goal."""

    folder: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[FOLDER]")] = ""
    """Data: a folder of prepared images, or of .npz and .uai models; or give --data."""
    data: str = ""
    """The same, or scenes as synthetic:A:250, or CRFs as family:parity:144."""
    out: Path = Path("runs/policy")
    """Folder for configuration, journal, best.safetensors and the table (report.md)."""
    name: str = ""
    """Name of the policy; the folder's if empty."""
    seed: int = 0
    """Seed of everything random."""
    resume: bool = False
    """Go on with the run in --out; give the options that it was begun with."""
    overwrite: bool = False
    """Erase the run that --out holds, and start over."""
    json: bool = False
    """Print the verdict and the table as JSON instead of text."""
    instances: Annotated[Source, tyro.conf.arg(name="data")] = Source()


@dataclass(frozen=True, kw_only=True)
class EnergyTraining(GoalTraining):
    """Tune the few numbers that matter for the energy at an inference budget, and a first pass.

    Judged against the untrained rule with its default numbers, on held-out instances at the same
    budget of CPU time: what is published wins by more than noise. For example:
    policrf train energy --data family:parity:144 --budget 7us --seconds 60 --out runs/parity
    """

    options: Annotated[Tune, tyro.conf.arg(name="")] = field(default_factory=Tune)


@dataclass(frozen=True, kw_only=True)
class LabelsTraining(GoalTraining):
    """Learn labels close to the truth; judged by IoU against the untrained rule and solvers.

    For example: policrf train labels --data synthetic:C:50 --seconds 60 --out runs/labels
    """

    options: Annotated[Labels, tyro.conf.arg(name="")] = Labels()


def run_goal(config: GoalTraining) -> None:
    """Train by the goal, showing progress; the last lines are the table and the verdict."""
    from policrf.datasets.sources import load_instances
    from policrf.learn.train import train

    if bool(config.data) == bool(config.folder):
        raise InvalidOption("give training data once: a folder, or --data family:parity:144")
    source = config.instances
    instances = load_instances(
        config.data or config.folder, count=source.count, seed=config.seed * 1_000_000,
        energy=source.energy, potentials=source.potentials, features=source.features,
    )  # fmt: skip
    goal, options = _goal(config)
    last: dict[str, Any] = {}
    with share_bar("training") as show:

        def report(line: dict[str, Any]) -> None:
            if "verdict" in line:
                last.update(line)
            else:
                show(_progress(line), line.get("seconds", 0.0) / max(options["seconds"], 1e-9))

        train(
            instances, goal=goal, out=config.out, resume=config.resume, overwrite=config.overwrite,
            seed=config.seed, name=config.name or config.out.name, report=report,
            about={"data": Path(config.data or config.folder).name}, **options,
        )  # fmt: skip
    table = last["table"]
    if config.json:
        rows = None if table is None else table.records()
        print(json.dumps({"won": last["won"], "verdict": last["verdict"], "table": rows}))
        return
    if table is not None:
        table.show()
    print(f"{config.out}: {last['verdict']}")


def _goal(config: GoalTraining) -> tuple[str, dict[str, Any]]:
    if isinstance(config, EnergyTraining):
        return "energy", asdict(config.options) | {"seconds": float(config.options.seconds)}
    assert isinstance(config, LabelsTraining)
    return "labels", {
        "truth": config.options.truth, "seconds": config.options.seconds, "rounds": 1_000_000,
    }  # fmt: skip


def _progress(line: dict[str, Any]) -> str:
    names = ("race", "candidates", "trials", "solves", "difference", "round", "energy", "iou")
    return "  ".join(f"{name} {line[name]:.4g}" for name in names if name in line)
