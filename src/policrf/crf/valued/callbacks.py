"""C addresses of Python objects: valid while somebody holds the `Callback` that has them.

The arrays that addresses are written to hold their callbacks (`crf.arrays`), so that functions, and
what they close over, go with the last CRF that calls them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from threading import RLock
from typing import Any
from weakref import WeakValueDictionary

from numba.core.dispatcher import Dispatcher

_ATTRIBUTE = "policrf_callbacks"


@dataclass(frozen=True, eq=False)
class Callback:
    """An address, and everything that must live for it to be called."""

    address: int
    alive: Any


class Callbacks:
    """One callback a function and way of asking it, for as long as one of them is in use."""

    def __init__(self) -> None:
        # A callback holds its function, so that no other can get its id meanwhile.
        self._found: WeakValueDictionary[tuple[Any, ...], Callback] = WeakValueDictionary()
        self._lock = RLock()

    def get(
        self, function: Any, asked: tuple[Any, ...], make: Callable[[], tuple[int, Any]]
    ) -> Callback:
        """The callback of `function`, made if there is none."""
        key = (id(self), id(function), *asked)
        with self._lock:
            found = self._found.get(key)
            if found is None:
                address, alive = make()
                found = self._found[key] = Callback(address, (alive, function))
                if isinstance(function, Dispatcher):
                    # Compiling takes a while: a compiled function keeps its callbacks itself.
                    vars(function).setdefault(_ATTRIBUTE, {})[key] = found
            return found


def pinned(callback: Any) -> tuple[int, Any]:
    """The address of a ctypes callback, and what must live as long as it is used."""
    address = ctypes.cast(callback, ctypes.c_void_p).value
    assert address is not None
    return address, callback
