"""Before convergence: what training brings at 1 to 30 µs a node, at large N.

    python benchmarks/before_convergence.py --sizes 2304 10000 100000

For every family, size and budget: `train(goal="energy")` on instances of that size, numbers and a
first pass, then what it returns on fresh instances at equal CPU time, against every untrained way
to begin, each with refine after it, against generic solvers, and against the same training without
a network, for the same time. At larger sizes than the smallest a first pass begins with what was
learned at the size before. A run that was killed goes on with the same command; the tables show all
that its folder holds.
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
FIRST_TRAINING, FIRST_FRESH = 80_000, 60_000  # seeds
RULE, TUNED, TRAINED = "untrained:refine=true", "numbers tuned", "trained"
CELL = "cell"  # how the journal's keys of whole cells begin
ROWS = (
    RULE,
    *(f"{RULE},start={start}" for start in UNTRAINED_STARTS if start not in ("rule", "auto")),
    "refine", "auto", "icm", "highest_confidence_first", "annealing",
)  # fmt: skip


class Plan(NamedTuple):
    """How much of everything at one size; lists have a number for every budget."""

    seconds: tuple[float, ...]
    """CPU time of a training run."""
    seeds: tuple[int, ...]
    """Training runs, each on instances of its own."""
    training: int
    """Instances of a training run, a third of them or 10 held out."""
    fresh: int
    """Instances that nothing was chosen or judged on."""


BUDGETS = (1.0, 3.0, 10.0, 30.0)  # microseconds of CPU a node
PLANS = {
    2304: Plan((6, 6, 6, 8), (2, 1, 1, 1), 30, 12),
    10_000: Plan((12, 12, 15, 20), (1, 1, 1, 1), 20, 8),
    100_000: Plan((14, 40, 100, 200), (1, 1, 1, 1), 14, 4),
}


@dataclass(frozen=True)
class Config:
    """What to measure."""

    families: tuple[str, ...] = tuple(FAMILIES)[:8]
    sizes: tuple[int, ...] = tuple(PLANS)
    budgets: tuple[float, ...] = BUDGETS
    """Microseconds of CPU a node."""
    name: str = "before-convergence"
    work: Path = Path("runs/before-convergence")
    """Folder that a killed run goes on from."""
    out: Path = Path("benchmarks/results")


class Task(NamedTuple):
    """One training run."""

    family: str
    n: int
    micro: float
    seed: int
    network: bool
    seconds: float


@lru_cache(maxsize=2)
def instances(family: str, n: int, first: int, count: int) -> list[pc.CRF]:
    """CRFs of a family by their seeds."""
    return [make_family(family, n, LABELS, seed=first + k) for k in range(count)]


def learned(task: Task, start: dict[str, Any] | None) -> dict[str, Any]:
    """What training ends with: numbers, and the weights of a first pass where one won."""
    first = FIRST_TRAINING + 1000 * task.seed
    crfs = instances(task.family, task.n, first, PLANS[task.n].training)
    options: dict[str, Any] = {}
    if start is not None and task.network:
        options["start"] = as_policy(Trials(crfs, 1e-6), start)
    policy = pc.train(
        crfs, goal="energy", budget=task.micro * 1e-6, seconds=task.seconds, seed=task.seed,
        network=task.network, table=False, **options,
    )  # fmt: skip
    assert policy.tuning is not None
    weights = None if policy.first_pass is None else policy.first_pass.weights.tolist()
    reached = policy.training["reached"]
    kept = {name: reached[name] for name in ("candidates", "solves", "won", "verdict")}
    return {"numbers": policy.tuning.numbers.as_dict(), "weights": weights, **kept}


def as_policy(trials: Trials, found: dict[str, Any]) -> pc.Policy:
    """The policy that was learned."""
    if found["weights"]:
        trials = Trials(trials.problems, trials.budget, FirstPass(np.array(found["weights"])))
    return trials.policy(Numbers.from_dict(found["numbers"]))


def measured(family: str, n: int, micro: float, found: dict[str, Any]) -> dict[str, list[float]]:
    """Energies on fresh instances by row, of short solves the median over a few seeds.

    All rows take turns on every instance.
    """
    plan = PLANS[n]
    trials = Trials(instances(family, n, FIRST_FRESH, plan.fresh), micro * 1e-6)
    trials.warm_up()
    ways: dict[str, Any] = {name: name for name in ROWS}
    ways |= {name: as_policy(trials, one) for name, one in found.items()}
    energies: dict[str, list[float]] = {name: [] for name in ways}
    repeats = REPEATS if micro * 1e-6 * n < SHORT else 1
    for trial, name in product(range(repeats * plan.fresh), ways):
        energies[name].append(trials.measure(ways[name], trial).energy)
    return {
        name: np.median(np.reshape(found, (repeats, plan.fresh)), axis=0).tolist()
        for name, found in energies.items()
    }


def cell(
    journal: Journal, family: str, n: int, micro: float, start: dict[str, Any] | None
) -> dict[str, Any]:
    """One family, size and budget: trained, numbers tuned, then all on fresh instances."""
    plan, place = PLANS[n], BUDGETS.index(micro)
    found: dict[str, Any] = {}
    for seed, network in [(0, False), *((seed, True) for seed in range(plan.seeds[place]))]:
        task = Task(family, n, micro, seed, network, plan.seconds[place])
        name = f"{TRAINED} {seed}" if network else TUNED
        found[name] = journal.recall(str(task), lambda task=task: learned(task, start))
        print(name, found[name]["verdict"], flush=True)

    def whole() -> dict[str, Any]:
        told = {"family": family, "n": n, "micro": micro, "seconds": plan.seconds[place]}
        return {**told, "energies": measured(family, n, micro, found), "found": found}

    return journal.recall(f"{CELL} {family} {n} {micro:g}", whole)


def trained(energies: dict[str, list[float]]) -> list[float]:
    """The mean over training runs, by instance."""
    runs = [found for name, found in energies.items() if name.startswith(TRAINED)]
    return np.mean(np.array(runs, float), axis=0).tolist()


def best_of(energies: dict[str, list[float]], rows: tuple[str, ...]) -> tuple[str, Difference]:
    """The row with the lowest mean, and the trained row less it."""
    best = min(rows, key=lambda name: float(np.mean(np.array(energies[name], float))))
    other = [float(energy) for energy in energies[best]]
    return best, difference(trained(energies), other, clipped=True)


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
        energies, found = one["energies"], one["found"]
        best, less = best_of(energies, (*ROWS, TUNED))
        runs = [run for name, run in found.items() if name.startswith(TRAINED)]
        body.append((
            one["family"], one["n"], f"{one['micro']:g}", one["seconds"], len(runs),
            len(energies[RULE]),
            float(np.mean(trained(energies))), float(np.mean(energies[RULE])),
            float(np.mean(energies[TUNED])), best, float(np.mean(energies[best])), str(less),
            sum(bool(run["weights"]) for run in runs),
            " ".join(f"{name}={value}" for name, value in changes(runs[0])),
        ))  # fmt: skip
    columns = (
        "family", "N", "µs a node", "training, s", "runs", "fresh", "trained", "untrained rule",
        "numbers tuned", "best of the others", "its energy", "trained − it", "with a pass",
        "numbers of the first run",
    )  # fmt: skip
    note = (
        "Mean energies; trained is the mean of its runs, one for every training seed, and with a "
        "pass are those that published one. Sizes and budgets without a row were not measured."
    )
    return Table("Before convergence, by family", columns, tuple(body), note)


def changes(found: dict[str, Any]) -> list[tuple[str, Any]]:
    """Numbers that are not at their default."""
    return list(Numbers.from_dict(found["numbers"]).changes.items())


def all_cells(journal: Journal) -> list[dict[str, Any]]:
    """What the folder holds, in the order of the tables."""
    cells = [one for key, one in journal.values.items() if key.startswith(CELL)]
    order = list(FAMILIES)
    return sorted(cells, key=lambda one: (one["n"], order.index(one["family"]), one["micro"]))


def smaller_pass(
    cells: list[dict[str, Any]], family: str, n: int, micro: float
) -> dict[str, Any] | None:
    """What was learned at the nearest smaller size, at the nearest budget with a first pass."""
    near = [
        (-one["n"], abs(one["micro"] - micro), name, run)
        for one in cells
        if one["family"] == family and one["n"] < n
        for name, run in one["found"].items()
        if run["weights"]
    ]
    return min(near, key=lambda one: one[:3])[-1] if near else None


def main(config: Config) -> None:
    resume = (config.work / "config.json").is_file()
    journal = Journal(config.work, {"labels": LABELS}, resume=resume)
    for n, family, micro in product(config.sizes, config.families, config.budgets):
        found = cell(journal, family, n, micro, smaller_pass(all_cells(journal), family, n, micro))
        cells = all_cells(journal)
        write_tables(config.out, config.name, [bars(cells), details(cells)], config)
        print(details([found]).rows, flush=True)
    for table in (bars(cells), details(cells)):
        table.show()


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
