"""The explicit table of a clique of any kind, for solvers and formats that need one."""

from __future__ import annotations

import numpy as np

from policrf.compiled import kernel
from policrf.crf.arrays import Arrays
from policrf.crf.energy import clique_energy
from policrf.crf.model import CRF
from policrf.crf.potentials import CliquePotential
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.errors import CustomPotentialFailed
from policrf.types import FloatArray, IntArray


def tabulate_clique(crf: CRF, clique: int) -> FloatArray:
    """f_c for every joint labeling of clique `clique` of `crf.arrays`, one axis a member."""
    a = crf.arrays
    nodes = a.clique_nodes[a.clique_ptr[clique] : a.clique_ptr[clique + 1]]
    shape = tuple(crf.cardinalities[nodes].tolist())
    table = np.empty(int(np.prod(shape)))
    fill_table(a, clique, np.zeros(crf.n_nodes, np.int64), table)
    raise_if_failed()
    if np.isnan(table).any():
        name, number = group_of(crf, clique)
        raise CustomPotentialFailed(f"{name}: clique {number} raised or gave NaN")
    return table.reshape(shape)


def group_of(crf: CRF, c: int) -> tuple[str, int]:
    """The name of the group that clique `c` of all cliques belongs to, and its number there."""
    first = 0
    for group in crf.potentials:
        if isinstance(group, CliquePotential):
            if c < first + len(group):
                return group.name, c - first
            first += len(group)
    raise IndexError(f"clique {c} of {first}")


@kernel
def fill_table(a: Arrays, c: int, labels: IntArray, table: FloatArray) -> None:
    """Row-major over the members' labels; `labels` [N] is scratch space."""
    start, stop = a.clique_ptr[c], a.clique_ptr[c + 1]
    for m in range(start, stop):
        labels[a.clique_nodes[m]] = 0
    for at in range(len(table)):
        table[at] = clique_energy(a, c, labels)
        for m in range(stop - 1, start - 1, -1):
            node = a.clique_nodes[m]
            labels[node] += 1
            if labels[node] < a.cardinalities[node]:
                break
            labels[node] = 0
