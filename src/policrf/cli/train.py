"""`policrf train dqn|evolve|imitate|mcts|shared|supervised DATA --out runs/NAME`: learn a policy.

The options of learning are those of `policrf.learn.options`, nested here under the names they have
there; this file adds where the data comes from and where the results go.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import tyro

from policrf.cli.spread import Ray, executor_for
from policrf.cli.train_goal import EnergyTraining, GoalTraining, LabelsTraining, run_goal
from policrf.cli.train_progress import TrainingBar
from policrf.errors import InvalidFile, InvalidOption
from policrf.learn.options import DQN, MCTS, METHODS, Evolve, Imitate, Method, Shared, Supervised
from policrf.learn.options.flat_fields import flat, with_fields

Options = TypeVar("Options", bound=Method)
_CONFIG = "config.json"
# What may be changed when a run is resumed: how long, not what.
_LIMITS = ("rounds", "seconds", "resume", "overwrite", "checkpoint_seconds", "json", "out", "ray")
# Options of older runs: what they are called now, None where they are gone.
_FORMER = {
    "network": "kind", "depth": "layers", "search_depth": "depth", "rollouts": None, "tried": None,
    "learning_rate": "step",
}  # fmt: skip


@dataclass(frozen=True)
class Data:
    """Which instances, and which energy they have."""

    count: int = 0
    """Training instances; 0 = all (300 synthetic scenes)."""
    val: str = ""
    """Further data, for the curves only; nothing is chosen by it."""
    val_count: int = 50
    """Instances of --val."""
    energy: Path | None = None
    """Weights of the energy of prepared data (energy.yaml)."""
    potentials: str = "u+p+hop1+hop2"
    """Which terms of the energy to keep, joined by +."""
    features: str = "paper"
    """Node features of prepared data: paper, appearance, ridden, or several joined by +."""


@dataclass(frozen=True, kw_only=True)
class Training(Generic[Options]):
    """Data, results and time of every way to learn."""

    folder: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[FOLDER]")] = ""
    """Training data: a folder of prepared images, or of .npz and .uai models; or give --data."""
    data: str = ""
    """The same, or scenes as synthetic:A:250 (regime, nodes; synthetic:A+B:50+250 mixes; a third
    part gives numbers of labels, synthetic:A:250:6+21)."""
    out: Path = Path("runs/policy")
    """Folder for log, checkpoints and policies (best.safetensors, last.safetensors)."""
    start: str = ""
    """A policy to start from, a name or a file; it gives the kind and sizes of the network too."""
    name: str = ""
    """Name of the policy; the folder's if empty."""
    seed: int = 0
    """Seed of everything random."""
    resume: bool = False
    """Go on from the checkpoint in --out with its options, but for --rounds and --seconds."""
    overwrite: bool = False
    """Erase the run that --out holds, and start over."""
    ray: Ray = ""
    json: bool = False
    """Print the last line of the log as JSON instead of text."""
    instances: Annotated[Data, tyro.conf.arg(name="data")] = Data()
    method: Annotated[Options, tyro.conf.arg(name="")]


Config = tyro.conf.OmitArgPrefixes[
    Annotated[Training[DQN], tyro.conf.subcommand("dqn", description=DQN.__doc__)]
    | Annotated[Training[Evolve], tyro.conf.subcommand("evolve", description=Evolve.__doc__)]
    | Annotated[Training[Imitate], tyro.conf.subcommand("imitate", description=Imitate.__doc__)]
    | Annotated[Training[MCTS], tyro.conf.subcommand("mcts", description=MCTS.__doc__)]
    | Annotated[Training[Shared], tyro.conf.subcommand("shared", description=Shared.__doc__)]
    | Annotated[
        Training[Supervised], tyro.conf.subcommand("supervised", description=Supervised.__doc__)
    ]
    | Annotated[EnergyTraining, tyro.conf.subcommand("energy", description=EnergyTraining.__doc__)]
    | Annotated[LabelsTraining, tyro.conf.subcommand("labels", description=LabelsTraining.__doc__)]
]


def run(config: Training[Any] | GoalTraining) -> None:
    """Train, showing progress; everything of note is in the folder."""
    if isinstance(config, GoalTraining):
        run_goal(config)
    else:
        run_method(config)


def run_method(config: Training[Any]) -> None:
    """Learn by the method."""
    from policrf.crf.io.outputs import claimed
    from policrf.datasets.sources import load_instances
    from policrf.learn.train import train
    from policrf.policy.checkpoint import load_policy

    config = _resumed(config) if config.resume else _begun(config)
    source, options = config.instances, config.method
    loaded: dict[str, Any] = {
        "energy": source.energy, "potentials": source.potentials, "features": source.features,
    }  # fmt: skip
    instances = load_instances(
        config.data, count=source.count, seed=config.seed * 1_000_000, **loaded
    )
    validation = (
        load_instances(source.val, count=source.val_count, seed=900_000_000, **loaded)
        if source.val
        else ()
    )
    start = load_policy(config.start) if config.start else None
    last: dict[str, Any] = {}
    with (
        claimed(config.out),
        executor_for(options.threads, config.ray) as executor,
        TrainingBar(options.rounds, options.seconds) as show,
    ):
        if not config.resume:
            _record(config)

        def report(line: dict[str, Any]) -> None:
            if "energy" in line or options.schedule.select == "last":
                last.update(line)
            show(line)

        train(
            instances, options, out=config.out, resume=config.resume, validation=list(validation),
            name=config.name or config.out.name, seed=config.seed, report=report,
            start=start, executor=executor, about={
                "data": Path(config.data).name, "potentials": source.potentials,
                "features": source.features,
            },
        )  # fmt: skip
    if config.json:
        print(json.dumps(last))
    elif not last:
        print(f"{config.out}: nothing was left to learn; give more --rounds or --seconds")
    else:
        shown = ", ".join(f"{k} {v:.4g}" for k, v in last.items() if isinstance(v, float | int))
        print(f"{config.out}: {shown}")


def _command(config: Training[Any]) -> str:
    return next(name for name, options in METHODS.items() if type(config.method) is options)


def _begun(config: Training[Any]) -> Training[Any]:
    """What to run."""
    if bool(config.data) == bool(config.folder):
        raise InvalidOption("give training data once: a folder, or --data synthetic:A:250")
    if not config.overwrite:
        from policrf.learn.run_folder import refuse_run

        refuse_run(config.out)
    return replace(config, data=config.data or config.folder, folder="")


def _record(config: Training[Any]) -> None:
    """Write what is run beside the results; an earlier run ends here, and not before."""
    from policrf.crf.io.json_text import write_sealed_json
    from policrf.learn.run_folder import erase_run

    erase_run(config.out)
    write_sealed_json(config.out / _CONFIG, {"command": _command(config), **flat(config)})


def _resumed(config: Training[Any]) -> Training[Any]:
    """What the run in the folder was begun with, but for its limits."""
    from policrf.crf.io.json_text import read_sealed_json
    from policrf.learn.run_folder import CHECKPOINT

    if config.overwrite:
        raise InvalidOption("--resume goes on with a run, --overwrite erases it; give one of them")
    path = config.out / _CONFIG
    if not path.is_file():
        raise InvalidFile(f"{path}: there is no run to go on with; give its folder with --out")
    stored = read_sealed_json(path, "train again without --resume")
    command = stored.pop("command", None)
    if command not in list(METHODS):
        raise InvalidFile(
            f"{path} is damaged (there is no method {command!r:.40}); train again without --resume"
        )
    if command != _command(config):
        raise InvalidOption(f"{config.out} was trained by {command}; say policrf train {command}")
    _refuse_former(path, stored, config)
    if isinstance(stored.get("energy"), str):
        stored["energy"] = Path(stored["energy"])
    if isinstance(stored.get("tensors"), list):
        stored["tensors"] = tuple(stored["tensors"])
    limits = {name: value for name, value in flat(config).items() if name in _LIMITS}
    blank = Training(method=METHODS[command]())
    found = with_fields(blank, stored | limits, command)
    # A run that was killed before its first checkpoint goes on from its beginning.
    return found if (config.out / CHECKPOINT).exists() else replace(found, resume=False)


def _refuse_former(path: Path, stored: dict[str, Any], config: Training[Any]) -> None:
    """Name the options of an older run that are called otherwise now, or gone."""
    known = flat(config)
    former = [name for name in stored if name not in known]
    if not former:
        return
    told = [
        f"{name} (now {_FORMER[name]})" if _FORMER.get(name) else f"{name} (no longer there)"
        for name in former
    ]
    raise InvalidFile(
        f"{path} is of a run by an older policrf, with the options {', '.join(told)}; finish it "
        "with that version, or train again without --resume"
    )
