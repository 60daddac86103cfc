"""A worker's side on a Ray cluster: what it keeps from one task to the next."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

KEPT = 2  # kinds of work whose shared part and cache a process keeps


class Place(NamedTuple):
    """Where the shared part of some work is, and where its relative paths begin."""

    key: str
    folder: str
    reference: tuple[Any]  # of the object store; inside a tuple Ray does not fetch it by itself


_held: dict[str, tuple[Any, Any, dict[str, Any]]] = {}


def run_items(place: Place, items: Sequence[Any]) -> list[Any]:
    """work(shared, item, cache) for some items in a row."""
    work, shared, cache = held(place)
    return [work(shared, item, cache) for item in items]


def held(place: Place) -> tuple[Any, Any, dict[str, Any]]:
    """The work, its shared part and this process's cache; fetched once a process."""
    if place.key not in _held:
        import ray

        from policrf.ahead import foreman

        # Other workers have the other cores: nobody helps to compile.
        os.environ[foreman.JOBS] = "1"
        with suppress(OSError):
            os.chdir(place.folder)
        work, shared = ray.get(place.reference[0])
        while len(_held) >= KEPT:
            del _held[next(iter(_held))]
        _held[place.key] = work, shared, {}
    return _held[place.key]
