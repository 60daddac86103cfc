"""Engines that are kept from one episode to the next.

An engine's graph, and what expected costs foresee, depend on the instance alone: the next episode
loads other weights into it (`Engine.load`) instead of building it again. The answers are the same
to the last bit. An engine works for one thread at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Generic, TypeVar

from policrf.crf.instance import Instance
from policrf.policy.engine import Engine
from policrf.policy.policy import Policy

LARGEST = 256_000_000  # bytes that a learner keeps in engines

Held = TypeVar("Held")


class Kept(Generic[Held]):
    """An engine, or something that holds one, for each of some instances.

    Parameters
    ----------
    instances
        What the engines are for.
    make
        One for a policy and an instance.
    engine
        The engine in it.
    size
        Its bytes.
    largest
        Bytes that idle engines may hold; when they are full, others are built for every use. The
        first ones stay, since instances are played in turn.
    """

    def __init__(
        self, instances: Sequence[Instance], make: Callable[[Policy, Instance], Held],
        engine: Callable[[Held], Engine], *, size: Callable[[Held], int], largest: int = LARGEST,
    ) -> None:  # fmt: skip
        self.instances, self.make, self.engine, self.size = instances, make, engine, size
        self.largest, self.nbytes = largest, 0
        self._idle: dict[int, Held] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._idle)

    @contextmanager
    def lent(self, policy: Policy, which: int) -> Iterator[Held]:
        """The one for instance number `which`, with this policy's weights, at its start."""
        with self._lock:
            held = self._idle.pop(which, None)
            if held is not None:
                self.nbytes -= self.size(held)
        if held is None:
            held = self.make(policy, self.instances[which])
        else:
            self.engine(held).load(policy)
        yield held
        size = self.size(held)
        with self._lock:
            if which not in self._idle and self.nbytes + size <= self.largest:
                self._idle[which] = held
                self.nbytes += size


def kept_engines(instances: Sequence[Instance], *, largest: int = LARGEST) -> Kept[Engine]:
    """Engines for these instances."""
    return Kept(
        instances, Engine, lambda engine: engine, size=lambda engine: engine.nbytes, largest=largest
    )
