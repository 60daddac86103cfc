"""Environment steps a second in the actors, gradient steps a second in the learner.

    python benchmarks/learning_speed.py --nodes 250 --out benchmarks/results

Both in seconds of CPU of one thread, so that other work on the machine does not count, and the
actors' once more as wall-clock time with as many threads as asked for.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch
import tyro
from policrf.learn.dqn_options import DQN

from policrf.evaluate.report import Table, write_tables
from policrf.learn.acting import play
from policrf.learn.corpus import Corpus
from policrf.learn.dqn import DQNLearner
from policrf.policy.engine import Engine
from policrf.policy.network import Spec
from policrf.scenes import make_scene


@dataclass(frozen=True)
class Config:
    nodes: int = 250
    scenes: int = 20
    batch: int = 64
    threads: int = 2
    out: Path = Path("benchmarks/results")


def measure(kind: str, config: Config, corpus: Corpus) -> tuple[str, float, float, float]:
    spec = Spec(corpus.n_labels, corpus.features.shape[1], kind=kind)
    learner = DQNLearner(DQN(batch=config.batch, episodes=8), spec, corpus)
    with ThreadPoolExecutor(config.threads) as pool:
        learner.begin(pool)
        policy = learner.policy()

        def episode(k: int) -> float:
            start = time.thread_time()
            play(Engine(policy, corpus.instances[k % len(corpus)]), epsilon=0.7, seed=k, reward=1)
            return time.thread_time() - start

        episode(0)
        start = time.perf_counter()
        busy = sum(pool.map(episode, range(2 * len(corpus))))
        wall = time.perf_counter() - start
    steps = 2 * len(corpus) * config.nodes
    for _ in range(5):
        learner._update()
    start_cpu = time.thread_time()
    for _ in range(100):
        learner._update()
    return kind, steps / busy, steps / wall, 100 / (time.thread_time() - start_cpu)


def main(config: Config) -> None:
    torch.set_num_threads(1)
    corpus = Corpus([make_scene(config.nodes, "B", seed=seed) for seed in range(config.scenes)])
    rows = tuple(measure(kind, config, corpus) for kind in ("paper", "residual"))
    columns = (
        "kind",
        "steps / s of one core",
        f"steps / s, {config.threads} threads, wall",
        "gradient steps / s of one core",
    )
    table = Table(f"Learning speed, N = {config.nodes}, batch {config.batch}", columns, rows)
    table.show()
    write_tables(config.out, "learning-speed", [table], config)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
