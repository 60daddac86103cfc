"""What spreading work over a Ray cluster costs and gives, measured on this machine.

    python benchmarks/ray_scaling.py --voc VOCdevkit/VOC2012 --net deeplab.tflite
    python benchmarks/ray_simulation.py        # what follows from it for larger clusters

Throughput with one and two workers is the best of some rounds that take turns, on warm workers, by
CPU time and by the clock (Linux). Bytes are those of the pickles that travel. With `--parts` some
parts are measured again.
"""

from __future__ import annotations

import json
import os
import pickle
import tempfile
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro

import policrf as pc
from policrf.datasets.options import PrepareOptions
from policrf.datasets.plan import make_plan, make_record
from policrf.datasets.store import write_shard
from policrf.evaluation.tables import Table, write_tables
from policrf.execution.executor import Executor, each
from policrf.learn.experience.corpus import Corpus
from policrf.learn.learners.dqn import DQNLearner
from policrf.learn.learners.mcts import MCTSLearner
from policrf.learn.options import DQN, MCTS
from policrf.learn.options.flat_fields import with_fields
from policrf.policy.network import Spec
from policrf.policy.policy import Policy

PARTS = ("throughput", "tasks", "one_image", "travelling", "learning")
MARK = "POLICRF_RAY_SCALING"  # in the environment of every process of the cluster


@dataclass(frozen=True)
class Config:
    voc: Path
    """A folder in VOC's layout."""
    net: Path
    """A segmentation net."""
    images: int = 48
    """Images of the throughput."""
    superpixels: int = 250
    rounds: int = 2
    """Of one and of two workers, in turns."""
    trials: int = 4
    """In a row, of which the best counts."""
    solvers: tuple[str, ...] = ("alpha_expansion", "mean_field", "untrained")
    """Of evaluate."""
    parts: tuple[str, ...] = PARTS
    """What is measured; the others stay as they are in --out."""
    episodes: int = 8
    """Episodes whose bytes and time are measured."""
    out: Path = Path("benchmarks/results")


def main(config: Config) -> None:
    path = config.out / "ray-scaling.json"
    before = json.loads(path.read_text()) if path.exists() else {"measured": {}, "tables": []}
    found: dict[str, Any] = before["measured"]
    kept = [
        Table(
            t["title"], tuple(t["rows"][0]), tuple(tuple(r.values()) for r in t["rows"]), t["note"]
        )
        for t in before["tables"]
    ]
    tables = dict(zip(PARTS, kept, strict=False))
    for part in config.parts:
        with tempfile.TemporaryDirectory() as folder:
            tables[part] = globals()[part](config, Path(folder), found)
        tables[part].show()
    ordered = [tables[part] for part in PARTS if part in tables]
    write_tables(config.out, "ray-scaling", ordered, _shown(config), {"measured": found})


def _shown(config: Config) -> dict[str, Any]:
    return vars(config) | {"voc": config.voc.name, "net": config.net.name, "out": config.out.name}


def timed(work: Callable[[], Any]) -> float:
    """Seconds by the clock."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def options(config: Config) -> PrepareOptions:
    return PrepareOptions(
        split="val", net=config.net, superpixels=config.superpixels, limit=config.images
    )


def throughput(config: Config, folder: Path, found: dict[str, Any]) -> Table:
    """Images a second of prepare and evaluate, with one and two workers."""
    plain = folder / "plain"
    pc.prepare("voc", root=config.voc, options=options(config), out=plain)
    instances = pc.load_instances(str(plain))
    number = iter(range(10**6))

    def prepare(executor: Executor) -> None:
        out = folder / f"out{next(number)}"
        pc.prepare("voc", root=config.voc, options=options(config), out=out, executor=executor)

    def evaluate(executor: Executor) -> None:
        pc.evaluate(instances, list(config.solvers), executor=executor)

    best: dict[tuple[str, int], Trial] = {}
    for _ in range(config.rounds):
        for workers in (1, 2):
            with pc.RayCluster("local", workers) as cluster:
                found["connect"] = timed(lambda: cluster.workers)
                for name, work in (("prepare", prepare), ("evaluate", evaluate)):
                    work(cluster)  # loads nets and kernels
                    for _ in range(config.trials):
                        key, trial = (name, workers), tried(lambda: work(cluster))  # noqa: B023
                        best[key] = trial.better(best.get(key, trial))
    rows = []
    for name in ("prepare", "evaluate"):
        one, two = best[name, 1], best[name, 2]
        speed, clock = one.alone / two.alone, one.clock / two.clock
        found[name] = {
            "one": vars(one), "two": vars(two), "speed_up": speed, "by_the_clock": clock,
        }  # fmt: skip
        rates = (config.images / one.alone, config.images / two.alone)
        rows.append((name, *rates, speed, bool(speed >= 1.7), clock))
    note = (
        f"{config.images} VOC images, {config.superpixels} superpixels, {config.net.stem}; "
        f"evaluate with {', '.join(config.solvers)}; best of {config.rounds * config.trials}. "
        "From CPU times, so that others on the machine count for nothing: a run takes what its "
        "busiest process takes, or half of what driver, Ray and workers take together, since "
        "there are two cores; waiting is left out. The last column is by the clock. "
        f"Reaching a local cluster takes {found['connect']:.1f} s before."
    )
    columns = (
        "command", "images/s, 1 worker", "2 workers", "speed-up", "≥ 1.7", "by the clock",
    )  # fmt: skip
    return Table("Throughput on a Ray cluster of one machine", columns, tuple(rows), note)


@dataclass(frozen=True)
class Trial:
    """Seconds of a run."""

    clock: float
    alone: float
    """What it would take on two cores of its own, by the CPU times of its processes."""

    def better(self, other: Trial) -> Trial:
        return Trial(min(self.clock, other.clock), min(self.alone, other.alone))


def tried(work: Callable[[], Any], cores: int = 2) -> Trial:
    before = cpu_times()
    clock = timed(work)
    spent = [after - before.get(pid, 0.0) for pid, after in cpu_times().items()]
    return Trial(clock, max(max(spent), sum(spent) / cores))


def cpu_times() -> dict[int, float]:
    """CPU seconds of this process and of all of the cluster."""
    found = {}
    mark = f"{MARK}={os.environ[MARK]}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int(folder.name) == os.getpid() or mark in (folder / "environ").read_bytes():
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                ticks = int(fields[11]) + int(fields[12])
                found[int(folder.name)] = ticks / os.sysconf("SC_CLK_TCK")
        except OSError:
            continue
    return found


def nothing(shared: Any, item: Any, cache: dict[str, Any]) -> Any:
    return item


def tasks(config: Config, folder: Path, found: dict[str, Any], count: int = 300) -> Table:
    """What it costs to send work away, beside doing it here."""
    scenes = [pc.make_scene(250, "B", seed=seed) for seed in range(20)]
    rows = []
    executors: dict[str, Executor] = {
        "here": pc.Processes(1), "2 processes": pc.Processes(2),
        "Ray, 2 workers": pc.RayCluster("local", 2),
    }  # fmt: skip
    for name, executor in executors.items():
        with executor, executor.open(nothing, None) as workers:
            list(workers.each(range(20)))
            empty = timed(lambda: list(workers.each(range(count)))) / count
            pc.solve_many(scenes, "icm", executor=executor)
            solved = min(
                timed(lambda: pc.solve_many(scenes, "icm", executor=executor)) / len(scenes)  # noqa: B023
                for _ in range(3)
            )
        found[f"task {name}"] = {"empty": empty, "icm": solved}
        rows.append((name, 1e3 * empty, 1e3 * solved))
    note = (
        "Milliseconds an item, by the clock. solve_many sends every instance (150 kB) and, for "
        "processes, starts them."
    )
    columns = ("who", "a task that does nothing, ms", "solve_many, icm, 250 nodes, ms")
    return Table("The price of a task", columns, tuple(rows), note)


def one_image(config: Config, folder: Path, found: dict[str, Any]) -> Table:
    """CPU time and bytes of one image, and what this process does with it."""
    plan = make_plan("voc", config.voc, options(config))
    samples, cache = plan.samples(), {}
    made: Any = [make_record(plan, samples[0], cache)]  # compiles and loads
    start = time.process_time()
    made = list(each(make_record, plan, samples[1:], pc.Processes(1)))
    seconds = (time.process_time() - start) / len(made)
    size = np.mean([len(pickle.dumps(one, 5)) for one in made])
    start = time.process_time()
    arrived = [pickle.loads(pickle.dumps(one, 5)) for one in made]
    records, pixels = [one.record for one in arrived], [one.pixels for one in arrived]
    write_shard(folder / "shard.parquet", records, [], pixels)
    writing = (time.process_time() - start) / len(made)
    found["image"] = {"seconds": seconds, "bytes": float(size), "writing": writing}
    row = (seconds, float(size) / 1e3, 1e3 * writing)
    columns = ("CPU seconds of a worker", "kB that travel", "CPU ms of the driver")
    note = "The driver receives records and writes shards; it alone writes."
    return Table("One image of prepare", columns, (row,), note)


def travelling(config: Config, folder: Path, found: dict[str, Any]) -> Table:
    """Bytes of the objects that travel."""
    scene, policy = pc.make_scene(250, "B", seed=0), pc.load_policy("labels")
    solution = pc.solve(scene, "alpha_expansion")
    things = {
        "CRF": scene.crf, "Instance": scene, "Policy `labels`": policy, "Solution": solution,
    }  # fmt: skip
    rows = []
    for name, thing in things.items():
        text = pickle.dumps(thing, 5)
        back = min(timed(lambda: pickle.loads(pickle.dumps(thing, 5))) for _ in range(20))  # noqa: B023
        found[f"bytes {name}"] = len(text)
        rows.append((name, len(text) / 1e3, 1e3 * back))
    columns = ("object", "kB", "ms there and back")
    return Table("Objects that travel (250 nodes, 21 labels)", columns, tuple(rows))


def learning(config: Config, folder: Path, found: dict[str, Any]) -> Table:
    """Bytes of experience and of weights; CPU time of an episode and of the learner's round."""
    scenes = [pc.make_scene(config.superpixels, "B", seed=seed) for seed in range(config.episodes)]
    corpus, rows = Corpus(scenes), []
    changes = {"episodes": config.episodes}
    for name, kind, make, method in (
        ("dqn", "paper", DQNLearner, DQN), ("dqn", "residual", DQNLearner, DQN),
        ("mcts", "paper", MCTSLearner, MCTS),
    ):  # fmt: skip
        spec = Spec(n_labels=corpus.n_labels, n_features=corpus.features.shape[1], kind=kind)
        learner: Any = make(with_fields(method(kind=kind), changes, name), spec, corpus)
        policy = Policy(spec, spec.initial_weights(0))
        played = [learner.player.play(policy, order) for order in learner.orders()]
        start = time.thread_time()
        played = [learner.player.play(policy, order) for order in learner.orders()]
        episode = (time.thread_time() - start) / len(played)
        moved = sum(len(pickle.dumps(one, 5)) for one in played)
        learner.remember(played)
        learner.learn()
        start = time.thread_time()
        learner.remember([pickle.loads(pickle.dumps(one, 5)) for one in played])
        remember = (time.thread_time() - start) / len(played)
        start = time.thread_time()
        learner.learn()
        learn = time.thread_time() - start
        steps = config.superpixels * len(played)
        weights = len(pickle.dumps(learner.policy(), 5))
        found[f"learn {name} {kind}"] = {
            "episode": episode, "remember": remember, "learn": learn,
            "updates": learner.steps.updates, "bytes": 1e3 * moved / steps, "weights": weights,
            "nodes": config.superpixels,
        }  # fmt: skip
        rows.append((
            f"{name}, {kind}", moved / steps, weights / 1e3, 1e3 * episode, 1e3 * remember,
            1e3 * learn,
        ))  # fmt: skip
    columns = (
        "method, kind", "kB per 1,000 transitions", "kB per broadcast of weights",
        "CPU ms of an actor, an episode", "CPU ms of the learner, an episode",
        "CPU ms of the learner, a round",
    )  # fmt: skip
    note = (
        f"Scenes of {config.superpixels} nodes, {corpus.n_labels} labels; a round is the "
        "gradient steps that the method takes by default (64, 32 for mcts). A broadcast goes once "
        "to every node that has an actor."
    )
    return Table("Experience and weights", columns, tuple(rows), note)


if __name__ == "__main__":
    os.environ[MARK] = uuid.uuid4().hex
    main(tyro.cli(Config, description=__doc__))
