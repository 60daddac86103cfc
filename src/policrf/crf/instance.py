"""Instance: a CRF with what a policy sees of it, and what is known about the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from policrf.argument_types import check_fields, typed
from policrf.crf.checks import as_integers, frozen, plain_array
from policrf.crf.model import CRF
from policrf.errors import InvalidFile, InvalidInstance, InvalidPotential
from policrf.travel import packed, unpacked
from policrf.types import Float32Array, IntArray


@dataclass(frozen=True, eq=False)
class Instance:
    """A CRF, node features, a weighted graph, and optionally the truth.

    `edges` is the graph a policy's network passes messages over: usually the superpixels'
    adjacency, of which the pairwise term may use a part only.

    Parameters
    ----------
    crf
        The energy.
    features
        b_i, `[N, F]`.
    edges
        `[M, 2]`, each undirected edge once.
    edge_weights
        w(i, j), `[M, 2]`: for edge (i, j), column 0 is the weight of j in i's sum, column 1 that of
        i in j's. The weights into a node sum to 1 (a softmax over its neighbours).
    truth
        Pixels of every label in each node, `[N, L]`; void pixels are not counted. The only form in
        which an instance keeps its truth; `true_labels` is derived from it.
    label_names
        A name for each label; empty where there are none.
    feature_names
        A name for each column of `features`; empty where there are none.
    source
        Where it came from: file, recipe, seed. Values that JSON can hold.
    positions
        Centre (x, y) of every node, `[N, 2]`, y down: in pixels for images, in the unit square for
        scenes. Pictures use it, solvers do not.
    """

    crf: CRF
    features: Float32Array
    edges: IntArray
    edge_weights: Float32Array
    truth: IntArray | None = None
    label_names: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()
    source: dict[str, Any] = field(default_factory=dict)
    positions: Float32Array | None = None

    def __post_init__(self) -> None:
        check_fields(self, InvalidInstance)
        self._keep("features", np.float32)
        self._keep("edges", np.int64, (-1, 2))
        self._keep("edge_weights", np.float32, (-1, 2))
        self._keep("truth", np.int64)
        self._keep("positions", np.float32)
        self._check_features()
        self._check_graph()
        self._check_truth_and_positions()
        for names, size, what in (
            (self.label_names, self.crf.n_labels, "label_names"),
            (self.feature_names, self.features.shape[1], "feature_names"),
        ):
            if names and len(names) != size:
                raise InvalidInstance(f"{what} has {len(names)} names for {size} columns")

    def _keep(
        self, name: str, kind: type[np.generic], shape: tuple[int, ...] | None = None
    ) -> None:
        """Keep a read-only copy of a field, of one type, C-contiguous."""
        value = getattr(self, name)
        if value is not None:
            try:
                whole = kind is np.int64
                array = as_integers("instance", name, value) if whole else plain_array(value)
                if array.dtype.kind not in "biuf":
                    raise TypeError(f"dtype {array.dtype}")
                with np.errstate(over="ignore"):  # what is too large is infinite, and refused
                    array = np.array(array, kind, order="C")
                kept = frozen(array if shape is None else array.reshape(shape))
            except InvalidPotential as error:
                raise InvalidInstance(str(error)) from None
            except (TypeError, ValueError, OverflowError) as error:
                raise InvalidInstance(f"{name} is no array of real numbers ({error})") from None
            object.__setattr__(self, name, kept)

    def _check_features(self) -> None:
        if self.features.ndim != 2 or len(self.features) != self.crf.n_nodes:
            raise InvalidInstance(
                f"features must have shape [{self.crf.n_nodes}, F], not {list(self.features.shape)}"
            )
        if not np.isfinite(self.features).all():
            at = np.argwhere(~np.isfinite(self.features))[0].tolist()
            raise InvalidInstance(f"features{at} is not finite")

    def _check_graph(self) -> None:
        edges, weights, n_nodes = self.edges, self.edge_weights, self.crf.n_nodes
        if len(edges) and not 0 <= edges.min() <= edges.max() < n_nodes:
            raise InvalidInstance(f"edges name a node outside 0 … {n_nodes - 1}")
        if len(weights) != len(edges):
            raise InvalidInstance(f"{len(weights)} edge weights for {len(edges)} edges")
        if not np.isfinite(weights).all():
            at = np.argwhere(~np.isfinite(weights))[0].tolist()
            raise InvalidInstance(f"edge_weights{at} is not finite")

    def _check_truth_and_positions(self) -> None:
        shape = (self.crf.n_nodes, self.crf.n_labels)
        truth, positions = self.truth, self.positions
        if truth is not None and (truth.shape != shape or truth.min(initial=0) < 0):
            raise InvalidInstance(
                f"truth must be counts ≥ 0 of shape {list(shape)}, not {list(truth.shape)}"
            )
        if positions is not None and (
            positions.shape != (shape[0], 2) or not np.isfinite(positions).all()
        ):
            raise InvalidInstance(f"positions must be finite, of shape [{shape[0]}, 2]")

    @property
    def true_labels(self) -> IntArray:
        """The majority label of every node `[N]`; −1 where all its pixels are void."""
        if self.truth is None:
            raise InvalidInstance("this instance has no truth")
        labels: IntArray = np.argmax(self.truth, axis=1).astype(np.int64)
        labels[self.truth.sum(axis=1) == 0] = -1
        return labels

    @staticmethod
    @typed(InvalidInstance)
    def from_crf(
        crf: CRF,
        *,
        truth: Any = None,
        label_names: Sequence[str] = (),
        source: dict[str, Any] | None = None,
    ) -> Instance:
        """Derive features and a graph for a CRF that has no image (see `crf.features`).

        Parameters
        ----------
        crf
            The model.
        truth
            Counts of every label in each node, `[N, L]`.
        label_names
            L names.
        source
            Where it comes from, as values that JSON can hold.
        """
        from policrf.crf.features import derive_features, derive_graph

        features, names = derive_features(crf)
        edges, weights = derive_graph(crf)
        return Instance(
            crf=crf,
            features=features,
            edges=edges,
            edge_weights=weights,
            truth=truth,
            label_names=tuple(label_names),
            feature_names=names,
            source=dict(source or {}),
        )

    @typed(InvalidFile)
    def save(self, path: str | Path) -> None:
        """Write a `.npz` (schema version inside; custom functions by name only)."""
        from policrf.crf.io.native import save_instance

        save_instance(self, path)

    @staticmethod
    @typed(InvalidFile)
    def load(
        path: str | Path, *, functions: Mapping[str, Callable[..., Any]] | None = None
    ) -> Instance:
        """Read what `save` wrote; `functions` gives the custom functions by name."""
        from policrf.crf.io.native import load_instance

        return load_instance(path, functions=functions)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, tuple(packed(getattr(self, field.name)) for field in fields(self))

    def __repr__(self) -> str:
        truth = ", with truth" if self.truth is not None else ""
        graph = f"{self.features.shape[1]} features, {len(self.edges)} edges"
        return f"Instance({self.crf!r}, {graph}{truth})"


def _rebuild(*values: Any) -> Instance:
    return Instance(*map(unpacked, values))
