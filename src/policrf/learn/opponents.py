"""Against whom a trained policy is judged: everybody at the same budget, on the same instances."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from policrf.crf.model import CRF
from policrf.errors import TooLarge, UnsupportedPotential
from policrf.evaluation.cpu_time import cpu_budgets
from policrf.evaluation.tables import Table
from policrf.learn.tuning.paired import Difference, difference
from policrf.solvers import solve

TRAINED = "trained"
CHOSEN_ON = 8  # training instances that the best opponent is chosen on
Energies = dict[str, list[float]]


class Budget:
    """CPU seconds a node, and calls of expensive functions by the number of nodes."""

    def __init__(self, seconds: float, calls: Callable[[int], int] | None = None) -> None:
        self.seconds, self.calls = seconds, calls

    def energies(self, solver: Any, crfs: Sequence[CRF]) -> list[float]:
        """With all terms asked, by instance; +inf where a solver refuses."""
        return [self._energy(solver, crf) for crf in crfs]

    def _energy(self, solver: Any, crf: CRF) -> float:
        calls = None if self.calls is None else self.calls(crf.n_nodes)
        with cpu_budgets():
            try:
                return solve(crf, solver, seconds=self.seconds * crf.n_nodes, calls=calls).energy
            except (UnsupportedPotential, TooLarge):
                return float("inf")


def best_opponent(budget: Budget, names: Sequence[str], crfs: Sequence[CRF]) -> str:
    """Of these solvers the one with the lowest mean energy on a few training instances."""
    few = crfs[:CHOSEN_ON]
    means = {name: float(np.mean(budget.energies(name, few))) for name in names}
    return min(means, key=lambda name: means[name])


def verdict(rows: Mapping[str, list[float]], against: Sequence[str], at: str) -> tuple[str, bool]:
    """One sentence, and whether the trained row is below all of `against` by more than noise."""
    found: dict[str, Difference] = {
        name: difference(rows[TRAINED], rows[name], clipped=True) for name in against
    }
    won = all(one.wins for one in found.values())
    told = " and ".join(f"{one} from {name}" for name, one in found.items())
    start = "training won" if won else "training did not win; the untrained rule is returned"
    count = len(rows[TRAINED])
    return f"{start}: energy {told} on {count} held-out instances {at} (paired, 95 %)", won


def opponents_table(rows: Mapping[str, list[float]], title: str) -> Table:
    """Mean energies, and what the trained row is below them."""
    body = [
        (name, float(np.mean(found)), str(difference(rows[TRAINED], found, clipped=True)))
        for name, found in rows.items()
    ]
    columns = ("solver", "energy", "trained − it")
    note = "Mean energy with all terms asked, on held-out instances; differences are paired, 95 %."
    return Table(title, columns, tuple(body), note)
