"""What every group of potentials has in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from policrf.crf.cliques import Cliques
from policrf.errors import InvalidPotential
from policrf.travel import packed, unpacked
from policrf.types import IntArray

Fields = dict[str, NDArray[Any]]

# Kinds of clique, as the compiled core knows them.
AGREE, SUPPORT, TABLE = 0, 1, 2
# From here on: kinds that keep a value in the state, and may be asked half-way.
CUSTOM, COUNTED, TOGETHER, DOMINANT, CONNECTED, ORDERED = 3, 4, 5, 6, 7, 8
# How a clique is asked about a part of its members: not until all are labeled; on the labels of
# those that are; on all, −1 where there is none yet; or for the least it can still come to.
PARTIAL_FORMS = ("complete", "subset", "marked", "lowest")
COMPLETE, SUBSET, MARKED, LOWEST = 0, 1, 2, 3


class Potential:
    """A group of potentials of one form over many cliques; immutable once built.

    A group checks by itself what needs no CRF (shapes, finiteness, repeated nodes); `check` is
    called once by the `CRF` it joins, with what only the CRF knows.
    """

    term: ClassVar[str]
    """The name of this group's part of the energy in `CRF.terms`."""
    short_name: ClassVar[str]
    """How a list such as "u+p+hop1" names the group."""

    def fields(self) -> Fields:
        """The arrays that a file keeps of the group, by name."""
        raise NotImplementedError

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """The group whose `fields` these are; by default they are its constructor's arguments."""
        return cls(**fields)

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

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), {name: packed(a) for name, a in self.fields().items()})


def _rebuilt(group: type[Potential], fields: dict[str, Any]) -> Potential:
    return group.from_fields({name: unpacked(array) for name, array in fields.items()})


class CliquePotential(Potential):
    """A group whose terms live on cliques of any size, the first argument of every such class."""

    cliques: Cliques
    kind: ClassVar[int]
    """AGREE, SUPPORT, …: how the compiled core computes it."""

    def columns(self, n_labels: int) -> Fields:
        """What the compiled core is to know of the cliques (see `crf.arrays`), beside their nodes.

        labels, weights, counts, addresses, partial, marked, counted, summary_sizes, updates,
        data_sizes, data_starts `[C]`, strides `[M]`, data, and the callbacks behind the addresses,
        by name. What is left out is −1 (labels), 1 (strides), one after the other (data_starts), or
        0 and empty.
        """
        raise NotImplementedError

    partial_form: str = "complete"
    """How it is asked about a clique of which only some members are labeled: `PARTIAL_FORMS`."""

    def _set_partial(self, partial: Any) -> None:
        """For groups with the choice between "complete" and "lowest"."""
        if str(partial) not in ("complete", "lowest"):
            raise InvalidPotential(
                f"{self.name}: partial must be 'complete' or 'lowest', not {str(partial)!r}"
            )
        self.partial_form = str(partial)

    def _partial_column(self) -> IntArray:
        return np.full(len(self.cliques), PARTIAL_FORMS.index(self.partial_form))

    def fields(self) -> Fields:
        """The cliques as `ptr` and `nodes`, and the arrays of `own_fields`."""
        found = {"ptr": self.cliques.ptr, "nodes": self.cliques.nodes, **self.own_fields()}
        return found | ({"partial": np.array("lowest")} if self.partial_form == "lowest" else {})

    def own_fields(self) -> Fields:
        """The arrays that a file keeps beside the cliques: the constructor's other arguments."""
        raise NotImplementedError

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """The group whose `fields` these are."""
        own = {name: array for name, array in fields.items() if name not in ("ptr", "nodes")}
        return cls((fields["ptr"], fields["nodes"]), **own)  # type: ignore[call-arg]

    def __len__(self) -> int:
        return len(self.cliques)

    def __repr__(self) -> str:
        sizes = self.cliques.sizes
        span = f", sizes {sizes.min()}–{sizes.max()}" if len(sizes) else ""
        return f"{self.name}({len(self)} cliques{span})"

    def __iter__(self) -> Iterator[IntArray]:
        return iter(self.cliques)
