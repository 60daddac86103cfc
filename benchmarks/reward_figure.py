"""Appendix C1: why R1 learns badly. Rewards of good and wrong actions, and how far they overlap.

    python benchmarks/reward_figure.py --data synthetic:B:50 --out benchmarks/results

A good action gives its node the label of lowest energy in that state, a wrong one any other. R2
tells them apart by definition. Under R1 = E_{t-1} − E_t a wrong label of a sure node often earns
more than the right label of an unsure one. Actions come from exploring episodes of an untrained
policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

from policrf.datasets.sources import load_instances
from policrf.evaluation.tables import Table, write_tables
from policrf.learn.experience.acting import play
from policrf.mdp.rewards import load_reward
from policrf.policy.engine import Engine
from policrf.policy.policy import Policy


@dataclass(frozen=True)
class Config:
    """Which scenes, how many actions."""

    data: str = "synthetic:B:50"
    potentials: tuple[str, ...] = ("u", "u+p+hop1+hop2")
    """A row of the figure for each energy."""
    actions: int = 50_000
    count: int = 100
    energy: Path | None = None
    seed: int = 0
    out: Path = Path("benchmarks/results")


def collect(config: Config, potentials: str, reward: str) -> tuple[np.ndarray, np.ndarray]:
    """Rewards of good and of wrong actions: the taken labels of exploring episodes."""
    instances = load_instances(
        config.data,
        count=config.count,
        potentials=potentials,
        energy=config.energy,
        seed=config.seed,
    )
    good, wrong, total, episode = [], [], 0, 0
    while total < config.actions:
        instance = instances[episode % len(instances)]
        spec = {"n_labels": instance.crf.n_labels, "n_features": instance.features.shape[1]}
        engine = Engine(Policy.untrained(kind="residual", costs="partial", **spec), instance)
        trail = play(engine, epsilon=0.2, seed=episode, reward=load_reward(reward))
        lowest = play(engine, epsilon=0.2, seed=episode, reward=load_reward("sign")).rewards
        at = np.arange(len(trail.nodes))
        taken = trail.rewards[at, trail.labels]
        is_good = lowest[at, trail.labels] > 0
        good.append(taken[is_good])
        wrong.append(taken[~is_good])
        total += len(taken)
        episode += 1
    return np.concatenate(good), np.concatenate(wrong)


def overlap(good: np.ndarray, wrong: np.ndarray) -> float:
    """The probability that a wrong action earns more than a good one."""
    ordered = np.sort(good)
    return float(np.searchsorted(ordered, wrong, side="left").mean() / len(ordered))


def main(config: Config) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rewards = ("difference", "shaped")
    figure, axes = plt.subplots(
        len(config.potentials),
        len(rewards),
        figsize=(10, 3 * len(config.potentials)),
        squeeze=False,
    )
    rows = []
    for row, potentials in zip(axes, config.potentials, strict=True):
        for axis, reward in zip(row, rewards, strict=True):
            good, wrong = collect(config, potentials, reward)
            low, high = np.percentile(np.concatenate([good, wrong]), [1, 99.5])
            bins = np.linspace(low, high + 1e-6, 60)
            axis.hist(good, bins, density=True, alpha=0.6, color="tab:blue", label="good actions")
            axis.hist(
                wrong, bins, density=True, alpha=0.6, color="tab:orange", label="wrong actions"
            )
            share = overlap(good, wrong)
            rows.append((potentials, reward, len(good), len(wrong), 100 * share))
            title = f"{reward}, {potentials}: a wrong one earns more in {100 * share:.1f} %"
            axis.set_title(title, fontsize=9)
            axis.set_xlabel("reward")
    axes[0][0].legend()
    figure.tight_layout()
    config.out.mkdir(parents=True, exist_ok=True)
    figure.savefig(config.out / "rewards.png", dpi=110)
    # Between colons a letter is a picture to rich.
    name = config.data.replace(":", " ")
    columns = ("energy", "reward", "good actions", "wrong actions", "wrong earns more than good, %")
    table = Table(f"Rewards of good and wrong actions, {name}", columns, tuple(rows))
    table.show()
    write_tables(config.out, "rewards", [table], config)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
