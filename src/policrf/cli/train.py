"""`policrf train dqn|evolve|mcts|supervised DATA --out runs/NAME`: learn a policy."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from policrf.cli.train_progress import TrainingBar
from policrf.errors import InvalidFile, InvalidOption

if TYPE_CHECKING:
    from policrf.crf.instance import Instance


@dataclass(frozen=True)
class Common:
    """Data, network and time of every way to learn."""

    folder: Annotated[str, tyro.conf.Positional] = ""
    """Training data: a folder of prepared images, or of .npz and .uai models; or give --data."""
    data: str = ""
    """The same, or scenes as synthetic:A:250 (regime, nodes; synthetic:A+B:50+250 mixes)."""
    out: Path = Path("runs/policy")
    """Folder for log, checkpoints and policies (best.safetensors, last.safetensors)."""
    val: str = ""
    """Further data, for the curves only; nothing is chosen by it."""
    energy: Path | None = None
    """Weights of the energy of prepared data (energy.yaml)."""
    potentials: str = "u+p+hop1+hop2"
    """Which terms of the energy to keep, joined by +."""
    features: str = "paper"
    """Node features of prepared data: paper, appearance, or paper+appearance."""
    count: int = 0
    """Training instances; 0 = all (300 synthetic scenes)."""
    val_count: int = 50
    """Instances of --val."""
    rounds: int = 1000
    """Rounds of learning."""
    seconds: float | None = None
    """Stop after this many seconds even if rounds are left."""
    pool: int = 200_000
    """Nodes in memory at a time; instances with more are learned from in turns."""
    pool_rounds: int = 50
    """Rounds of a turn."""
    network: str = "paper"
    """paper or residual."""
    costs: str = "expected"
    """Conditional costs that the residual kind corrects: partial, completed, relaxed, expected."""
    foresight: int = 10
    """Sweeps of mean field that expected costs look ahead by; 0: unaries alone."""
    quota_limit: float = 1.0
    """Expected costs leave out quotas that cost more than so many times their penalty; 0: none."""
    width: int = 32
    """Size of a node's embedding, p."""
    depth: int = 3
    """Rounds of message passing, K."""
    select: str = "energy"
    """What makes a checkpoint the best on held-out training data: energy, refined or iou."""
    validate_seconds: float = 10.0
    """Time between validations."""
    name: str = ""
    """Name of the policy; the folder's if empty."""
    seed: int = 0
    """Seed of everything random."""
    resume: bool = False
    """Go on from the checkpoint in --out, with the configuration it was begun with."""
    json: bool = False
    """Print the last line of the log as JSON instead of text."""


@dataclass(frozen=True)
class Dqn(Common):
    """Q-learning on the energy, with the structured replay memory."""

    reward: str = "sign"
    """sign (the paper's R2), difference (R1) or shaped."""
    target: str = "hindsight"
    """hindsight: labels of the best labeling found; reward: returns; advantage: rollouts."""
    backup: str = "all"
    """all labels of a step's node (discount 0), or the one taken."""
    discount: float = 0.0
    """γ; with backup taken."""
    ahead: int = 1
    """Rewards summed before bootstrapping; 0 = to the end."""
    rollouts: int = 8
    """Steps of an episode whose advantages are found (target advantage)."""
    tried: int = 3
    """Labels of each that are tried."""
    teacher: str = ""
    """A solver whose labelings hindsight starts from."""
    epsilon: float = 0.5
    """Probability of exploiting at first."""
    epsilon_final: float = 0.9
    """Probability of exploiting in the end."""
    epsilon_rounds: int = 200
    """Rounds in between."""
    episodes: int = 4
    """Episodes a round."""
    updates: int = 64
    """Gradient steps a round."""
    batch: int = 128
    """Steps in a gradient step."""
    learning_rate: float = 1e-3
    """Of Adam, at first."""
    learning_rate_final: float = 1e-4
    """Of Adam, after --decay-rounds rounds."""
    decay_rounds: int = 500
    """Rounds over which the learning rate falls."""
    capacity: int = 50_000
    """Steps in the replay memory."""
    share: float = 0.5
    """Part of a batch in which the label beat the unary's."""
    balance: float = 1.0
    """1: all classes equally often in a batch (the paper's way); 0: as often as they are played."""
    actors: int = 1
    """Threads that play, beside the one that learns."""


@dataclass(frozen=True)
class Supervised(Common):
    """The supervised baseline: true labels from the same features."""

    updates: int = 64
    """Gradient steps a round."""
    batch: int = 256
    """Nodes in a gradient step."""
    learning_rate: float = 1e-3
    """Of Adam, at first."""
    decay_rounds: int = 300
    """Rounds over which the learning rate falls tenfold."""


@dataclass(frozen=True)
class Mcts(Common):
    """Self-play with tree search: the network learns what the search decides."""

    reward: str = "sign"
    """sign (the paper's R2), difference (R1) or shaped."""
    target: str = "improved"
    """improved: values of the tree and known rewards; visits (the paper); hindsight."""
    value_scale: float = 40.0
    """What the span of a state's values counts in improved, in units of log-probability."""
    simulations: int = 20
    """Simulations before every decision; the paper's are 50."""
    search_depth: int = 4
    """Actions a simulation takes at most."""
    leaf: str = "rewards"
    """What a simulation is worth: rewards (those it saw) or rollout (the greedy end of it)."""
    root: str = "gumbel"
    """How the root shares out simulations: gumbel or puct (the paper)."""
    candidates: int = 6
    """Actions of the highest prior that a state has in the tree."""
    encourage: bool = True
    """Add M1, M2 or M3 when selecting."""
    temperature: float = 1.0
    """The prior is a softmax of score / temperature; 0.025 for the residual kind's small scores."""
    start: str = ""
    """A policy file to start from, such as one learned by dqn."""
    repeats: int = 1
    """Episodes a graph, one after the other; the paper's are 10."""
    episodes: int = 16
    """Episodes a round."""
    updates: int = 32
    """Gradient steps a round."""
    batch: int = 32
    """States in a gradient step."""
    learning_rate: float = 3e-3
    """Of Adam, at first."""
    learning_rate_final: float = 1e-4
    """Of Adam, after --decay-rounds rounds."""
    decay_rounds: int = 100
    """Rounds over which the learning rate falls."""
    capacity: int = 20_000
    """States in the replay memory."""
    share: float = 0.5
    """Part of a batch in which the label beat the unary's."""
    balance: float = 1.0
    """1: all classes equally often in a batch (the paper's way); 0: as often as they are played."""
    actors: int = os.cpu_count() or 1
    """Threads that play."""


@dataclass(frozen=True)
class Evolve(Common):
    """Search over few weights for the lowest energy in the end; starts from a good policy."""

    start: str = ""
    """The policy to start from: a name or a file; the untrained residual kind if empty."""
    lower: str = "refined"
    """What to lower: the energy after local search (refined) or of the labeling (greedy)."""
    pairs: int = 8
    """Perturbations a round, each tried with both signs."""
    trials: int = 16
    """Training instances that they are tried on."""
    sigma: float = 0.05
    """Size of the perturbations."""
    learning_rate: float = 0.02
    """Step of every weight a round."""
    actors: int = 2
    """Threads."""


Config = (
    Annotated[Dqn, tyro.conf.subcommand("dqn")]
    | Annotated[Evolve, tyro.conf.subcommand("evolve")]
    | Annotated[Mcts, tyro.conf.subcommand("mcts")]
    | Annotated[Supervised, tyro.conf.subcommand("supervised")]
)

_CONFIG = "config.json"
# What may be changed when a run is resumed: how long, not what.
_LIMITS = ("rounds", "seconds", "resume", "json", "out")


def run(config: Dqn | Evolve | Mcts | Supervised) -> None:
    """Train, showing progress; everything of note is in the folder."""
    from policrf.datasets.sources import load_instances
    from policrf.learn.loop import Schedule
    from policrf.learn.mcts import train_mcts
    from policrf.learn.train import train_dqn, train_evolve, train_supervised
    from policrf.policy.checkpoint import load_policy

    config = _begin(config)
    loaded: dict[str, Any] = {
        "energy": config.energy, "potentials": config.potentials, "features": config.features,
    }  # fmt: skip
    instances = load_instances(
        config.data, count=config.count, seed=config.seed * 1_000_000, **loaded
    )
    validation: list[Instance] = []
    if config.val:
        validation = list(
            load_instances(config.val, count=config.val_count, seed=900_000_000, **loaded)
        )
    schedule = Schedule(
        rounds=config.rounds, seconds=config.seconds, validate_seconds=config.validate_seconds,
        select=config.select, pool=config.pool, pool_rounds=config.pool_rounds,
    )  # fmt: skip
    network: dict[str, Any] = {
        "width": config.width, "rounds": config.depth, "costs": config.costs,
        "foresight": config.foresight, "quota_limit": config.quota_limit,
    }  # fmt: skip
    shared: dict[str, Any] = {
        "kind": config.network, "network": network, "schedule": schedule, "validation": validation,
        "out": config.out, "resume": config.resume, "name": config.name or config.out.name,
        "seed": config.seed, "about": {"data": Path(config.data).name, **_terms(config)},
    }  # fmt: skip
    own = {k: getattr(config, k) for k in config.__dataclass_fields__ if k not in _common_names()}
    train: Callable[..., Any] = train_dqn if isinstance(config, Dqn) else train_supervised
    if isinstance(config, Evolve):
        train, own["energy"] = train_evolve, own.pop("lower")
        own["start"] = load_policy(own["start"]) if own["start"] else None
        shared["kind"] = "residual"
    if isinstance(config, Mcts):
        train = train_mcts
        own["depth"] = own.pop("search_depth")
    last: dict[str, Any] = {}
    with TrainingBar(config.rounds, config.seconds) as show:

        def report(line: dict[str, Any]) -> None:
            if "energy" in line:
                last.update(line)
            show(line)

        train(instances, report=report, **shared, **own)
    if config.json:
        print(json.dumps(last))
    else:
        shown = ", ".join(f"{k} {v:.4g}" for k, v in last.items() if isinstance(v, float | int))
        print(f"{config.out}: {shown}")


def _begin(
    config: Dqn | Evolve | Mcts | Supervised,
) -> Dqn | Evolve | Mcts | Supervised:
    """What to run, written beside the results; a resumed run's own but for its limits."""
    path = config.out / _CONFIG
    if not config.resume:
        if bool(config.data) == bool(config.folder):
            raise InvalidOption("give training data once: a folder, or --data synthetic:A:250")
        from policrf.crf.io.files import atomic_write

        config = replace(config, data=config.data or config.folder, folder="")
        config.out.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"command": type(config).__name__.lower(), **asdict(config)}, default=str)
        with atomic_write(path) as file:
            file.write(text.encode() + b"\n")
        (config.out / "log.jsonl").unlink(missing_ok=True)
        return config
    if not path.is_file():
        raise InvalidFile(f"{path}: there is no run to go on with; give its folder with --out")
    stored = json.loads(path.read_text())
    if stored.pop("command") != type(config).__name__.lower():
        raise InvalidOption(f"{config.out} was trained in another way; see {path}")
    stored["energy"] = None if stored["energy"] is None else Path(stored["energy"])
    kept = {k: v for k, v in stored.items() if k not in _LIMITS}
    limits = {k: getattr(config, k) for k in _LIMITS}
    return type(config)(**kept, **limits)


def _common_names() -> set[str]:
    return set(Common.__dataclass_fields__)


def _terms(config: Common) -> dict[str, Any]:
    return {"potentials": config.potentials, "features": config.features}
