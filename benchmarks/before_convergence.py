"""Before convergence: what training brings at 1 to 30 µs a node, at large N.

    python benchmarks/before_convergence.py --sizes 2304 10000 100000

For every family, size and budget: `train(goal="energy")` on instances of that size, numbers and a
first pass, then what it returns on fresh instances at equal CPU time, against every untrained way
to begin, each with refine after it, against generic solvers, and against what the same run would
return had nothing been learned: its tuned numbers, or the default (`network=False` is that run
without its second half). At larger sizes than the smallest training begins with what was found at
the size before. Every training seed has fresh instances of its own. A run that was killed goes on
with the same command; the tables show all that its folder holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tyro

import policrf as pc
from policrf.evaluation.tables import Table, write_tables
from policrf.learn.tuning.journal import Journal
from policrf.learn.tuning.paired import Difference, difference
from policrf.learn.tuning.trials import Trials
from policrf.policy.first_pass.model import FirstPass
from policrf.scenes import FAMILIES, make_family
from policrf.solvers.numbers import UNTRAINED_STARTS, Numbers

LABELS = 6
SHORT, REPEATS = 0.01, 3  # seconds of a solve that others on the machine may spoil, and its seeds
FIRST_TRAINING, FIRST_FRESH = 71_000_000, 72_000_000  # seeds
RULE, TUNED, TRAINED = "untrained:refine=true", "numbers tuned", "trained"
CELL = "cell"  # how the journal's keys of whole cells begin
STARTED: dict[Any, str] = {"rule": RULE} | {
    start: f"{RULE},start={start}" for start in UNTRAINED_STARTS if start not in ("rule", "auto")
}
ROWS = (
    *STARTED.values(),
    "refine", "auto", "icm", "highest_confidence_first", "annealing",
)  # fmt: skip


class Plan(NamedTuple):
    """How much of everything at one size."""

    seconds: tuple[float, ...]
    """CPU time of a training run, a number for every budget; half of it is for the numbers."""
    training: int
    """Instances of a training run, a third of them or 10 held out."""
    fresh: int
    """Instances that nothing was chosen or judged on."""


BUDGETS = (1.0, 3.0, 10.0, 30.0)  # microseconds of CPU a node
PLANS = {
    2304: Plan((12, 12, 16, 24), 45, 12),
    10_000: Plan((12, 16, 24, 40), 24, 8),
    100_000: Plan((16, 40, 100, 200), 14, 4),
}


@dataclass(frozen=True)
class Config:
    """What to measure."""

    families: tuple[str, ...] = tuple(FAMILIES)[:8]
    sizes: tuple[int, ...] = tuple(PLANS)
    budgets: tuple[float, ...] = BUDGETS
    """Microseconds of CPU a node."""
    seeds: tuple[int, ...] = (0,)
    """Of training runs, each on instances of its own."""
    name: str = "before-convergence"
    work: Path = Path("runs/before-convergence")
    """Folder that a killed run goes on from."""
    out: Path = Path("benchmarks/results")


class Task(NamedTuple):
    """One training run, and what it is compared with."""

    family: str
    n: int
    micro: float
    seed: int

    @property
    def seconds(self) -> float:
        return PLANS[self.n].seconds[BUDGETS.index(self.micro)]


@lru_cache(maxsize=2)
def instances(family: str, n: int, first: int, count: int) -> list[pc.CRF]:
    """CRFs of a family by their seeds."""
    return [make_family(family, n, LABELS, seed=first + k) for k in range(count)]


def learned(task: Task, start: dict[str, Any] | None) -> dict[str, Any]:
    """What training ends with: numbers, and the weights of a first pass where one won."""
    first = FIRST_TRAINING + 1000 * task.seed
    crfs = instances(task.family, task.n, first, PLANS[task.n].training)
    policy = pc.train(
        crfs, goal="energy", budget=task.micro * 1e-6, seconds=task.seconds, seed=task.seed,
        table=False, **({} if start is None else {"start": as_policy(crfs, task.micro, start)}),
    )  # fmt: skip
    assert policy.tuning is not None
    weights = None if policy.first_pass is None else policy.first_pass.weights.tolist()
    reached = policy.training["reached"]
    kept = {name: reached[name] for name in ("unlearned", "candidates", "solves", "won", "verdict")}
    return {"numbers": policy.tuning.numbers.as_dict(), "weights": weights, **kept}


def as_policy(crfs: list[pc.CRF], micro: float, found: dict[str, Any]) -> pc.Policy:
    """The policy that was learned; with a pass that its numbers do not use, to begin with."""
    tuning = Trials(crfs, micro * 1e-6).tuning(Numbers.from_dict(found["numbers"]), won=True)
    weights = found["weights"]
    first_pass = None if weights is None else FirstPass(np.array(weights))
    return pc.Policy.rule(tuning, LABELS, first_pass=first_pass)


def measured(task: Task, found: dict[str, Any]) -> dict[str, list[float]]:
    """Energies on fresh instances by row, of short solves the median over a few seeds.

    All rows take turns on every instance; what is the same solver is measured once.
    """
    count, micro = PLANS[task.n].fresh, task.micro
    crfs = instances(task.family, task.n, FIRST_FRESH + 1000 * task.seed, count)
    trials = Trials(crfs, micro * 1e-6)
    trials.warm_up()
    ways: dict[str, Any] = {name: name for name in ROWS}
    known = {Numbers(start=name): way for name, way in STARTED.items()}
    same: dict[str, str] = {}
    for name, fields in ((TUNED, found["unlearned"]), (TRAINED, found["numbers"])):
        numbers = Numbers.from_dict(fields)
        if numbers in known:
            same[name] = known[numbers]
        else:
            ways[name] = as_policy(crfs, micro, found | {"numbers": fields})
            known[numbers] = name
    energies: dict[str, list[float]] = {name: [] for name in ways}
    repeats = REPEATS if micro * 1e-6 * task.n < SHORT else 1
    for trial, name in product(range(repeats * count), ways):
        energies[name].append(trials.measure(ways[name], trial).energy)
    medians = {
        name: np.median(np.reshape(found, (repeats, count)), axis=0).tolist()
        for name, found in energies.items()
    }
    for name, other in same.items():
        medians[name] = medians[other]
    return medians


def cell(journal: Journal, task: Task, start: dict[str, Any] | None) -> dict[str, Any]:
    """One family, size, budget and seed: trained, then all on fresh instances."""
    found = journal.recall(str(task), lambda: learned(task, start))
    print(found["verdict"], flush=True)

    def whole() -> dict[str, Any]:
        told = {**task._asdict(), "seconds": task.seconds}
        return {**told, "energies": measured(task, found), "found": found}

    return journal.recall(f"{CELL} {task}", whole)


def merged(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The seeds of a family, size and budget as one: instance after instance."""
    places: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for one in cells:
        places.setdefault((one["family"], one["n"], one["micro"]), []).append(one)
    return [
        {**runs[0], "runs": [one["found"] for one in runs], "energies": {
            row: [float(energy) for one in runs for energy in one["energies"][row]]
            for row in (*ROWS, TUNED, TRAINED)
        }}
        for runs in places.values()
    ]  # fmt: skip


def best_of(energies: dict[str, list[float]], rows: tuple[str, ...]) -> tuple[str, Difference]:
    """The row with the lowest mean, and the trained row less it."""
    best = min(rows, key=lambda name: float(np.mean(energies[name])))
    return best, difference(energies[TRAINED], energies[best], clipped=True)


def is_below(found: Difference) -> bool:
    """By more than noise, and in the plain mean too: clipping hides no solve that failed."""
    return found.mean + found.half < 0 and found.plain < 0


def bars(cells: list[dict[str, Any]]) -> Table:
    """Families in which the trained row is below, or above, the best of the others."""
    body = []
    for n, micro in sorted({(one["n"], one["micro"]) for one in cells}):
        here = [one["energies"] for one in cells if (one["n"], one["micro"]) == (n, micro)]
        against = [best_of(energies, (*ROWS, TUNED))[1] for energies in here]
        untuned = [best_of(energies, ROWS)[1] for energies in here]
        body.append((
            n, f"{micro:g}", len(here), sum(is_below(one) for one in against),
            sum(one.loses for one in against), sum(is_below(one) for one in untuned),
            sum(one.loses for one in untuned),
        ))  # fmt: skip
    columns = (
        "N", "µs a node", "families", "below the best", "above the best", "below, tuned row aside",
        "above, tuned row aside",
    )  # fmt: skip
    note = (
        "The trained row against the lowest of all others on the same fresh instances, numbers "
        "tuned without a network among them. Beyond the paired 95 % interval."
    )
    return Table("Before convergence: the bars", columns, tuple(body), note)


def details(cells: list[dict[str, Any]]) -> Table:
    body = []
    for one in cells:
        energies, runs = one["energies"], one["runs"]
        best, less = best_of(energies, (*ROWS, TUNED))
        means = {name: float(np.mean(found)) for name, found in energies.items()}
        body.append((
            one["family"], one["n"], f"{one['micro']:g}", one["seconds"], len(runs),
            len(energies[RULE]), means[TRAINED], means[RULE], means[TUNED], best, means[best],
            str(less), sum(run["weights"] is not None for run in runs),
            changes(runs[0]),
        ))  # fmt: skip
    columns = (
        "family", "N", "µs a node", "training, s", "runs", "fresh", "trained", "untrained rule",
        "numbers tuned", "best of the others", "its energy", "trained − it", "with a pass",
        "numbers of the first run",
    )  # fmt: skip
    note = (
        "Mean energies on the fresh instances of all runs, one for every training seed. Numbers "
        "tuned: what the same runs return without what was learned. With a pass: runs in which one "
        "won and is used. Differences are paired, with 95 % intervals, outliers clipped; of short "
        "solves the median of three seeds counts."
    )
    return Table("Before convergence, by family", columns, tuple(body), note)


def changes(found: dict[str, Any]) -> str:
    """Numbers that are not at their default; weights of moves are learned ones."""
    told = Numbers.from_dict(found["numbers"]).changes
    return " ".join(f"{k}={'learned' if k == 'move_weights' else v}" for k, v in told.items())


def all_cells(journal: Journal) -> list[dict[str, Any]]:
    """What the folder holds, in the order of the tables."""
    cells = [one for key, one in journal.values.items() if key.startswith(CELL)]
    order = list(FAMILIES)
    return sorted(cells, key=lambda one: (one["n"], order.index(one["family"]), one["micro"]))


def smaller(cells: list[dict[str, Any]], task: Task) -> dict[str, Any] | None:
    """What was found at the nearest smaller size: numbers, and the pass of the nearest budget."""
    below = [one for one in cells if one["family"] == task.family and one["n"] < task.n]
    near = [one for one in below if one["n"] == max(one["n"] for one in below)]
    near.sort(key=lambda one: (abs(one["micro"] - task.micro), one["seed"]))
    if not near or near[0]["micro"] != task.micro:
        return None
    weights = [one["found"]["weights"] for one in near if one["found"]["weights"] is not None]
    return near[0]["found"] | {"weights": weights[0] if weights else None}


def main(config: Config) -> None:
    resume = (config.work / "config.json").is_file()
    journal = Journal(config.work, {"labels": LABELS}, resume=resume)
    tasks = product(config.seeds, config.sizes, config.budgets, config.families)
    for seed, n, micro, family in tasks:
        task = Task(family, n, micro, seed)
        cell(journal, task, smaller(all_cells(journal), task))
        cells = merged(all_cells(journal))
        write_tables(config.out, config.name, [bars(cells), details(cells)], config)
        print(
            [row for row in details(cells).rows if row[:3] == (family, n, f"{micro:g}")], flush=True
        )
    for table in (bars(cells), details(cells)):
        table.show()


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
