"""Turning what users pass into read-only arrays, with errors that name the group and the entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from policrf.errors import InvalidPotential
from policrf.types import FloatArray, IntArray

LARGEST = 2**62  # integers are below: sums of two do not overflow


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The array itself, made read-only."""
    array.setflags(write=False)
    return array


def plain_array(values: Any) -> NDArray[Any]:
    """As an array; entries that NumPy's masked arrays hide would be believed: a TypeError."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise TypeError("some of its entries are masked; fill them first")
    return np.asarray(values)


def as_floats(group: str, field: str, values: ArrayLike) -> FloatArray:
    """A contiguous read-only float64 copy; anything that is not a real number is refused."""
    try:
        raw = plain_array(values)
        if raw.dtype.kind not in "biuf":
            raise TypeError(f"dtype {raw.dtype}")
        array = np.array(raw, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InvalidPotential(
            f"{group}: {field} must be an array of real numbers ({error})"
        ) from None
    return frozen(array)


def as_integers(group: str, field: str, values: ArrayLike) -> IntArray:
    """A contiguous read-only int64 copy; fractions are refused, never rounded."""
    try:
        raw = plain_array(values)
        if raw.dtype.kind == "f":
            with np.errstate(invalid="ignore"):
                bad = np.flatnonzero(~(np.mod(raw, 1) == 0) | ~(np.abs(raw) < LARGEST))
            if bad.size:
                raise TypeError(f"entry {bad[0]} is {raw.flat[bad[0]]}")
        elif raw.dtype.kind == "u" and raw.size and raw.max() >= LARGEST:
            raise TypeError(f"entry {int(np.argmax(raw))} is {raw.max()}")
        elif raw.dtype.kind not in "iu" and raw.size:
            raise TypeError(f"dtype {raw.dtype}")
        array = np.array(raw, dtype=np.int64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidPotential(f"{group}: {field} must be an array of integers ({error})") from None
    return frozen(array)


def as_list(group: str, field: str, values: Any) -> list[Any]:
    """One entry a clique, whatever sequence or array they come in."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidPotential(
            f"{group}: {field} must be a sequence, one entry a clique, not a "
            f"{type(values).__name__}"
        )
    try:
        return list(values)
    except TypeError as error:  # an array without axes
        raise InvalidPotential(f"{group}: {field} must be a sequence ({error})") from None


def per_clique(group: str, field: str, values: ArrayLike, count: int) -> FloatArray:
    """One finite number a clique; a single number is taken for all of them."""
    array = as_floats(group, field, values)
    if array.ndim == 0:
        array = frozen(np.full(count, float(array)))
    if array.shape != (count,):
        raise InvalidPotential(
            f"{group}: {field} has shape {array.shape}, but there are {count} entries to go with it"
        )
    require_finite(group, field, array)
    return array


def require_finite(group: str, field: str, array: FloatArray) -> None:
    """Refuse NaN and infinities, naming the first."""
    if not np.isfinite(array).all():
        at = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        where = at[0] if len(at) == 1 else at
        raise InvalidPotential(f"{group}: {field}[{where}] is {array[at]}; it must be finite")


def require_at_least_zero(group: str, field: str, array: FloatArray) -> None:
    """Refuse negative entries, naming the first."""
    bad = np.flatnonzero(array < 0)
    if bad.size:
        raise InvalidPotential(
            f"{group}: {field}[{bad[0]}] is {array[bad[0]]}; it must not be negative"
        )


def require_labels_in_range(group: str, labels: IntArray, n_labels: int) -> None:
    """Refuse a label outside 0 … L−1, naming the first."""
    bad = np.flatnonzero((labels < 0) | (labels >= n_labels))
    if bad.size:
        raise InvalidPotential(
            f"{group}: labels[{bad[0]}] is {labels[bad[0]]}, outside 0 … {n_labels - 1}"
        )


def as_energies(group: str, field: str, values: ArrayLike) -> FloatArray:
    """Numbers that may be +inf, which forbids; NaN and −inf are refused."""
    array = as_floats(group, field, values)
    bad = np.argwhere(np.isnan(array) | np.isneginf(array))
    if len(bad):
        at = tuple(bad[0].tolist())
        raise InvalidPotential(
            f"{group}: {field}{list(at) if at else ''} is {array[at]}; energies are finite, or "
            "+inf where something is forbidden"
        )
    return array


def square_prices(group: str, prices: ArrayLike, field: str = "prices") -> FloatArray:
    """A table of energies for pairs of labels, `[L, L]`."""
    array = as_energies(group, field, prices)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise InvalidPotential(f"{group}: {field} must have shape [L, L], not {array.shape}")
    return array


def require_label_axis(group: str, field: str, found: int, n_labels: int) -> None:
    """Refuse a field whose label axis is not as long as the CRF has labels."""
    if found != n_labels:
        raise InvalidPotential(
            f"{group}: {field} is for {found} labels, but the CRF has {n_labels}"
        )
