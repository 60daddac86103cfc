"""Random numbers inside kernels (splitmix64, Steele et al. 2014): one uint64 of state, no globals.

numba's own generator is one per thread, so what an episode draws would depend on the thread it ran
in. Here the caller owns the state: the same seed gives the same episode anywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from policrf.compiled import leaf
from policrf.errors import InvalidOption

Generator = NDArray[np.uint64]


def checked_seed(seed: Any) -> int:
    """The seed, if it is one.

    >>> checked_seed(-1)
    Traceback (most recent call last):
    policrf.errors.InvalidOption: seed is -1; it must be a whole number from 0 to 2^63 − 1
    """
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not whole or not 0 <= seed < 2**63:
        raise InvalidOption(f"seed is {seed!r:.40}; it must be a whole number from 0 to 2^63 − 1")
    return int(seed)


def new_generator(seed: int) -> Generator:
    """State `[1]` of a stream; neighbouring seeds give unrelated streams."""
    return np.asarray(np.random.SeedSequence(seed).generate_state(1, np.uint64), np.uint64)


@leaf
def uniform(generator: Generator) -> float:
    """A number in [0, 1)."""
    generator[0] += np.uint64(0x9E3779B97F4A7C15)
    z = generator[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@leaf
def below(generator: Generator, count: int) -> int:
    """An integer in 0 … count−1."""
    return int(uniform(generator) * count)
