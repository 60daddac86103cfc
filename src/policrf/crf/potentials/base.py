"""What every group of potentials has in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from policrf.crf.cliques import Cliques
from policrf.types import IntArray

# Kinds of clique, as the compiled core knows them.
AGREE, SUPPORT, TABLE, CUSTOM = 0, 1, 2, 3
# How a clique is asked about a part of its members: not until all are labeled; on the labels of
# those that are; on all, −1 where there is none yet.
PARTIAL_FORMS = ("complete", "subset", "marked")
COMPLETE, SUBSET, MARKED = 0, 1, 2


class Potential:
    """A group of potentials of one form over many cliques; immutable once built.

    A group checks by itself what needs no CRF (shapes, finiteness, repeated nodes); `check` is
    called once by the `CRF` it joins, with what only the CRF knows.
    """

    term: ClassVar[str]
    """The name of this group's part of the energy in `CRF.terms`."""

    def check(self, n_nodes: int, cardinalities: IntArray) -> None:
        """Refuse nodes and labels that the CRF does not have."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """The class name, as error messages use it."""
        return type(self).__name__

    def __setattr__(self, attribute: str, value: Any) -> None:
        if getattr(self, "_sealed", False):
            raise AttributeError(f"{self.name} is immutable; build a new group instead")
        object.__setattr__(self, attribute, value)

    def _seal(self) -> None:
        object.__setattr__(self, "_sealed", True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


class CliquePotential(Potential):
    """A group whose terms live on cliques of any size."""

    cliques: Cliques

    def __len__(self) -> int:
        return len(self.cliques)

    def __repr__(self) -> str:
        sizes = self.cliques.sizes
        span = f", sizes {sizes.min()}–{sizes.max()}" if len(sizes) else ""
        return f"{self.name}({len(self)} cliques{span})"

    def __iter__(self) -> Iterator[IntArray]:
        return iter(self.cliques)
