"""Catalogue: every cell of the tables, figures and robustness, by name.

Score cells are what tables are made of: a row (a solver, or a policy with its way to decide) on the
test split of a data set at a number of superpixels under an energy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.data_cells import DataCells, own_size, policy_digest
from policrf.bench.reproduce.learners import Learner
from policrf.bench.reproduce.options import Reproduce
from policrf.bench.reproduce.presets import FULL, SHIPPED_POLICY, TERMS, DataSet, Preset
from policrf.policy.checkpoint import list_policies

POLICY = "{policy}"  # stands for the policy's file in a row
REFERENCES = ("net", "oracle")
ANYTIME = ("refine",)  # would go on for as long as it is given: without a limit it ends by itself


def shipped_for(found: DataSet, size: int) -> str:
    """The policy that ships for a data set and size; the one for any labels where there is none."""
    name = f"{found.name}-{own_size(found, size)}"
    return name if name in list_policies() else "labels"


@dataclass(frozen=True)
class Catalogue:
    """Makes the cells of one call."""

    asked: Reproduce

    @cached_property
    def preset(self) -> Preset:
        """With what the call changed."""
        return self.asked.chosen()

    @cached_property
    def data(self) -> DataCells:
        """The cells of data."""
        return DataCells(self.asked, self.preset)

    def policy(self, found: DataSet, size: int, terms: str, row: str, seed: int = 0) -> Cell:
        """The training of a learner."""
        learner = self.preset.learners[row]
        energy = terms if learner.per_term else FULL
        # Plain values only: the options are a part of the key.
        about = {
            "method": learner.method, "options": dict(learner.options) | {"width": found.width},
            "rounds": learner.rounds, "epochs": self.preset.epochs, "weights": learner.weights,
            "terms": energy, "features": self.preset.features_of(found), "seed": seed,
        }  # fmt: skip
        if learner.rounds:
            about["epochs"] = None
        needs = {
            "data": self.data.prepared(found, found.train, size),
            "energy": self.data.energies(found, size),
        }
        return Cell("train", f"{found.name} {size} {energy} {row} seed {seed}", about, needs)

    def policy_of_scenes(self, source: str, size: int, row: str) -> Cell:
        """The training of a learner on drawn scenes, which have energies of their own."""
        learner = self.preset.learners[row]
        about = {
            "method": learner.method, "options": dict(learner.options), "rounds": learner.rounds,
            "epochs": None if learner.rounds else self.preset.epochs, "weights": learner.weights,
            "terms": FULL, "scenes": source, "size": size, "images": self.preset.drawn_scenes,
            "seed": 0,
        }  # fmt: skip
        return Cell("train", f"{source} {size} {FULL} {row} seed 0", about)

    def solver(
        self,
        found: DataSet,
        size: int,
        terms: str,
        row: str,
        damage: Mapping[str, Any] | None = None,
    ) -> Cell:
        """A solver, or one of the references, on the test split."""
        named = {**self.preset.solvers, **self.preset.beside, **{r: r for r in REFERENCES}}
        text = named[row]
        if text == SHIPPED_POLICY:
            text = shipped_for(found, size)
        return self._score(found, size, terms, row, text, {}, damage)

    def learned(
        self, found: DataSet, size: int, terms: str, row: str, seed: int = 0, *,
        learned_at: int | None = None, search: bool = True, damage: Mapping[str, Any] | None = None,
    ) -> Cell:  # fmt: skip
        """A learner's policy on the test split, learned at the same size unless told."""
        learner: Learner = self.preset.learners[row]
        text = learner.row(POLICY) if search else POLICY
        needs = {"policy": self.policy(found, learned_at or size, terms, row, seed)}
        name = f"{row} seed {seed}" + (f" from {learned_at}" if learned_at else "")
        name += "" if search or not learner.deciding else " greedy"
        return self._score(found, size, terms, name, text, needs, damage)

    def _score(
        self, found: DataSet, size: int, terms: str, name: str, text: str,
        needs: dict[str, Cell], damage: Mapping[str, Any] | None,
    ) -> Cell:  # fmt: skip
        about = {
            "row": text, "terms": terms, "features": self.preset.features_of(found), "seed": 0,
            "seconds": None if text in ANYTIME else self.preset.solver_seconds,
            "images": self.preset.images,
            "pixels": self.preset.form == "ours", "damage": dict(damage or {}),
        }  # fmt: skip
        if text in list_policies():
            about["policy"] = policy_digest(text)
        needs = {
            "data": self.data.prepared(found, found.test, size),
            "energy": self.data.energies(found, size),
        } | needs
        told = "".join(f" {key} {value}" for key, value in (damage or {}).items())
        return Cell("score", f"{found.name} {size} {terms} {name}{told}", about, needs)

    def rows(self, terms: str) -> list[str]:
        """The solvers of an energy: under U the paper has belief propagation only."""
        solvers = [row for row in self.preset.solvers if terms != "u" or row == "BP"]
        beside = [row for row in self.preset.beside if terms != "u" or row in ("unary", "exact")]
        return [*solvers, *beside]

    def places(self) -> Iterator[tuple[DataSet, int]]:
        """Data sets and sizes of Table 2 that are asked for."""
        for found in self.preset.data_sets:
            for size in found.sizes:
                if self.asked.wants(size):
                    yield found, size

    def shown(self) -> tuple[DataSet, int]:
        """Where the figures and the robustness are from: the first data set, where it is asked for
        at the size that policies are carried over from."""
        found = self.preset.data_sets[0]
        wanted = [size for size in found.sizes if self.asked.wants(size)] or list(found.sizes)
        return found, found.learned_at if found.learned_at in wanted else wanted[0]

    def table2(self) -> list[Cell]:
        """All cells of Table 2."""
        cells = []
        for found, size in self.places():
            cells += [self.solver(found, size, FULL, row) for row in REFERENCES]
            for terms in TERMS:
                cells += [self.solver(found, size, terms, row) for row in self.rows(terms)]
                for row in self.preset.learners:
                    cells += self.seeds(found, size, terms, row)
        return cells

    def seeds(self, found: DataSet, size: int, terms: str, row: str) -> list[Cell]:
        """A learner's row, once a seed."""
        return [self.learned(found, size, terms, row, seed) for seed in self.preset.seeds_at(size)]

    def carried(self, found: DataSet) -> Iterator[tuple[int, str, Cell]]:
        """Table 3: number of superpixels, row and cell."""
        learners = [row for row in self.preset.learners if row.endswith("R2") or row not in (
            "supervised", "DQN R1", "MCTS R1")]  # fmt: skip
        for size in found.used_at:
            if not self.asked.wants(size):
                continue
            yield size, "net", self.solver(found, size, FULL, "net")
            yield size, "α-Exp + repair", self.solver(found, size, FULL, "α-Exp + repair")
            for row in learners:
                for search in (True, False):
                    cell = self.learned(
                        found, size, FULL, row, learned_at=found.learned_at, search=search
                    )
                    if search or self.preset.learners[row].deciding:
                        yield size, row if search else f"{row}, greedy", cell

    def table3(self) -> list[Cell]:
        """All cells of Table 3."""
        return [cell for found in self.preset.data_sets for _, _, cell in self.carried(found)]
