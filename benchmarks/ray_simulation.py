"""What the figures of ray_scaling.py mean for larger clusters: a simulation, not a measurement.

    python benchmarks/ray_simulation.py

Reads benchmarks/results/ray-scaling.json and writes ray-simulation.md beside it.
"""

from __future__ import annotations

import heapq
import json
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tyro

from policrf.bench.reproduce.catalogue import Catalogue
from policrf.bench.reproduce.cells import in_order
from policrf.bench.reproduce.estimates import Estimates
from policrf.bench.reproduce.options import Reproduce
from policrf.bench.reproduce.other_cells import wanted
from policrf.bench.reproduce.store import Store
from policrf.evaluation.tables import Table, write_tables
from policrf.execution.ray_cluster import AHEAD

VOC = 10_582  # images of VOC's train set with SBD's annotations
CORES, MEMORY, STORE = 16, 64e9, 0.3  # of a node; Ray's store has this share of the memory
NETWORK = 1.25e9  # bytes a second of the driver's node: 10 Gbit/s


@dataclass(frozen=True)
class Config:
    results: Path = Path("benchmarks/results")
    """Where ray-scaling.json is, and the tables go."""
    rounds: int = 400
    """Rounds of learning that are simulated."""


def main(config: Config) -> None:
    path = config.results / "ray-scaling.json"
    measured: dict[str, Any] = json.loads(path.read_text())["measured"]
    tables = [
        saturation(config, measured), broadcasts(measured), core_hours(measured), store(measured),
    ]  # fmt: skip
    write_tables(config.results, "ray-simulation", tables, {"rounds": config.rounds})
    for table in tables:
        table.show()


@dataclass(frozen=True)
class Learning:
    """One learner and its actors, as they were measured."""

    episode: float
    """Seconds of an actor."""
    turn: float
    """Seconds of the learner's round."""
    episodes: int
    """Of a round."""
    moved: float
    """Bytes of a round's episodes."""
    weights: float
    """Bytes of a broadcast."""
    actors: int = 1
    staleness: int = 0

    def rate(self, rounds: int) -> float:
        """Rounds a second: the learner waits for the episodes of `staleness` rounds before."""
        free = [0.0] * self.actors  # when each actor has nothing more to do
        heapq.heapify(free)
        now, ready = 0.0, []
        nodes = -(-self.actors // CORES)
        travel = (self.moved + self.weights * nodes) / NETWORK
        for turn in range(rounds):
            ends = []
            for _ in range(self.episodes):
                end = max(now, heapq.heappop(free)) + self.episode
                heapq.heappush(free, end)
                ends.append(end)
            ready.append(max(ends))
            now += max(self.turn, travel)
            if turn >= self.staleness:
                now = max(now, ready[turn - self.staleness])
        return rounds / now


def saturation(config: Config, measured: dict[str, Any]) -> Table:
    rows = []
    for name, one in measured.items():
        if not name.startswith("learn "):
            continue
        for episodes in (8, 64, 512):
            plan = _learning(one, episodes)
            steps = episodes * one["nodes"] / plan.turn
            alone = plan.rate(config.rounds) * plan.turn
            enough = [_enough(replace(plan, staleness=s), config.rounds) for s in (0, 4)]
            moved = plan.moved / plan.turn / 1e6
            rows.append((name.removeprefix("learn "), episodes, alone, *enough, steps, moved))
    columns = (
        "method and kind", "episodes a round", "speed with 1 actor", "actors, staleness 0",
        "staleness 4", "transitions/s", "MB/s of experience",
    )  # fmt: skip
    note = (
        "Actors: the fewest, in powers of 2, with which the learner reaches 95 % of the speed that "
        "it has when it never waits; more do not help it. The gradient steps of a round are the "
        "default's, whatever its episodes. Empty: none suffice, since a round's episodes cannot be "
        "played faster than one of them."
    )
    return Table("Where one learner saturates", columns, tuple(rows), note)


def _learning(one: dict[str, Any], episodes: int) -> Learning:
    moved = one["bytes"] * episodes * one["nodes"] / 1e3
    turn = one["learn"] + episodes * one["remember"]
    return Learning(one["episode"], turn, episodes, moved, one["weights"])


def _enough(plan: Learning, rounds: int) -> int | None:
    wanted = 0.95 / plan.turn
    counts = (2**k for k in range(11))
    return next((a for a in counts if replace(plan, actors=a).rate(rounds) > wanted), None)


def broadcasts(measured: dict[str, Any]) -> Table:
    rows = []
    for name, one in measured.items():
        if name.startswith("learn "):
            plan = _learning(one, 64)
            sent = [nodes * plan.weights / plan.turn / 1e6 for nodes in (1, 100, 1000)]
            rows.append((name.removeprefix("learn "), 1 / plan.turn, *sent))
    columns = ("method and kind", "versions/s", "MB/s, 1 node", "100 nodes", "1,000 nodes")
    note = (
        "64 episodes a round, every version to every node: what leaves the learner's node if each "
        f"fetches it from there ({NETWORK / 1e6:.0f} MB/s is all that the network has); nodes that "
        "have a copy pass it on, which is Ray's to arrange."
    )
    return Table("Weights to many nodes", columns, tuple(rows), note)


def core_hours(measured: dict[str, Any]) -> Table:
    image = measured["image"]
    rows: list[tuple[Any, ...]] = []
    hours = VOC * image["seconds"] / 3600
    writing = VOC * image["writing"] / 3600
    spread = [max(writing, hours / cores) for cores in (16, 1600)]
    rows.append((f"prepare, VOC's {VOC:,} images", hours, *spread))
    for preset in ("ours", "paper"):
        with tempfile.TemporaryDirectory() as folder:
            catalogue, store = Catalogue(Reproduce(preset=preset)), Store(Path(folder))
            cells = in_order(wanted(catalogue, "table2"))
            estimates = Estimates(store)
            seconds = [estimates.seconds(cell) for cell in cells]
            train = [s for s, cell in zip(seconds, cells, strict=True) if cell.kind == "train"]
        total, longest = sum(seconds) / 3600, max(seconds) / 3600
        label = f"Table 2, preset {preset}: {len(cells)} cells, {len(train)} of them trainings"
        rows.append((label, total, max(longest, total / 16), max(longest, total / 1600)))
    columns = ("what", "core-hours", "hours on 16 cores", "hours on 100 nodes of 16 cores")
    note = (
        "Preparation from the CPU time measured here; Table 2 from the estimates of `policrf "
        "reproduce table2 --plan`. A training is one task: a table takes as long as its longest, "
        "and preparation as long as the driver writes."
    )
    return Table("What large jobs cost", columns, tuple(rows), note)


def store(measured: dict[str, Any]) -> Table:
    image = measured["image"]
    rows = []
    for nodes in (1, 10, 100, 1000):
        cores = nodes * CORES
        waiting = AHEAD * cores * image["bytes"]
        limits = {
            "the workers": cores / image["seconds"], "the driver that writes": 1 / image["writing"],
            "the driver's network": NETWORK / image["bytes"],
        }  # fmt: skip
        first = min(limits, key=lambda name: limits[name])
        rate = limits[first]
        rows.append((
            nodes, rate, first, VOC / rate / 60, waiting / 1e9, bool(waiting < STORE * MEMORY),
        ))  # fmt: skip
    columns = (
        "nodes", "images/s", "held back by", "minutes for VOC", "GB of results that may wait",
        "fit in the driver's object store",
    )  # fmt: skip
    note = (
        f"Nodes of {CORES} cores and {MEMORY / 1e9:.0f} GB, of which Ray's object store has "
        f"{100 * STORE:.0f} %, 10 Gbit/s. {AHEAD} tasks a core are ordered ahead; results wait "
        "where they were made, and where they do not fit Ray spills them to disk."
    )
    return Table("Preparation on many nodes, and the object store", columns, tuple(rows), note)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
