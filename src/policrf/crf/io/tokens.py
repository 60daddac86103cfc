"""A text file as words between white space, with errors that name the line and what was expected.

Lines are counted only where an error is told: a file of a million numbers is split once.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from policrf.crf.io.compressed import read_text
from policrf.errors import InvalidFile, TooLarge
from policrf.limits import free_bytes
from policrf.types import FloatArray, IntArray

WORD_BYTES = 60  # of a short word in a list, about


class Tokens:
    """The words of a file, taken one after the other.

    Parameters
    ----------
    path
        The file, packed or not.
    what
        What it is meant to be, for messages: "a UAI model".
    """

    def __init__(self, path: str | Path, what: str) -> None:
        self.path = path
        self.text = read_text(path, what)
        if len(self.text) / 2 * WORD_BYTES > free_bytes():
            raise TooLarge(f"{path}: its {len(self.text):,} characters do not fit in free memory")
        self.words = self.text.split()
        self.at = 0

    def error(self, message: str, at: int | None = None) -> InvalidFile:
        """An error at word `at`, by default the last one taken."""
        word = min(max(self.at - 1 if at is None else at, 0), max(len(self.words) - 1, 0))
        left, number = word, 0
        for number, line in enumerate(self.text.splitlines(), 1):  # noqa: B007
            left -= len(line.split())
            if left < 0:
                break
        return InvalidFile(f"{self.path}: line {max(number, 1)}: {message}")

    def take(self, count: int, what: str) -> list[str]:
        """The next `count` words."""
        if self.at + count > len(self.words):
            raise self.error(
                f"ends inside {what} ({len(self.words) - self.at} of {count} values); "
                "the file is cut off",
                len(self.words) - 1,
            )
        self.at += count
        return self.words[self.at - count : self.at]

    def word(self, what: str) -> str:
        """The next word."""
        return self.take(1, what)[0]

    def count(self, what: str, least: int = 0) -> int:
        """The next word as a whole number of at least `least`."""
        value = self.integer(what)
        if value < least:
            raise self.error(f"{what} is {value}; it must be at least {least}")
        return value

    def integer(self, what: str) -> int:
        """The next word as a whole number."""
        return int(self.integers(1, what)[0])

    def integers(self, count: int, what: str) -> IntArray:
        """The next `count` words as whole numbers."""
        words = self.take(count, what)
        try:
            return np.array([int(word) for word in words], np.int64)
        except (ValueError, OverflowError):
            k = next(k for k, word in enumerate(words) if not _is_integer(word))
            raise self.error(
                f"{what} holds {words[k]!r}, not a whole number", self.at - count + k
            ) from None

    def number(self, what: str) -> float:
        """The next word as a number."""
        return float(self.numbers(1, what)[0])

    def numbers(self, count: int, what: str) -> FloatArray:
        """The next `count` words as numbers."""
        words = self.take(count, what)
        try:
            return np.array(words, np.float64)
        except ValueError:
            k = next(k for k, word in enumerate(words) if not _is_number(word))
            raise self.error(
                f"{what} holds {words[k]!r}, not a number", self.at - count + k
            ) from None

    def finish(self, where: str, hint: str) -> None:
        """Refuse words that are left over."""
        if self.at != len(self.words):
            left = len(self.words) - self.at
            raise self.error(f"{left} values after {where}; {hint}", self.at)


def _is_integer(word: str) -> bool:
    try:
        return -(2**63) <= int(word) < 2**63
    except ValueError:
        return False


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
