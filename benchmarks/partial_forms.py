"""HOP1 and HOP2 asked when complete, and for the least they can still come to.

    python benchmarks/partial_forms.py

Mean energy above the best of all rows in percent, and milliseconds of processor time, on embedded
scenes with all potentials. `partial="lowest"` changes what a labeling in progress hears of its
boxes; the energies of complete labelings are the same.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

import policrf as pc
from policrf.crf.potentials import BoxAgreement, BoxSupport, Potential
from policrf.evaluation.tables import Table, write_tables

ROWS = {
    "highest_confidence_first:descend=false": {},
    "highest_confidence_first": {},
    "untrained, partial costs": {"costs": "partial"},
    "untrained, expected costs": {"costs": "expected"},
}


@dataclass(frozen=True)
class Config:
    """What to measure."""

    regimes: tuple[str, ...] = ("A", "B")
    size: int = 250
    seeds: int = 30
    out: Path = Path("benchmarks/results")


def asked(group: Potential, partial: str) -> Potential:
    """The same boxes, asked in this way."""
    if isinstance(group, BoxAgreement):
        return BoxAgreement(group.cliques, group.labels, group.weights, partial)
    if isinstance(group, BoxSupport):
        return BoxSupport(group.cliques, group.labels, group.penalties, group.counts, partial)
    return group


def solved(crf: pc.CRF, row: str) -> tuple[float, float]:
    """Energy and processor seconds."""
    solver: object = row
    if ROWS[row]:
        fields = {"n_labels": crf.n_labels, "n_features": 4 * crf.n_labels + 1}
        solver = pc.Policy.untrained(**fields, **ROWS[row])
    instance = pc.Instance.from_crf(crf)
    start = time.process_time()
    energy = pc.solve(instance, solver).energy
    return energy, time.process_time() - start


def main(config: Config) -> None:
    tables = []
    for regime in config.regimes:
        scenes = [pc.make_scene(config.size, regime, seed=k).crf for k in range(config.seeds)]
        found = {}
        for partial in ("complete", "lowest"):
            forms = [pc.CRF(s.unary, *(asked(p, partial) for p in s.potentials)) for s in scenes]
            for row in ROWS:
                solved(forms[0], row)
                found[row, partial] = np.array([solved(crf, row) for crf in forms])
        best = np.min([values[:, 0] for values in found.values()], axis=0)
        body = []
        for row in ROWS:
            before, after = found[row, "complete"], found[row, "lowest"]
            change = 100 * (after[:, 0] - before[:, 0]) / np.abs(best)
            above = [100 * float(((v[:, 0] - best) / np.abs(best)).mean()) for v in (before, after)]
            spread = 1.96 * float(change.std(ddof=1)) / np.sqrt(len(change))
            milliseconds = [1000 * float(np.median(v[:, 1])) for v in (before, after)]
            body.append((row, *above, float(change.mean()), spread, *milliseconds))
        columns = ("row", "complete, % above", "lowest, % above", "change, %", "± 95 %")
        columns += ("complete, ms", "lowest, ms")
        title = f"Boxes asked half-way, regime {regime}, N = {config.size}"
        tables.append(Table(title, columns, tuple(body)))
        tables[-1].show()
    write_tables(config.out, "partial-forms", tables, config)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
