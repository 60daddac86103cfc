"""Checks for people who write their own solver or potential.

`check_solver(solver)` and `check_potential(group)` raise AssertionError with what went wrong;
`random_crf` and `reference_energy` are the parts they are made of, and `strategies` holds
hypothesis strategies (hypothesis is needed only there).
"""

from policrf.testing.check_potential import check_potential
from policrf.testing.check_solver import check_solver
from policrf.testing.random_crf import random_crf
from policrf.testing.reference import reference_energy, reference_minimum

__all__ = [
    "check_potential",
    "check_solver",
    "random_crf",
    "reference_energy",
    "reference_minimum",
]
