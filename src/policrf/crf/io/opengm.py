"""OpenGM models in HDF5 (`.h5`), read with h5py; values are energies, added over factors.

A group holds four kinds of datasets of integers (and values):

    header              2, 0, variables, factors, T, then T pairs (function id, how many), and
                        the type of values
    numbers-of-states   the labels of every variable
    function-id-ID      a group: `indices` and `values` of all functions of this id
    factors             of each: its function's number, the place of the id in the header, its
                        order, its variables

Functions by id: 16000 a table, 16002 w |a − b|, 16003 w min(|a − b|, t), 16004 w (a − b)²,
16005 w min((a − b)², t), 16006 Potts, 16007 Potts of any order, 16008 a constant. A table lists
its dimension and shape in `indices`, and its values with the first variable changing fastest.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from policrf.argument_types import typed
from policrf.crf.io.factors import Factor, Room, build_crf
from policrf.crf.model import CRF
from policrf.errors import InvalidFile
from policrf.limits import ARRAY_BYTES
from policrf.optional import need
from policrf.types import FloatArray, IntArray

TABLE, POTTS_OF_MANY, CONSTANT = 16000, 16007, 16008


class Pair(NamedTuple):
    """A function of two labels: how many values it stores, and its table from their difference."""

    n_values: int
    table: Callable[[FloatArray, list[float]], FloatArray]


PAIRS = {
    16002: Pair(1, lambda step, v: v[0] * np.abs(step)),
    16003: Pair(2, lambda step, v: v[1] * np.minimum(np.abs(step), v[0])),
    16004: Pair(1, lambda step, v: v[0] * step**2),
    16005: Pair(2, lambda step, v: v[1] * np.minimum(step**2, v[0])),
    16006: Pair(2, lambda step, v: np.where(step == 0, v[0], v[1])),
}
KNOWN = sorted([TABLE, *PAIRS, POTTS_OF_MANY, CONSTANT])


@typed(InvalidFile)
def read_opengm(path: str | Path) -> CRF:
    """Read an OpenGM model as a CRF: the energy of a labeling is the sum of its factors.

    Parameters
    ----------
    path
        An HDF5 file with one model, in the group "gm" or in its only group. Needs h5py
        (`pip install 'policrf[opengm]'`).
    """
    h5py = need("h5py", "h5py", "opengm")
    try:
        with h5py.File(path, "r") as file:
            return _read_group(path, _model_group(h5py, path, file))
    except OSError as error:
        what = "there is no such file" if not Path(path).exists() else f"no HDF5 file ({error})"
        raise InvalidFile(f"{path}: {what}") from None


def _model_group(h5py: Any, path: str | Path, file: Any) -> Any:
    groups = [
        name for name in file if isinstance(file[name], h5py.Group) and "header" in file[name]
    ]
    name = "gm" if "gm" in groups else groups[0] if len(groups) == 1 else None
    if name is None:
        raise InvalidFile(
            f"{path}: it has {len(groups)} groups with a model; an OpenGM file has one, or one "
            'called "gm"'
        )
    return file[name]


def _read_group(path: str | Path, group: Any) -> CRF:
    header = _integers(path, group, "header")
    if len(header) < 5 or header[0] != 2 or header[1] != 0:
        raise InvalidFile(f"{path}: header starts with {header[:2].tolist()}; 2, 0 can be read")
    n_nodes, n_factors, n_types = header[2:5].tolist()
    if len(header) not in (5 + 2 * n_types, 6 + 2 * n_types):
        raise InvalidFile(
            f"{path}: header has {len(header)} numbers, with {n_types} function types"
        )
    cards = _integers(path, group, "numbers-of-states")
    if n_nodes < 1 or len(cards) != n_nodes or cards.min() < 1:
        raise InvalidFile(
            f"{path}: numbers-of-states has {len(cards)} entries; the header says {n_nodes} "
            "variables, each with a label or more"
        )
    types = header[5 : 5 + 2 * n_types].reshape(-1, 2).tolist()
    room = Room(path, cards, Path(path).stat().st_size)
    functions = [_functions(path, group, number, count, room) for number, count in types]
    scopes = _integers(path, group, "factors") if n_factors else np.zeros(0, np.int64)
    factors = _factors(path, scopes, n_factors, functions, cards, room)
    return build_crf(path, cards, factors)


def _integers(path: str | Path, group: Any, name: str) -> IntArray:
    return np.asarray(_array(path, group, name, "iu"), np.int64)


def _array(path: str | Path, group: Any, name: str, kinds: str) -> Any:
    """A flat dataset of numbers, of a size that memory can hold."""
    where = f"{group.name}/{name}"
    found = group.get(name)
    if found is None or not hasattr(found, "dtype"):
        raise InvalidFile(f"{path}: the dataset {where} is missing")
    if found.ndim != 1 or found.dtype.kind not in kinds:
        raise InvalidFile(f"{path}: {where} is {found.dtype} {found.shape}, not a row of numbers")
    if found.size * 8 > ARRAY_BYTES:
        raise InvalidFile(f"{path}: {where} has {found.size} numbers, more than can be read")
    return found[()]


def _functions(
    path: str | Path, group: Any, number: int, count: int, room: Room
) -> list[FloatArray]:
    """The tables of all functions of one id."""
    if count == 0:
        return []
    if number not in KNOWN:
        raise InvalidFile(
            f"{path}: it has {count} functions of id {number}, which cannot be read; those of "
            f"{', '.join(map(str, KNOWN))} can"
        )
    part = group.get(f"function-id-{number}")
    if part is None:
        raise InvalidFile(f"{path}: the group {group.name}/function-id-{number} is missing")
    indices = _integers(path, part, "indices")
    values = np.asarray(_array(path, part, "values", "iuf"), np.float64)
    tables: list[FloatArray] = []
    at = used = 0
    for f in range(count):
        dimension = 2 if number in PAIRS else int(indices[at]) if at < len(indices) else -1
        first = at if number in PAIRS else at + 1
        shape = tuple(indices[first : first + dimension].tolist()) if dimension >= 0 else ()
        size = (
            float(np.prod(shape)) if len(shape) == dimension and all(s > 0 for s in shape) else -1
        )
        if size < 0 or size * 16 > room.available:
            raise InvalidFile(f"{path}: function {f} of id {number} has no valid shape: {shape}")
        n_values = {TABLE: int(size), POTTS_OF_MANY: 2, CONSTANT: 1}.get(number)
        n_values = PAIRS[number].n_values if n_values is None else n_values
        given = values[used : used + n_values]
        if len(given) < n_values or np.isnan(given).any() or np.isneginf(given).any():
            raise InvalidFile(
                f"{path}: function {f} of id {number} has values that are missing, NaN or −inf"
            )
        tables.append(_table(number, shape, given))
        at, used = first + dimension, used + n_values
    return tables


def _table(number: int, shape: tuple[int, ...], values: FloatArray) -> FloatArray:
    if number == TABLE:
        return np.array(values.reshape(shape, order="F"), order="C")
    if number == CONSTANT:
        return np.full(shape, values[0])
    if number == POTTS_OF_MANY:
        grids = np.indices(shape)
        return np.asarray(np.where((grids == grids[:1]).all(axis=0), values[0], values[1]))
    step = np.subtract.outer(np.arange(float(shape[0])), np.arange(float(shape[1])))
    return np.asarray(PAIRS[number].table(step, values.tolist()))


def _factors(
    path: str | Path, rows: IntArray, count: int, functions: list[list[FloatArray]],
    cards: IntArray, room: Room,
) -> list[Factor]:  # fmt: skip
    found, at = [], 0
    for f in range(count):
        if at + 3 > len(rows):
            raise InvalidFile(f"{path}: factors end before factor {f} of {count}")
        number, kind, order = rows[at : at + 3].tolist()
        scope = rows[at + 3 : at + 3 + order]
        at += 3 + order
        right = len(scope) == order and len(set(scope.tolist())) == order
        if not right or (order and not 0 <= scope.min() <= scope.max() < len(cards)):
            raise InvalidFile(f"{path}: factor {f} names no valid variables: {scope.tolist()}")
        if not (0 <= kind < len(functions) and 0 <= number < len(functions[kind])):
            raise InvalidFile(f"{path}: factor {f} names a function that is not there")
        table = functions[kind][number]
        if table.shape != tuple(cards[scope].tolist()):
            raise InvalidFile(
                f"{path}: factor {f} over {scope.tolist()} has a function of shape {table.shape}, "
                f"but its variables have {cards[scope].tolist()} labels"
            )
        room.add(scope)
        found.append(Factor(tuple(scope.tolist()), table))
    return found
