"""Any function of a clique's labels, compiled with numba or plain Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from policrf.argument_types import check_value, shown
from policrf.crf.checks import as_floats, as_integers, as_list, frozen, require_finite
from policrf.crf.cliques import Cliques
from policrf.crf.potentials.base import CUSTOM, PARTIAL_FORMS, CliquePotential, Fields
from policrf.errors import InvalidPotential
from policrf.travel import packed, unpacked
from policrf.types import FloatArray, IntArray


@dataclass(frozen=True)
class Summary:
    """A few numbers that say all that a function needs to know of a clique's labels.

    It starts with zeros and changes as members get and lose labels, so that a question costs what
    `update` costs, whatever the size of the clique.

    Parameters
    ----------
    size
        How many numbers there are, 1 or more.
    update
        `update(summary, member, label, sign, parameters)` changes the summary (float64 `[size]`) in
        place: member number `member` of the clique gets the label (sign +1) or loses it (sign −1).
    """

    size: int
    update: Callable[[FloatArray, int, int, int, FloatArray], None]

    def __post_init__(self) -> None:
        if isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 1:
            raise InvalidPotential(
                f"Summary: size must be a whole number from 1, not {self.size!r}"
            )
        if not callable(self.update):
            raise InvalidPotential(
                f"Summary: update must be callable, not {type(self.update).__name__}"
            )

    @property
    def name(self) -> str:
        """How files and messages call the update."""
        return str(getattr(self.update, "__name__", type(self.update).__name__))


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
        What `function` is called on: the clique's "labels", its label "counts" (int64 `[L]`, how
        many members have each label), or a `Summary` of them. A function of counts costs O(L) a
        question instead of O(clique), one of a summary what its update costs; both are asked
        half-way by nature: partial is "subset" then.
    expensive
        Whether a call costs so much that calls are counted: `solve` asks never, or as often as its
        `calls=` allows (`solvers.call_limit`); training asks freely. The function must give the
        same answer to the same question, since no question is asked twice.
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
        of: Literal["labels", "counts"] | Summary = "labels",
        expensive: bool = False,
        name: str | None = None,
    ) -> None:
        if not callable(function):
            raise InvalidPotential(
                f"Custom: function must be callable, not {type(function).__name__}"
            )
        if not callable(partial) and not _is_one_of(partial, "complete", "subset"):
            raise InvalidPotential(
                f"Custom: partial must be 'complete', 'subset' or a function, not {shown(partial)}"
            )
        check_value("Custom: name", str | None, name, InvalidPotential)
        check_value("Custom: expensive", bool, expensive, InvalidPotential)
        self.expensive = expensive
        self.summary = of if isinstance(of, Summary) else None
        self.form: str = "summary" if isinstance(of, Summary) else of
        if not _is_one_of(self.form, "labels", "counts", "summary"):
            raise InvalidPotential(
                f"Custom: of must be 'labels', 'counts' or a Summary, not {shown(of)}"
            )
        if self.form != "labels":
            if callable(partial):
                raise InvalidPotential(
                    f"Custom: a function of {self.form} needs no function for a part"
                )
            partial = "subset"
        self.cliques = Cliques(cliques, group=self.name)
        self.function = function
        self.partial_form: str = "marked" if callable(partial) else partial
        self.marked = partial if callable(partial) else None
        self.function_name = name or getattr(function, "__name__", type(function).__name__)
        count = len(self.cliques)
        given = [()] * count if parameters is None else parameters
        rows = as_list(self.name, "parameters", given)
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
        from policrf.crf.valued.custom_call import callback_of

        zeros = np.zeros(len(self), np.int64)
        asked = callback_of(self, self.function)
        callbacks = [asked]
        found: Fields = {
            "addresses": zeros + asked.address,
            "partial": zeros + PARTIAL_FORMS.index(self.partial_form),
            "counted": zeros + int(self.form == "counts"),
            "data_sizes": np.diff(self.parameter_ptr),
            "data": self.parameters,
        }
        if self.marked is not None:
            callbacks.append(callback_of(self, self.marked))
            found["marked"] = zeros + callbacks[-1].address
        if self.summary is not None:
            from policrf.crf.valued.summary_call import update_callback

            callbacks.append(update_callback(self.summary.update, self.summary.name))
            found["summary_sizes"] = zeros + self.summary.size
            found["updates"] = zeros + callbacks[-1].address
        return found | {"callbacks": np.array(callbacks, object)}

    def own_fields(self) -> Fields:
        """The parameters; the function is code, and is no part of a file."""
        return {"parameters": self.parameters, "parameter_ptr": self.parameter_ptr}

    def described(self) -> dict[str, Any]:
        """What a file keeps beside the arrays: names of functions, and how they are asked."""
        found: dict[str, Any] = {
            "function": self.function_name,
            "of": self.form,
            "partial": self.partial_form,
        }
        if self.expensive:
            found["expensive"] = True
        if self.summary is not None:
            found |= {"update": self.summary.name, "summary_size": self.summary.size}
        if self.marked is not None:
            found["marked"] = getattr(self.marked, "__name__", "partial")
        return found

    @staticmethod
    def from_description(
        fields: Fields, described: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]
    ) -> Custom:
        """The group whose `fields` and description these are; files hold no functions."""
        ptr = as_integers("Custom", "parameter_ptr", fields["parameter_ptr"])
        parameters = as_floats("Custom", "parameters", fields["parameters"])
        if ptr.ndim != 1 or parameters.ndim != 1 or not _fits(ptr, len(parameters)):
            raise InvalidPotential(
                "Custom: parameter_ptr must run from 0, never decreasing, to the "
                f"{parameters.size} parameters"
            )
        rows = [parameters[ptr[c] : ptr[c + 1]] for c in range(len(ptr) - 1)]
        name, marked = described["function"], described.get("marked")
        of = described.get("of", "labels")
        if of == "summary":
            of = Summary(int(described["summary_size"]), functions[described["update"]])
        return Custom(
            (fields["ptr"], fields["nodes"]),
            functions[name],
            rows,
            partial=described.get("partial", "complete") if marked is None else functions[marked],
            of=of,
            expensive=bool(described.get("expensive", False)),
            name=name,
        )

    def asking(
        self,
        function: Callable[[IntArray, FloatArray], float],
        marked: Callable[[IntArray, FloatArray], float] | None = None,
        *,
        expensive: bool = False,
    ) -> Custom:
        """The same cliques, parameters and ways of asking with other functions."""
        partial = self.partial_form if self.marked is None else marked or self.marked
        of: Any = self.form if self.summary is None else self.summary
        return _custom(self.fields(), function, partial, of, expensive, self.function_name)

    def __reduce__(self) -> tuple[Any, ...]:
        # The functions themselves travel; who sends them chooses how (pickle or cloudpickle).
        partial = self.partial_form if self.marked is None else self.marked
        of = self.form if self.summary is None else self.summary
        fields = {name: packed(array) for name, array in self.fields().items()}
        return _custom, (fields, self.function, partial, of, self.expensive, self.function_name)

    def check(self, n_nodes: int, cardinalities: IntArray) -> None:
        """Refuse nodes that the CRF does not have."""
        self.cliques.require_nodes_below(n_nodes, self.name)


def _custom(
    fields: Fields, function: Any, partial: Any, of: Any, expensive: bool, name: str | None
) -> Custom:
    fields = {key: unpacked(array) for key, array in fields.items()}
    values, ptr = fields["parameters"], fields["parameter_ptr"]
    rows = [values[a:b] for a, b in pairwise(ptr.tolist())]
    cliques = (fields["ptr"], fields["nodes"])
    return Custom(cliques, function, rows, partial=partial, of=of, expensive=expensive, name=name)


def _is_one_of(value: Any, *texts: str) -> bool:
    return isinstance(value, str) and value in texts


def _fits(ptr: IntArray, size: int) -> bool:
    """Whether it cuts `size` entries into rows."""
    return len(ptr) > 0 and ptr[0] == 0 and ptr[-1] == size and bool((ptr[1:] >= ptr[:-1]).all())
