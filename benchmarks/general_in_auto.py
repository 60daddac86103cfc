"""Does `auto` gain from the general policy as its half-way start, at equal time?

    python benchmarks/general_in_auto.py --policy general

`auto` begins with the untrained rule where cliques can be asked half-way; here a policy takes its
place, and everything after it is the same. Fresh CRFs (seeds from 970,000,000), CPU
time of one thread, paired differences with 95 % intervals in percent of the energy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import tyro
from general_policy import side_of

from policrf.crf.model import CRF
from policrf.evaluation.cpu_time import cpu_budgets
from policrf.evaluation.tables import Table, write_tables
from policrf.policy.checkpoint import load_policy
from policrf.policy.policy import Policy
from policrf.scenes import FAMILIES, make_family
from policrf.solvers import auto, solve
from policrf.solvers.spec import SOLVERS

FRESH = 970_000_000
EIGHT = tuple(FAMILIES)[:8]


@dataclass(frozen=True)
class Config:
    """Which policy, which CRFs, which budgets."""

    policy: str = "general"
    families: tuple[str, ...] = EIGHT
    nodes: int = 576
    labels: int = 8
    budgets: tuple[float, ...] = (10.0, 30.0, 100.0)
    """Microseconds of CPU a node."""
    count: int = 16
    out: Path = Path("benchmarks/results")
    name: str = "general-in-auto"


class Replaced:
    """The solvers, the untrained rule being a policy."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def get(self, name: str) -> Callable[..., Any]:
        return self.policy if name == "untrained" else SOLVERS.get(name)

    def names(self) -> list[str]:
        return list(SOLVERS.names())


def energies(crfs: list[CRF], seconds: float) -> np.ndarray:
    solve(crfs[0], "auto", seconds=seconds)  # kernels
    found = []
    for crf in crfs:
        with cpu_budgets():
            found.append(solve(crf, "auto", seconds=seconds).energy)
    return np.array(found)


def main(config: Config) -> None:
    policy, rows = load_policy(config.policy), []
    for family in config.families:
        crfs = [make_family(family, config.nodes, config.labels, FRESH + k)
                for k in range(config.count)]  # fmt: skip
        row: list[Any] = [family]
        for budget in config.budgets:
            seconds = 1e-6 * budget * config.nodes
            plain = energies(crfs, seconds)
            with patch.object(auto, "SOLVERS", Replaced(policy)):
                found = energies(crfs, seconds)
            row += [f"{plain.mean():.2f}", side_of(100 * (found - plain) / np.abs(plain))[0]]
        rows.append(tuple(row))
        print(*row, sep=" | ", flush=True)
    columns = ["family"]
    for budget in config.budgets:
        columns += [f"auto, {budget:g} µs a node", f"with {policy.name}, %{' ' * len(columns)}"]
    title = f"auto with the general policy, N = {config.nodes}, L = {config.labels}"
    told = {"first seed": FRESH, "count": config.count, "policy": policy.name}
    write_tables(config.out, config.name, [Table(title, tuple(columns), tuple(rows))], told)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
