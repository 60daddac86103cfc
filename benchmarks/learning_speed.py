"""Environment steps a second in the actors, gradient steps a second in the learner.

    python benchmarks/learning_speed.py --nodes 250 --out benchmarks/results

In seconds of CPU of one thread, the best of several turns, so that other work on the machine counts
little. Episodes are played on an engine built for each of them and on engines that are kept and
loaded with new weights, in turn; the same for games of self-play with tree search, and for greedy
labelings as validation and policy search make them. All give the same answers to the bit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import tyro

from policrf.evaluation.tables import Table, write_tables
from policrf.learn.experience.acting import play
from policrf.learn.experience.corpus import Corpus
from policrf.learn.experience.engines import Kept
from policrf.learn.experience.self_play import play_game
from policrf.learn.learners.dqn import DQNLearner
from policrf.learn.learners.mcts import MCTSLearner
from policrf.learn.options import DQN, MCTS
from policrf.learn.options.flat_fields import with_fields
from policrf.mdp.rewards import load_reward
from policrf.policy.network import Spec
from policrf.policy.policy import Policy
from policrf.scenes import make_scene

REWARD = load_reward("sign")
COLUMNS = (
    "kind", "engine built", "engine kept", "ratio", "greedy built", "greedy kept", "ratio ",
    "search built", "search kept", "ratio  ", "MB kept", "gradient steps / s",
)  # fmt: skip


@dataclass(frozen=True)
class Config:
    nodes: int = 250
    scenes: int = 20
    batch: int = 64
    turns: int = 5
    """Turns of which the best is reported."""
    games: int = 4
    """Games of self-play in a turn."""
    out: Path = Path("benchmarks/results")


def rates(
    kept: Kept[Any], policies: list[Policy], work: Callable[[Any, int], Any], config: Config,
    count: int,
) -> tuple[float, float]:  # fmt: skip
    """Steps a second of CPU: with an engine built for each episode, and with one that is kept."""

    def built(policy: Policy, k: int) -> None:
        work(kept.make(policy, kept.instances[k]), k)

    def lent(policy: Policy, k: int) -> None:
        with kept.lent(policy, k) as held:
            work(held, k)

    best = [0.0, 0.0]
    for turn in range(1 + config.turns):  # the first one compiles and fills
        policy = policies[turn % len(policies)]
        for which, way in enumerate((built, lent)):
            start = time.thread_time()
            for k in range(count):
                way(policy, k)
            rate = count * config.nodes / (time.thread_time() - start)
            best[which] = max(best[which], rate if turn else 0.0)
    return best[0], best[1]


def measure(kind: str, config: Config, corpus: Corpus) -> tuple[Any, ...]:
    spec = Spec(n_labels=corpus.n_labels, n_features=corpus.features.shape[1], kind=kind)
    options = with_fields(DQN(), {"batch": config.batch, "episodes": 8}, "dqn")
    learner = DQNLearner(options, spec, corpus)
    searcher = MCTSLearner(MCTS(), spec, corpus)
    with ThreadPoolExecutor(1) as pool:
        learner.begin(pool)
    policies = [Policy(spec, spec.initial_weights(seed)) for seed in range(3)]
    row: list[Any] = [kind]
    engines = learner.player.engines
    for kept, work, count in (
        (
            engines,
            lambda e, k: play(e, epsilon=0.7, seed=k, reward=REWARD),
            len(corpus),
        ),
        (engines, lambda e, k: e.label_all(), len(corpus)),
        (
            searcher.player.searches,
            lambda s, k: play_game(s, which=k, seed=k, refine=False),
            config.games,
        ),
    ):
        built, lent = rates(kept, policies, work, config, count)
        row += [built, lent, lent / built]
    return (*row, engines.nbytes / 1e6, gradient_steps(learner, config.turns))


def gradient_steps(learner: DQNLearner, turns: int) -> float:
    best = 0.0
    for _ in range(1 + turns):
        start = time.thread_time()
        for _ in range(20):
            learner.update()
        best = max(best, 20 / (time.thread_time() - start))
    return best


def main(config: Config) -> None:
    torch.set_num_threads(1)
    corpus = Corpus([make_scene(config.nodes, "B", seed=seed) for seed in range(config.scenes)])
    rows = tuple(measure(kind, config, corpus) for kind in ("paper", "residual"))
    note = (
        "steps a second of one core, exploring, greedily, and with tree search (20 simulations); "
        "MB: the engines of all scenes"
    )
    title = f"Learning speed, N = {config.nodes}, {config.scenes} scenes, batch {config.batch}"
    table = Table(title, COLUMNS, rows, note)
    table.show()
    write_tables(config.out, "learning-speed", [table], config)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
