"""What passes between the folders: the arrays' types, `Solution` and `Progress`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from policrf.travel import packed, unpacked

Int8Array = NDArray[np.int8]
IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]
FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
BoolArray = NDArray[np.bool_]
Pixels = NDArray[np.uint8]  # [H, W, 3]; RGB
LabelMap = NDArray[np.int32]  # [H, W]; the label of every pixel, VOID where the truth is unknown
Segments = NDArray[np.int32]  # [H, W]; superpixels 0 … N−1, each occurring and connected
VOID = -1


class Progress(NamedTuple):
    """One line of a solver's trace."""

    seconds: float
    energy: float
    lower_bound: float


# Called with each line of the trace; returning True asks the solver to stop with what it has.
Callback = Callable[[Progress], bool | None]


@dataclass(frozen=True)
class Solution:
    """What every solver returns.

    Parameters
    ----------
    labels
        The best labeling found, `[N]`.
    energy
        Its energy, recomputed by the model; +inf if no allowed labeling was found.
    solver
        What solved it, as it was asked for.
    seconds
        Wall-clock time of the solver, compilation included if it had to happen.
    lower_bound
        No labeling has an energy below this, rounding included; −inf where the solver gives none.
    optimal
        Proven to be a minimum, up to what energies of this size round (`solvers.claims`): by the
        solver, or because the bound meets the energy.
    trace
        Each improvement of energy or bound: (seconds, energy, lower bound).
    order
        The nodes in the order they were labeled, for solvers that label one after the other.
    calls
        How often functions of `Custom` groups were called; 0 without such groups. Where some are
        expensive and limited, how often those were called within the limit.
    others
        With `solutions=M`, the further solutions, without others of their own (`solve`).
    info
        What else a solver has to tell: iterations, converged, per-step scores, …
    """

    labels: NDArray[np.int64]
    energy: float
    solver: str
    seconds: float
    lower_bound: float = float("-inf")
    optimal: bool = False
    trace: tuple[Progress, ...] = ()
    order: NDArray[np.int64] | None = None
    calls: int = 0
    others: tuple[Solution, ...] = ()
    info: dict[str, Any] = field(default_factory=dict)

    @property
    def gap(self) -> float:
        """(energy − lower bound) / max(|energy|, tiny): 0 where optimal, inf without a bound."""
        if self.optimal:
            return 0.0
        return max(0.0, self.energy - self.lower_bound) / max(abs(self.energy), 1e-12)

    def __reduce__(self) -> tuple[Any, ...]:
        values = {field.name: packed(getattr(self, field.name)) for field in fields(self)}
        return _rebuild, (values | {"trace": np.array(self.trace).reshape(-1, 3)},)

    def __repr__(self) -> str:
        proof = ", optimal" if self.optimal else ""
        if not self.optimal and np.isfinite(self.lower_bound):
            proof = f", lower bound {self.lower_bound:.6g}"
        return f"Solution({self.solver}: energy {self.energy:.6g}{proof}, {self.seconds:.3g} s)"


def _rebuild(values: dict[str, Any]) -> Solution:
    trace = tuple(Progress(*line) for line in values["trace"].tolist())
    return Solution(**{name: unpacked(v) for name, v in values.items()} | {"trace": trace})
