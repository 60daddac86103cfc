"""LazyInstances: a sequence whose instances are made when they are asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Self, overload

from policrf.crf.instance import Instance


class LazyInstances(Sequence[Instance]):
    """Some positions of a source; slices and subsets read nothing."""

    def __init__(self, positions: Sequence[int]) -> None:
        self.positions = positions

    @abstractmethod
    def read(self, position: int) -> Instance:
        """The instance at a position of the source."""

    def __len__(self) -> int:
        return len(self.positions)

    @overload
    def __getitem__(self, k: int) -> Instance: ...
    @overload
    def __getitem__(self, k: slice) -> Self: ...
    def __getitem__(self, k: int | slice) -> Instance | Self:
        if isinstance(k, slice):
            return self.subset(range(len(self))[k])
        return self.read(self.positions[k])

    def __iter__(self) -> Iterator[Instance]:
        return (self.read(position) for position in self.positions)

    def subset(self, chosen: Sequence[int]) -> Self:
        """The instances at these places of this sequence, in this order."""
        other = copy(self)
        other.positions = [self.positions[k] for k in chosen]
        return other


class Chosen(LazyInstances):
    """Some of the instances of another sequence, read when they are asked for."""

    def __init__(self, instances: Sequence[Instance], positions: Sequence[int]) -> None:
        super().__init__(positions)
        self.instances = instances

    def read(self, position: int) -> Instance:
        """The other sequence's instance."""
        return self.instances[position]
