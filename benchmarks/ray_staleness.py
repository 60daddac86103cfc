"""What staleness costs: held-out energies after the same number of transitions.

    python benchmarks/ray_staleness.py --out benchmarks/results

Runs with threads: actors on a cluster learn the same weights to the last bit, for every staleness
(tests/execution/test_ray_learning.py), and `--check` learns one of the rows once more on a local
Ray cluster to show it. Scenes of the test have seeds that no run has seen. A run that is stale has
as many rounds more, so that all have remembered the same number of transitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro

import policrf as pc
from policrf.evaluation.tables import Table, write_tables
from policrf.learn.validate import validate

ROUNDS = {"dqn": 80, "mcts": 20}
MORE: dict[str, dict[str, Any]] = {
    "dqn": {"kind": "residual", "updates": 32, "epsilon_rounds": 40, "decay_rounds": 80},
    "mcts": {"updates": 16, "episodes": 8, "simulations": 10, "decay_rounds": 20, "actors": 1},
}


@dataclass(frozen=True)
class Config:
    methods: tuple[str, ...] = ("dqn", "mcts")
    staleness: tuple[int, ...] = (0, 1, 4)
    seeds: int = 3
    nodes: int = 50
    scenes: int = 60
    """Training scenes of a run."""
    tested: int = 100
    """Scenes that the last policy is judged on."""
    check: bool = True
    """Learn one row on a local Ray cluster, too."""
    out: Path = Path("benchmarks/results")


def main(config: Config) -> None:
    tested = [pc.make_scene(config.nodes, "B", seed=700_000_000 + k) for k in range(config.tested)]
    rows = []
    for method in config.methods:
        first: np.ndarray | None = None
        for staleness in config.staleness:
            policies = [learned(config, method, staleness, seed) for seed in range(config.seeds)]
            energies = np.array([validate(policy, tested).energy for policy in policies])
            first = energies if first is None else first
            change = energies - first
            error = change.std(ddof=1) / np.sqrt(len(change))
            rows.append((
                method, staleness, policies[0].training["transitions"], energies.mean(),
                change.mean(), 4.303 * error, _same(config, method, staleness, policies[0]),
            ))  # fmt: skip
            print(*rows[-1], flush=True)
    columns = (
        "method", "staleness", "transitions", "energy", "change", "± (95 %)", "Ray: same weights",
    )  # fmt: skip
    note = (
        f"Mean energy of {config.tested} new scenes of {config.nodes} nodes (B), last policy; "
        f"{config.seeds} runs each, changes paired by seed (t interval)."
    )
    write_tables(
        config.out, "ray-staleness", [Table("Staleness", columns, tuple(rows), note)],
        vars(config) | {"out": config.out.name},
    )  # fmt: skip


def learned(config: Config, method: str, staleness: int, seed: int, **more: Any) -> pc.Policy:
    scenes = [pc.make_scene(config.nodes, "B", seed=seed * 1000 + k) for k in range(config.scenes)]
    last: dict[str, Any] = {}
    rounds = ROUNDS[method] + staleness
    policy = pc.train(
        scenes, method, seed=seed, staleness=staleness, rounds=rounds, select="last",
        validate_rounds=rounds, report=last.update, **MORE[method] | more,
    )  # fmt: skip
    policy.training["transitions"] = last["transitions"]
    return policy


def _same(config: Config, method: str, staleness: int, policy: pc.Policy) -> str:
    if not config.check or staleness != max(config.staleness):
        return ""
    with pc.RayCluster("local", 2) as cluster:
        other = learned(config, method, staleness, 0, executor=cluster, actors=2)
    equal = all((array == other.weights[name]).all() for name, array in policy.weights.items())
    return "yes" if equal else "no"


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
