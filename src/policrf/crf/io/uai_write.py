"""Writing a CRF as a UAI MARKOV file; every potential becomes a table of exp(−energy)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from policrf.argument_types import typed
from policrf.crf.io.compressed import packed_write
from policrf.crf.io.factors import TABLE_LIMIT, Factor, check_tables, factors_of
from policrf.crf.model import CRF
from policrf.errors import InvalidFile


@typed(InvalidFile)
def write_uai(crf: CRF, path: str | Path, *, table_limit: int = TABLE_LIMIT) -> None:
    """Write the model so that −Σ log factor is its energy.

    An energy whose exp(−energy) is not a positive double is refused, since it would read back as
    another one.

    Parameters
    ----------
    crf
        The model. Every potential is written out as tables, which UAI files need.
    path
        The file; packed where it ends in `.gz`, `.xz` or `.bz2`.
    table_limit
        Largest table that is written; the native `.npz` keeps larger cliques unchanged.
    """
    check_tables(crf, path, table_limit)
    factors = list(factors_of(crf))
    lines = ["MARKOV", str(crf.n_nodes), " ".join(map(str, crf.cardinalities)), str(len(factors))]
    lines += [" ".join(map(str, [len(scope), *scope])) for scope, _ in factors]
    with packed_write(path) as file:
        file.write(("\n".join(lines) + "\n").encode())
        for factor in factors:
            file.write(_block(path, factor))


def _block(path: str | Path, factor: Factor) -> bytes:
    table = factor.table
    with np.errstate(over="ignore", under="ignore"):
        value = np.exp(-table)
    wrong = (np.isfinite(table) & (value < np.finfo(float).tiny)) | np.isinf(value)
    if wrong.any():
        energy = table[wrong].flat[0]
        raise InvalidFile(
            f"{path}: exp(−energy) of {energy:.6g} over nodes {list(factor.scope)} is not a normal "
            "double; scale the energies down, or save as .cfn or .npz"
        )
    values = " ".join(map(repr, value.reshape(-1).tolist()))
    return f"\n{value.size}\n{values}\n".encode()
