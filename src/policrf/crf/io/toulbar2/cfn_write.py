"""Writing a CRF as toulbar2's `.cfn`: JSON with decimal costs, every digit of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from policrf.argument_types import typed
from policrf.crf.io.compressed import packed_write
from policrf.crf.io.factors import TABLE_LIMIT, Factor, check_tables, factors_of
from policrf.crf.model import CRF
from policrf.errors import InvalidFile
from policrf.types import FloatArray

DIGITS = 9  # after the point of the top: toulbar2 cuts costs to as many
LARGEST = 5e16  # toulbar2's costs are whole numbers of 64 bits


@typed(InvalidFile)
def write_cfn(crf: CRF, path: str | Path, *, table_limit: int = TABLE_LIMIT) -> None:
    """Write the model so that costs are its energies; forbidden labelings reach the top.

    policrf reads every digit back. toulbar2 rounds to the digits of the top: nine after the point,
    fewer where costs would be too large for it.

    Parameters
    ----------
    crf
        The model. Every potential is written out as tables.
    path
        The file; packed where it ends in `.gz`, `.xz` or `.bz2`.
    table_limit
        Largest table that is written; the native `.npz` keeps larger cliques unchanged.
    """
    check_tables(crf, path, table_limit)
    factors = [f for f in factors_of(crf) if not (len(f.scope) == 1 and (f.table == 0).all())]
    top = np.ceil(sum(_largest(f.table) for f in factors)) + 1.0
    digits = int(np.clip(np.floor(np.log10(LARGEST / top)), 0, DIGITS))
    with packed_write(path) as file:
        problem = {"name": "policrf", "mustbe": f"<{top:.{digits}f}"}
        file.write(f'{{"problem": {json.dumps(problem)},\n"variables": {{\n'.encode())
        rows = (f' "x{i}": {size}' for i, size in enumerate(crf.cardinalities))
        file.write((",\n".join(rows) + '},\n"functions": {\n').encode())
        for f, factor in enumerate(factors):
            end = "" if f + 1 == len(factors) else ","
            file.write((_function(f, factor, float(top)) + end + "\n").encode())
        file.write(b"}}\n")


def _largest(table: FloatArray) -> float:
    finite = table[np.isfinite(table)]
    return float(np.abs(finite).max()) if finite.size else 0.0


def _function(f: int, factor: Factor, top: float) -> str:
    """Plain decimals: toulbar2 does not read exponents.

    What is forbidden costs twice the top, below which no sum of other costs brings it.
    """
    costs = np.where(np.isinf(factor.table), 2 * top, factor.table).reshape(-1).tolist()
    listed = ", ".join(np.format_float_positional(cost, trim="0") for cost in costs)
    return f' "f{f}": {{"scope": {json.dumps(list(factor.scope))}, "costs": [{listed}]}}'
