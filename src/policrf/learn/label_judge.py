"""Are labels better than without learning? By IoU where truth is known, energies beside it.

The opponents are the untrained rule and the solver whose labels have the lower mean energy under
the same energy. Without truth the energy is judged, against the untrained rule.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policrf.crf.instance import Instance
from policrf.errors import UnsupportedPotential
from policrf.evaluation.tables import Table
from policrf.learn.label_score import confusions_of, fewer_misses, set_iou
from policrf.learn.tuning.paired import Difference, difference
from policrf.solvers import solve
from policrf.types import IntArray

SOLVERS = ("alpha_expansion", "refine")
UNTRAINED, TRAINED = "untrained", "trained"


class Judge:
    """Labels of the opponents on instances that a policy has not seen, found once."""

    def __init__(self, instances: Sequence[Instance], *, known: bool) -> None:
        self.instances, self.known = instances, known
        self.rows: dict[str, list[IntArray]] = {}
        for name in (UNTRAINED, *SOLVERS):
            try:
                self.rows[name] = [solve(instance, name).labels for instance in instances]
            except UnsupportedPotential:
                continue
        self.energies = {name: self._energies(found) for name, found in self.rows.items()}
        means = {n: float(np.mean(self.energies[n])) for n in SOLVERS if n in self.rows}
        self.best = min(means, key=lambda name: means[name])
        self.against = [UNTRAINED, self.best] if known else [UNTRAINED]

    @property
    def opponents(self) -> list[list[IntArray]]:
        """Confusions of the instances by those that are to be beaten."""
        return [confusions_of(self.instances, self.rows[name]) for name in self.against]

    def verdict(self, labelings: list[IntArray]) -> tuple[Table, bool, str]:
        """The last table, whether these labels have won, and the line that says so."""
        found = self._differences(labelings)
        won = all(one.wins for one in found)
        what, sign = ("IoU", -1) if self.known else ("energy", 1)
        said = ", ".join(
            f"{sign * one.mean:+.3g} ± {one.half:.2g} against {name}"
            for one, name in zip(found, self.against, strict=True)
        )
        count = len(self.instances)
        sentence = f"training {'won' if won else 'did not win'}: {what} {said} on {count} "
        sentence += "instances not seen" + ("" if won else "; the untrained rule is returned")
        return self._table(labelings, sentence), won, sentence

    def _differences(self, labelings: list[IntArray]) -> list[Difference]:
        """Against every opponent; below 0 where the labels are better."""
        if self.known:
            ours = confusions_of(self.instances, labelings)
            return [fewer_misses(ours, theirs) for theirs in self.opponents]
        ours_of_energy = self._energies(labelings)
        return [difference(ours_of_energy, self.energies[name]) for name in self.against]

    def _table(self, labelings: list[IntArray], sentence: str) -> Table:
        rows = {UNTRAINED: self.rows[UNTRAINED], TRAINED: labelings} | self.rows
        base = self.energies[self.best]
        body = []
        for name, found in rows.items():
            energies = self.energies.get(name) or self._energies(found)
            iou = set_iou(confusions_of(self.instances, found)) if self.known else None
            body.append((name, float(np.mean(energies)), str(difference(energies, base)), iou))
        columns = ("row", "energy", f"less {self.best}", "IoU of the set")
        return Table("Labels on instances not seen", columns, tuple(body), sentence)

    def _energies(self, labelings: list[IntArray]) -> list[float]:
        pairs = zip(self.instances, labelings, strict=True)
        return [instance.crf.energy(labels) for instance, labels in pairs]
