"""Writing a CRF as a UAI MARKOV file; every potential becomes a table of exp(−energy)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from policrf.crf.io.files import atomic_write
from policrf.crf.model import CRF
from policrf.crf.tabulate import group_of, tabulate_clique
from policrf.errors import InvalidFile, TooLarge
from policrf.types import FloatArray, IntArray


def write_uai(crf: CRF, path: str | Path, *, table_limit: int = 2**22) -> None:
    """Write the model so that −Σ log factor is its energy.

    An energy whose exp(−energy) is not a positive double is refused, since it would read back as
    another one.

    Parameters
    ----------
    crf
        The model. Every potential is written out as tables, which UAI files need.
    path
        The file.
    table_limit
        Largest table that is written; the native `.npz` keeps larger cliques unchanged.
    """
    arrays = crf.arrays
    for c in range(len(arrays.clique_kind)):
        nodes = arrays.clique_nodes[arrays.clique_ptr[c] : arrays.clique_ptr[c + 1]]
        size = float(np.prod(crf.cardinalities[nodes].astype(np.float64)))
        if size > table_limit:
            name, number = group_of(crf, c)
            raise TooLarge(
                f"{path}: clique {number} of {name} has {len(nodes)} nodes, a table of {size:.3g} "
                f"entries; table_limit is {table_limit}. Save as .npz, which keeps it unchanged"
            )
    factors = list(_factors(crf))
    lines = ["MARKOV", str(crf.n_nodes), " ".join(map(str, crf.cardinalities)), str(len(factors))]
    lines += [" ".join(map(str, [len(scope), *scope])) for scope, _ in factors]
    with atomic_write(path) as file:
        file.write(("\n".join(lines) + "\n").encode())
        for scope, table in factors:
            file.write(_block(path, scope, table))


def _factors(crf: CRF) -> Iterator[tuple[list[int], FloatArray]]:
    arrays = crf.arrays
    for i, row in enumerate(crf.unary):
        yield [i], row[: crf.cardinalities[i]]
    for (i, j), weight in zip(arrays.edges.tolist(), arrays.edge_weights.tolist(), strict=True):
        differ = np.arange(crf.cardinalities[i])[:, None] != np.arange(crf.cardinalities[j])
        yield [i, j], weight * differ
    for c in range(len(arrays.clique_kind)):
        nodes: IntArray = arrays.clique_nodes[arrays.clique_ptr[c] : arrays.clique_ptr[c + 1]]
        yield nodes.tolist(), tabulate_clique(crf, c)


def _block(path: str | Path, scope: list[int], table: FloatArray) -> bytes:
    with np.errstate(over="ignore", under="ignore"):
        factor = np.exp(-table)
    wrong = (np.isfinite(table) & ((factor == 0) | (factor < np.finfo(float).tiny))) | np.isinf(
        factor
    )
    if wrong.any():
        energy = table[wrong].flat[0]
        raise InvalidFile(
            f"{path}: exp(−energy) of {energy:.6g} over nodes {scope} is not a normal double; "
            "scale the energies down, or save as .npz"
        )
    values = " ".join(map(repr, factor.reshape(-1).tolist()))
    return f"\n{factor.size}\n{values}\n".encode()
