"""Whether more time ever ends higher: each solver at growing budgets, with the same seed.

    python benchmarks/longer_is_lower.py

Frustrated fields and scenes with boxes; CPU time. A rise is how far an
energy is above the lowest one of the same solver, seed and CRF at a shorter budget, in % of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import tyro

from policrf.crf.model import CRF
from policrf.errors import TooLarge, UnsupportedPotential
from policrf.evaluation.cpu_time import cpu_budgets
from policrf.evaluation.tables import Table, write_tables
from policrf.scenes import make_frustrated, make_scene
from policrf.solvers import solve

PATIENCE = 100  # wall time / CPU time from which on time runs in any case
FIELDS: dict[str, Callable[[int], CRF]] = {
    "random tables": lambda seed: make_frustrated("random", 2_000, seed=seed),
    "glass": lambda seed: make_frustrated("glass", 2_000, seed=seed),
    "third order": lambda seed: make_frustrated("third_order", 1_000, seed=seed),
    "Ising": lambda seed: make_frustrated("ising", 2_500, seed=seed),
    "scene A": lambda seed: make_scene(2_500, "A", seed=seed).crf,
    "scene B": lambda seed: make_scene(2_500, "B", seed=seed).crf,
    "scene C": lambda seed: make_scene(250, "C", seed=seed).crf,
}


@dataclass(frozen=True)
class Config:
    """What to measure."""

    solvers: tuple[str, ...] = (
        "auto", "annealing", "refine", "lns", "exact", "belief_propagation", "mean_field",
        "tree_reweighted", "dual_decomposition", "alpha_expansion", "swap", "fusion",
        "lazy_flipper", "icm", "highest_confidence_first", "untrained",
    )  # fmt: skip
    budgets: tuple[float, ...] = (0.1, 0.2, 0.5, 1.0, 2.0)
    """Seconds of CPU."""
    seeds: int = 2
    out: Path = Path("benchmarks/results")
    name: str = "longer-is-lower"


def energies(crf: CRF, solver: str, budgets: tuple[float, ...], seed: int) -> list[float]:
    """One for each budget; none if the solver does not take the CRF."""
    try:
        with cpu_budgets(PATIENCE):
            solve(crf, solver, seconds=0.05, seed=seed)  # kernels are loaded
            return [solve(crf, solver, seconds=left, seed=seed).energy for left in budgets]
    except (UnsupportedPotential, TooLarge):
        return []


def rises(found: list[float]) -> list[float]:
    """% above the lowest energy at a shorter budget, for every budget but the first."""
    lowest = [min(found[:n]) for n in range(1, len(found))]
    return [
        max(0.0, 100 * (energy - low) / abs(low))
        for energy, low in zip(found[1:], lowest, strict=True)
    ]


def main(config: Config) -> None:
    worst: dict[tuple[str, str], float] = {}
    rows = []
    for name, seed in product(FIELDS, range(config.seeds)):
        crf = FIELDS[name](seed)
        for solver in config.solvers:
            found = energies(crf, solver, config.budgets, seed)
            if not found:
                continue
            rise = max(rises(found))
            worst[solver, name] = max(rise, worst.get((solver, name), 0.0))
            rows.append((name, seed, solver, *(round(energy, 3) for energy in found), rise))
            print(*rows[-1], sep=" | ", flush=True)
    body = [(solver, *(worst.get((solver, name)) for name in FIELDS)) for solver in config.solvers]
    note = "The largest rise in %, of all seeds and budgets; empty where a solver does not apply."
    columns = ("field", "seed", "solver", *(f"{left:g} s" for left in config.budgets), "rise")
    tables = [
        Table("More time, never higher", ("solver", *FIELDS), tuple(body), note),
        Table("Energies", columns, tuple(rows)),
    ]
    write_tables(config.out, config.name, tables, config)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
