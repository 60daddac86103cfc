"""CRF: N nodes, L labels, groups of potentials. Validates once, is immutable after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from policrf.argument_types import typed
from policrf.crf.arrays import Arrays, flatten
from policrf.crf.checks import plain_array
from policrf.crf.potentials import POTENTIALS, TERM_NAMES, Potential
from policrf.crf.potentials.unary import checked_cardinalities, checked_unary
from policrf.errors import InvalidFile, InvalidLabeling, InvalidPotential
from policrf.travel import packed, unpacked
from policrf.types import FloatArray, IntArray

if TYPE_CHECKING:
    from policrf.crf.labeling import Labeling

# `CRF.terms` has these whatever the groups are, so that results of many CRFs share their columns.
PAPER_TERMS = ("unary", "pairwise", "hop1", "hop2", "tables", "custom")


class CRF:
    """A conditional random field: E(y) = Σ_i f_i(y_i) + Σ over groups of potentials, minimised.

    Parameters
    ----------
    unary
        Energies `[N, L]`; +inf forbids a label.
    potentials
        Any number of groups: `Potts`, `BoxAgreement`, `LabelCost`, `Custom`, … (`POTENTIALS`).
    cardinalities
        Number of labels of every node `[N]`, where they differ; unary is +inf beyond them.

    >>> import policrf as pc
    >>> crf = pc.CRF([[0.0, 2.0], [1.0, 0.0]], pc.Potts([[0, 1]], weights=[3.0]))
    >>> crf.energy([0, 1]), crf.energy([0, 0])
    (3.0, 1.0)
    """

    @typed(InvalidPotential)
    def __init__(
        self, unary: ArrayLike, *potentials: Potential, cardinalities: ArrayLike | None = None
    ) -> None:
        self.unary: FloatArray = checked_unary(unary)
        self.cardinalities: IntArray = checked_cardinalities(cardinalities, self.unary)
        for position, potential in enumerate(potentials):
            if not isinstance(potential, Potential):
                raise InvalidPotential(
                    f"potential {position} is a {type(potential).__name__}; give groups of the "
                    f"classes {', '.join(known.__name__ for known in POTENTIALS)}"
                )
            potential.check(self.n_nodes, self.cardinalities)
        self.potentials: tuple[Potential, ...] = potentials
        self.arrays: Arrays = flatten(self.unary, self.cardinalities, potentials)

    @property
    def n_nodes(self) -> int:
        """N."""
        return int(self.unary.shape[0])

    @property
    def n_labels(self) -> int:
        """L, the largest number of labels of any node."""
        return int(self.unary.shape[1])

    def energy(self, labels: ArrayLike) -> float:
        """The energy of a labeling `[N]`; +inf where it uses something forbidden."""
        return float(sum(self._terms(self.checked_labels(labels)).tolist()))

    def partial_energy(self, labels: ArrayLike) -> float:
        """E_t of a partial labeling (−1 = unlabeled): the terms whose nodes are all labeled."""
        return float(sum(self._terms(self.checked_labels(labels, partial=True)).tolist()))

    def terms(self, labels: ArrayLike) -> dict[str, float]:
        """The energy by term, of the paper's terms and those that the CRF has."""
        values = self._terms(self.checked_labels(labels, partial=True))
        shown = {*PAPER_TERMS, *(group.term for group in self.potentials)}
        named = zip(TERM_NAMES, values.tolist(), strict=True)
        return {name: value for name, value in named if name in shown}

    @typed(InvalidLabeling)
    def label_costs(self, labels: ArrayLike, node: int) -> FloatArray:
        """The terms of one node for each of its labels `[L]`, the other nodes as in `labels`."""
        return self.labeling(labels).costs(node)

    def labeling(self, labels: ArrayLike | None = None) -> Labeling:
        """An incremental labeling that starts empty, or from `labels` (−1 = unlabeled)."""
        from policrf.crf.labeling import Labeling

        return Labeling(self, labels)

    def with_potentials(self, *potentials: Potential) -> CRF:
        """The same nodes and unaries with other groups of potentials."""
        return CRF(self.unary, *potentials, cardinalities=self.cardinalities)

    def groups(self, *kinds: type[Potential]) -> list[Potential]:
        """The groups of the given classes, in order."""
        return [p for p in self.potentials if isinstance(p, kinds)]

    def checked_labels(self, labels: ArrayLike, *, partial: bool = False) -> IntArray:
        """`labels` as int64 `[N]`, each a label that its node has (or −1, if partial)."""
        try:
            array = plain_array(labels)
        except (ValueError, TypeError) as error:
            raise InvalidLabeling(f"labels are no array of integers ({error})") from None
        if array.shape != (self.n_nodes,):
            raise InvalidLabeling(
                f"a labeling has shape ({self.n_nodes},), one label a node, not {array.shape}"
            )
        if array.dtype.kind not in "iu":
            raise InvalidLabeling(f"labels must be integers, not {array.dtype}")
        array = np.array(array, np.int64)  # writable and contiguous: one compiled specialisation
        bad = np.flatnonzero((array < (-1 if partial else 0)) | (array >= self.cardinalities))
        if bad.size:
            i = int(bad[0])
            raise InvalidLabeling(
                f"label {array[i]} of node {i} is outside 0 … {self.cardinalities[i] - 1}"
            )
        return array

    @typed(InvalidFile)
    def save(self, path: str | Path) -> None:
        """Write a `.npz` with everything but custom functions, which are saved by name."""
        from policrf.crf.io.native import save_crf

        save_crf(self, path)

    @staticmethod
    @typed(InvalidFile)
    def load(path: str | Path, *, functions: Mapping[str, Callable[..., Any]] | None = None) -> CRF:
        """Read what `save` wrote; `functions` gives the custom functions by name."""
        from policrf.crf.io.native import load_crf

        return load_crf(path, functions=functions)

    def _terms(self, labels: IntArray) -> FloatArray:
        from policrf.crf.energy import energy_terms
        from policrf.crf.valued.custom_call import raise_if_failed
        from policrf.errors import CustomPotentialFailed

        out = np.zeros(len(TERM_NAMES))
        energy_terms(self.arrays, labels, out)
        raise_if_failed()
        if any(
            value != value for value in out.tolist()
        ):  # NaN; a reduction takes three times as long
            raise CustomPotentialFailed("Custom: a compiled function raised or returned NaN")
        return out

    def __reduce__(self) -> tuple[Any, ...]:
        # Function addresses belong to one process: another one builds its own.
        return _rebuild, (self.unary, self.potentials, packed(self.cardinalities))

    def __repr__(self) -> str:
        groups = "".join(f", {p!r}" for p in self.potentials)
        return f"CRF({self.n_nodes} nodes, {self.n_labels} labels{groups})"


def _rebuild(unary: FloatArray, potentials: Sequence[Potential], cardinalities: Any) -> CRF:
    return CRF(unary, *potentials, cardinalities=unpacked(cardinalities))
