"""Any function of a clique's labels, compiled with numba or plain Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from policrf.crf.checks import as_floats, frozen, require_finite
from policrf.crf.cliques import Cliques
from policrf.crf.potentials.base import CUSTOM, PARTIAL_FORMS, CliquePotential, Fields
from policrf.errors import InvalidPotential
from policrf.types import FloatArray, IntArray


class Custom(CliquePotential):
    """f(labels, parameters) for every clique, for any f.

    Parameters
    ----------
    cliques
        Ragged cliques (see `Cliques`).
    function
        Takes the clique's labels (int64 `[k]`, in the clique's order) and the clique's own
        parameters (float64 `[P_c]`, empty if none were given), and returns an energy; +inf forbids
        a labeling, NaN is an error. Decorated with `numba.njit` it runs at full speed; a plain
        Python function gives the same results, slower. It must not change its arguments.
    parameters
        One sequence of floats a clique, or an array `[C, P]`.
    partial
        How it is asked about a clique of which only some members are labeled. "complete": not
        before all are. "subset": `function` is called on the labels of the labeled members, in the
        clique's order (any length from 1 on). A function of its own: called on all members, −1
        where there is no label yet. Labeling node by node then hears of the clique from its first
        member on, which local search from a complete labeling cannot.
    of
        What `function` is called on: the clique's "labels", or its label "counts" (int64 `[L]`, how
        many members have each label). A function of the counts costs O(L) a question instead of
        O(clique), and is asked half-way by nature: partial is "subset" then.
    name
        How files and error messages call it; by default the function's own name.

    >>> parity = Custom([[0, 1, 2]], lambda labels, parameters: float(labels.sum() % 2))
    >>> len(parity)
    1
    """

    term = "custom"
    short_name = "custom"
    kind = CUSTOM

    def __init__(
        self,
        cliques: Any,
        function: Callable[[IntArray, FloatArray], float],
        parameters: ArrayLike | Sequence[ArrayLike] | None = None,
        *,
        partial: str | Callable[[IntArray, FloatArray], float] = "complete",
        of: Literal["labels", "counts"] = "labels",
        name: str | None = None,
    ) -> None:
        if not callable(function):
            raise InvalidPotential(
                f"Custom: function must be callable, not {type(function).__name__}"
            )
        if not callable(partial) and partial not in ("complete", "subset"):
            raise InvalidPotential(
                f"Custom: partial must be 'complete', 'subset' or a function, not {partial!r}"
            )
        if of not in ("labels", "counts"):
            raise InvalidPotential(f"Custom: of must be 'labels' or 'counts', not {of!r}")
        if of == "counts":
            if callable(partial):
                raise InvalidPotential("Custom: a function of counts needs no function for a part")
            partial = "subset"
        self.cliques = Cliques(cliques, group=self.name)
        self.function = function
        self.of = of
        self.partial_form: str = "marked" if callable(partial) else partial
        self.marked = partial if callable(partial) else None
        self.function_name = name or getattr(function, "__name__", type(function).__name__)
        count = len(self.cliques)
        rows = [()] * count if parameters is None else list(parameters)  # type: ignore[arg-type]
        if len(rows) != count:
            raise InvalidPotential(
                f"Custom: parameters for {len(rows)} cliques, but there are {count}"
            )
        parts = [
            as_floats(self.name, f"parameters[{c}]", row).reshape(-1) for c, row in enumerate(rows)
        ]
        self.parameters: FloatArray = frozen(np.concatenate(parts) if parts else np.zeros(0))
        require_finite(self.name, "parameters", self.parameters)
        ptr = np.zeros(count + 1, np.int64)
        np.cumsum([len(part) for part in parts], out=ptr[1:])
        self.parameter_ptr: IntArray = frozen(ptr)
        self._seal()

    def columns(self, n_labels: int) -> Fields:
        """The function's address and the cliques' own parameters."""
        from policrf.crf.custom_call import address_of

        zeros = np.zeros(len(self), np.int64)
        return {
            "addresses": zeros + address_of(self, self.function),
            "partial": zeros + PARTIAL_FORMS.index(self.partial_form),
            "counted": zeros + int(self.of == "counts"),
            "marked": zeros if self.marked is None else zeros + address_of(self, self.marked),
            "data_sizes": np.diff(self.parameter_ptr),
            "data": self.parameters,
        }

    def own_fields(self) -> Fields:
        """The parameters; the function is code, and is no part of a file."""
        return {"parameters": self.parameters, "parameter_ptr": self.parameter_ptr}

    def described(self) -> dict[str, Any]:
        """What a file keeps beside the arrays: names of functions, and how they are asked."""
        found = {"function": self.function_name, "of": self.of, "partial": self.partial_form}
        if self.marked is not None:
            found["marked"] = getattr(self.marked, "__name__", "partial")
        return found

    @staticmethod
    def from_description(
        fields: Fields, described: Mapping[str, Any], functions: Mapping[str, Callable[..., float]]
    ) -> Custom:
        """The group whose `fields` and description these are; files hold no functions."""
        ptr = fields["parameter_ptr"]
        rows = [fields["parameters"][ptr[c] : ptr[c + 1]] for c in range(len(ptr) - 1)]
        name, marked = described["function"], described.get("marked")
        return Custom(
            (fields["ptr"], fields["nodes"]),
            functions[name],
            rows,
            partial=described.get("partial", "complete") if marked is None else functions[marked],
            of=described.get("of", "labels"),
            name=name,
        )

    def check(self, n_nodes: int, cardinalities: IntArray) -> None:
        """Refuse nodes that the CRF does not have."""
        self.cliques.require_nodes_below(n_nodes, self.name)
