"""A mixed-integer program in the making: what every term's form needs to know (`exact_model`)."""

from __future__ import annotations

from typing import NamedTuple

from policrf.compiled import kernel
from policrf.crf.arrays import Arrays
from policrf.crf.energy import clique_energy
from policrf.solvers.proofs.program.milp import MilpBuilder
from policrf.types import BoolArray, IntArray


class Program(NamedTuple):
    """The nodes and labels of a program, and its columns and rows so far."""

    a: Arrays
    alive: BoolArray  # [N, L]
    fixed: IntArray  # [N]; the label of a node that has one left, −1 of the others
    columns: IntArray  # [N, L]; of x_il, −1 where there is none
    builder: MilpBuilder

    def counted(self, members: IntArray, label: int) -> tuple[int, int, IntArray]:
        """Members sure to have the label, sure not to, and the columns of the others."""
        sure = int((self.fixed[members] == label).sum())
        x = self.columns[members, label]
        x = x[x >= 0]
        return sure, len(members) - sure - len(x), x


@kernel
def fixed_energy(a: Arrays, c: int, labels: IntArray) -> float:
    """f_c of labels `[N]`, of which only those of its members count."""
    return clique_energy(a, c, labels)
