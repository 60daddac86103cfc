"""Writing a CRF as toulbar2's `.wcsp`: whole-numbered costs that are not negative.

Every table is lowered by its least entry, multiplied by `scale` and rounded. The file's name says
the scale and the sum of what was taken off, so that `read_wcsp` gives the energies back.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from policrf.argument_types import typed
from policrf.crf.io.compressed import packed_write
from policrf.crf.io.factors import TABLE_LIMIT, Factor, check_tables, factors_of
from policrf.crf.model import CRF
from policrf.errors import InvalidFile
from policrf.types import FloatArray

LARGEST = 2.0**53  # above it a cost would not be a whole number of a double
FINEST = 1e6  # the scale of energies that are no whole numbers, where it fits


@typed(InvalidFile)
def write_wcsp(
    crf: CRF, path: str | Path, *, scale: float | None = None, table_limit: int = TABLE_LIMIT
) -> None:
    """Write the model with costs round(scale · energy); forbidden labelings cost the top.

    Parameters
    ----------
    crf
        The model. Every potential is written out as tables.
    path
        The file; packed where it ends in `.gz`, `.xz` or `.bz2`.
    scale
        Cost of a unit of energy. By default 1 where all energies are whole numbers, and 1e6, or
        less where costs would be too large, where they are not.
    table_limit
        Largest table that is written; the native `.npz` keeps larger cliques unchanged.
    """
    check_tables(crf, path, table_limit)
    factors = [f for f in factors_of(crf) if not (len(f.scope) == 1 and (f.table == 0).all())]
    least = [_least(f.table) for f in factors]
    spans = [_highest(f.table) - low for f, low in zip(factors, least, strict=True)]
    total = float(sum(spans))
    scale = _scale(path, factors, total) if scale is None else scale
    if not 0 < scale * (total + 1) < LARGEST:
        raise InvalidFile(
            f"{path}: energies that differ by up to {total:.3g}, times a scale of {scale:g}, are "
            "no costs between 0 and 2^53; give another scale, or save as .cfn"
        )
    top = int(np.ceil(scale * total)) + len(factors) + 1
    shift = float(sum(least))
    name = "policrf" if scale == 1 and shift == 0 else f"policrf_scale_{scale!r}_shift_{shift!r}"
    with packed_write(path) as file:
        head = f"{name} {crf.n_nodes} {crf.n_labels} {len(factors)} {top}\n"
        file.write((head + " ".join(map(str, crf.cardinalities)) + "\n").encode())
        for factor, low in zip(factors, least, strict=True):
            file.write(_block(factor, np.round((factor.table - low) * scale), top))


def _scale(path: str | Path, factors: list[Factor], total: float) -> float:
    if all((f.table[np.isfinite(f.table)] % 1 == 0).all() for f in factors):
        return 1.0
    return float(min(FINEST, 10.0 ** np.floor(np.log10(LARGEST / (4 * (total + 1))))))


def _least(table: FloatArray) -> float:
    """The lowest entry where it is not above 0 already or no whole number; else 0 stays 0."""
    finite = table[np.isfinite(table)]
    if not finite.size:
        return 0.0
    low = float(finite.min())
    return 0.0 if low >= 0 and low % 1 == 0 else low


def _highest(table: FloatArray) -> float:
    finite = table[np.isfinite(table)]
    return float(finite.max()) if finite.size else 0.0


def _block(factor: Factor, costs: FloatArray, top: int) -> bytes:
    """The tuples that do not have the most frequent cost, which is the default."""
    whole = np.where(np.isinf(costs), top, costs).astype(np.int64)
    values, counts = np.unique(whole, return_counts=True)
    default = int(values[np.argmax(counts)])
    at = np.argwhere(whole != default)
    rows = np.concatenate([at, whole[whole != default][:, None]], axis=1).tolist()
    head = " ".join(map(str, [len(factor.scope), *factor.scope, default, len(rows)]))
    return ("\n".join([head, *(" ".join(map(str, row)) for row in rows)]) + "\n").encode()
