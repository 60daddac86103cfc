"""UAI MARKOV (and BAYES) files: factors of any order over variables of any cardinalities.

Energies are −log of the factors, so a zero factor is a forbidden labeling (+inf). Order-0 and
order-1 factors go to the unaries, Potts-shaped pairs to one `Potts` group (with their constant in a
unary), all others to `Tables`: the energy of every labeling is −Σ log factor, exactly.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from policrf.crf.io.files import existing_file
from policrf.crf.io.uai_write import write_uai
from policrf.crf.model import CRF
from policrf.crf.potentials import Potential, Potts, Tables
from policrf.errors import InvalidFile, PolicrfError, TooLarge
from policrf.types import FloatArray, IntArray

__all__ = ["read_uai", "write_uai"]


def read_uai(path: str | Path, *, detect_potts: bool = True) -> CRF:
    """Read a UAI model as a CRF; its energy is −Σ log factor.

    Parameters
    ----------
    path
        A file that starts with MARKOV or BAYES.
    detect_potts
        Whether a pairwise factor with one value on its diagonal and one off it becomes an edge of
        `Potts`, which more solvers take and all solve faster; the energies are the same.
    """
    tokens = _Tokens(path)
    kind = tokens.word("the network type")
    if kind.upper() not in ("MARKOV", "BAYES"):
        raise InvalidFile(
            f"{path}: starts with {kind!r}; a UAI model starts with MARKOV (or BAYES)"
        )
    n_nodes = tokens.count("the number of variables", 1)
    cards = tokens.integers(n_nodes, "the cardinalities")
    if (cards < 1).any():
        node = int(np.argmax(cards < 1))
        raise InvalidFile(f"{path}: variable {node} has {cards[node]} labels; it needs at least 1")
    scopes = _read_scopes(tokens, n_nodes)
    _check_memory(path, scopes, cards)
    tables = [_read_table(tokens, f, scope, cards) for f, scope in enumerate(scopes)]
    tokens.finish()
    return _build(path, cards, scopes, tables, detect_potts)


class _Tokens:
    """The file as whitespace-separated words, with errors that say what was expected where."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        try:
            self.words = existing_file(path).read_text(encoding="ascii").split()
        except UnicodeDecodeError:
            raise InvalidFile(f"{path}: not a text file; a UAI model is plain ASCII") from None
        except OSError as error:
            raise InvalidFile(f"{path}: cannot be read ({error.strerror})") from None
        self.at = 0

    def take(self, count: int, what: str) -> list[str]:
        if self.at + count > len(self.words):
            raise InvalidFile(
                f"{self.path}: ends inside {what} ({len(self.words) - self.at} of {count} values); "
                "the file is cut off"
            )
        self.at += count
        return self.words[self.at - count : self.at]

    def word(self, what: str) -> str:
        return self.take(1, what)[0]

    def count(self, what: str, least: int = 0) -> int:
        value = int(self.integers(1, what)[0])
        if value < least:
            raise InvalidFile(f"{self.path}: {what} is {value}; it must be at least {least}")
        return value

    def integers(self, count: int, what: str) -> IntArray:
        words = self.take(count, what)
        try:
            return np.array([int(word) for word in words], np.int64)
        except (ValueError, OverflowError):
            bad = next(word for word in words if not word.lstrip("+-").isdigit() or len(word) > 18)
            raise InvalidFile(f"{self.path}: {what} holds {bad!r}, not a whole number") from None

    def numbers(self, count: int, what: str) -> FloatArray:
        words = self.take(count, what)
        try:
            return np.array(words, np.float64)
        except ValueError:
            bad = next(word for word in words if not _is_number(word))
            raise InvalidFile(f"{self.path}: {what} holds {bad!r}, not a number") from None

    def finish(self) -> None:
        if self.at != len(self.words):
            raise InvalidFile(
                f"{self.path}: {len(self.words) - self.at} values after the last factor; "
                "the number of factors or a scope is wrong"
            )


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _read_scopes(tokens: _Tokens, n_nodes: int) -> list[IntArray]:
    scopes = []
    for f in range(tokens.count("the number of factors")):
        size = tokens.count(f"the size of scope {f}")
        scope = tokens.integers(size, f"scope {f}")
        if size and not 0 <= scope.min() <= scope.max() < n_nodes:
            raise InvalidFile(
                f"{tokens.path}: scope {f} names variable {scope.max()}, "
                f"but there are variables 0 … {n_nodes - 1}"
            )
        if len(np.unique(scope)) != size:
            raise InvalidFile(f"{tokens.path}: scope {f} repeats a variable: {scope.tolist()}")
        scopes.append(scope)
    return scopes


def _check_memory(path: str | Path, scopes: list[IntArray], cards: IntArray) -> None:
    """Refuse before allocating; sizes are computed in floats, which cannot overflow."""
    largest = 0.0
    total = float(len(cards) * cards.max())
    for scope in scopes:
        size = float(np.prod(cards[scope].astype(np.float64)))
        largest, total = max(largest, size), total + size
    available = _available_bytes()
    if total * 16 > available:
        raise TooLarge(
            f"{path}: its factors have {total:.3g} entries (the largest {largest:.3g}), "
            f"which do not fit in the {available / 2**30:.1f} GiB of memory that are free"
        )


def _available_bytes() -> float:
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError, AttributeError):  # not on this platform
        return 4.0 * 2**30


def _read_table(tokens: _Tokens, f: int, scope: IntArray, cards: IntArray) -> FloatArray:
    shape = tuple(cards[scope].tolist())
    wanted = int(np.prod(shape)) if shape else 1
    count = tokens.count(f"the size of factor {f}")
    if count != wanted:
        raise InvalidFile(
            f"{tokens.path}: factor {f} over {scope.tolist()} has {count} entries, "
            f"but its variables have {'×'.join(map(str, shape)) or 'none'} = {wanted}"
        )
    factor = tokens.numbers(count, f"factor {f}")
    if not (np.isfinite(factor) & (factor >= 0)).all():
        bad = factor[~(np.isfinite(factor) & (factor >= 0))][0]
        raise InvalidFile(
            f"{tokens.path}: factor {f} holds {bad}; factors are finite and not negative"
        )
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(factor).reshape(shape) + 0.0)


def _build(
    path: str | Path,
    cards: IntArray,
    scopes: list[IntArray],
    tables: list[FloatArray],
    detect: bool,
) -> CRF:
    unary = np.zeros((len(cards), int(cards.max())))
    unary[np.arange(unary.shape[1]) >= cards[:, None]] = np.inf
    potts: dict[tuple[int, int], float] = {}
    left: list[int] = []
    for f, (scope, table) in enumerate(zip(scopes, tables, strict=True)):
        if len(scope) == 0:
            unary[0] += float(table)
        elif len(scope) == 1:
            unary[scope[0], : cards[scope[0]]] += table
        elif detect and (pair := _as_potts(table)) is not None:
            low, high = sorted(scope.tolist())
            unary[low] += pair[0]
            potts[low, high] = potts.get((low, high), 0.0) + pair[1]
        else:
            left.append(f)
    groups: list[Potential] = []
    if potts:
        groups.append(Potts(np.array(list(potts), np.int64), np.array(list(potts.values()))))
    if left:
        groups.append(Tables([scopes[f] for f in left], [tables[f] for f in left]))
    try:
        return CRF(unary, *groups, cardinalities=cards)
    except PolicrfError as error:
        raise InvalidFile(f"{path}: {error}") from error


def _as_potts(table: FloatArray) -> tuple[float, float] | None:
    """(constant, weight) if the table is constant + weight · [y_i ≠ y_j], all finite."""
    if table.ndim != 2 or table.shape[0] != table.shape[1] or len(table) < 2:
        return None
    diagonal = np.diagonal(table)
    off = table[~np.eye(len(table), dtype=bool)]
    if not np.isfinite(table).all() or np.ptp(diagonal) > 0 or np.ptp(off) > 0:
        return None
    return float(diagonal[0]), float(off[0] - diagonal[0])
