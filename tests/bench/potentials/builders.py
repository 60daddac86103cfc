"""A small grid, and results as a run would log them."""

from __future__ import annotations

from policrf.bench.potentials.grid import PotentialGrid

SMALL = PotentialGrid(
    families=("parity", "order"),
    sizes=(16,),
    labels=3,
    seeds=(2,),
    budgets=(1.0, 50.0),
    solvers=("icm", "untrained + icm"),
    references=("unary",),
    reference_factor=2.0,
)


def result(row, seed, energy, **changes):
    """One result of parity at N = 16."""
    return {
        "family": "parity", "n": 16, "seed": seed, "row": row, "budget": 1.0, "energy": energy,
        "proven": False, "calls": 10, "wall_seconds": 1e-4, "cpu_seconds": 1e-4, "stopped": True,
    } | changes  # fmt: skip
