"""What a policy is, apart from its numbers: kind, sizes, names, and the tensors they imply.

Two kinds, both scoring every label of every unlabeled node:

paper     the paper's graph embedding network, exactly: θ1 … θ5, K layers, μ^(0) = 0, ReLU.
residual  a learned correction of the current conditional costs c_i(l). With the margin
          m_i(l) = min_{k ≠ l} c_i(k) − c_i(l), what label l has over the best of the others,

              score_i(l) = s · φ(m_i(l)) + θ5 μ_i + v · ReLU(A x_i(l) + B μ_i + c)

          θ5 and v start at zero, so that untrained it is highest confidence first: label the node
          whose best label leads by most, given the costs it looks at. x_i(l) tells of label l at
          node i: φ(m), whether it is the default label, and how far the cliques that want it are
          filled (`INPUTS`). μ is the paper's embedding with a bias in every layer. φ(m) is
          m / (1 + |m|) with `squash`, else m.

`KINDS` says what a kind is: its tensors, how they start, and whether it sees the energy. Everybody
else asks `Spec.sees_costs` or looks whether a tensor is there (docs/extending.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from policrf.errors import InvalidOption
from policrf.types import Float32Array

COSTS = ("partial", "completed", "relaxed", "expected")
INPUTS = (
    "margin",
    "default",
    "agree",
    "agree_labeled",
    "agree_matched",
    "support",
    "support_matched",
    "support_missed",
)
N_INPUTS = len(INPUTS)
MARGIN_INPUT, DEFAULT_INPUT = INPUTS.index("margin"), INPUTS.index("default")
AGREE_INPUT, SUPPORT_INPUT = INPUTS.index("agree"), INPUTS.index("support")

Weights = dict[str, Float32Array]
Shapes = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Network:
    """Sizes of the network, and which costs the residual kind corrects."""

    layers: int = 3
    """K, layers of message passing."""
    width: int = 32
    """p, size of a node's embedding."""
    head_width: int = 16
    """Hidden units of the residual kind's correction."""
    costs: str = "expected"
    """Costs that the residual kind corrects: partial, completed, relaxed or expected."""
    foresight: int = 10
    """Sweeps of mean field by which expected costs foresee unlabeled nodes; 0: their unaries."""
    quota_limit: float = 1.0
    """Expected costs leave out quotas of more than this many times their penalty; 0: none."""
    gain: float = 0.5
    """What a label's promise to a clique that is asked half-way counts in its cost; 0: nothing."""

    def __post_init__(self) -> None:
        if self.costs not in COSTS:
            raise InvalidOption(f"costs is {self.costs!r}; it must be one of {', '.join(COSTS)}")
        for name in ("layers", "width", "head_width"):
            if getattr(self, name) < 1:
                raise InvalidOption(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.foresight < 0 or not 0 <= self.quota_limit < np.inf or not 0 <= self.gain < np.inf:
            raise InvalidOption("foresight, quota_limit and gain must be 0 or more")


@dataclass(frozen=True, kw_only=True)
class Spec(Network):
    """Kind, sizes and names of a policy; with the weights, all that is needed to use it."""

    n_labels: int
    n_features: int
    kind: str = "residual"
    """"paper" or "residual"."""
    squash: bool = True
    """Whether the residual kind's margins are squashed to (−1, 1)."""
    label_names: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_kind(self.kind)
        for name in ("n_labels", "n_features"):
            if getattr(self, name) < 1:
                raise InvalidOption(f"{name} is {getattr(self, name)}; it must be at least 1")
        for names, size, what in (
            (self.label_names, self.n_labels, "label_names"),
            (self.feature_names, self.n_features, "feature_names"),
        ):
            if names and len(names) != size:
                raise InvalidOption(f"{what} has {len(names)} names for {size} columns")

    @property
    def sees_costs(self) -> bool:
        """Whether the network looks at conditional costs (margins and `INPUTS`)."""
        return KINDS[self.kind].sees_costs

    @property
    def network(self) -> Network:
        """The sizes alone, as learning takes them."""
        return Network(**{name: getattr(self, name) for name in Network.__dataclass_fields__})

    def shapes(self) -> Shapes:
        """The tensors of this policy."""
        return _embedding_shapes(self) | KINDS[self.kind].tensors(self)

    def initial_weights(self, seed: int = 0) -> Weights:
        """Random weights of variance 1 / inputs, but for those that the kind starts elsewhere."""
        generator = np.random.default_rng(seed)
        weights = {}
        for name, shape in self.shapes().items():
            inputs = 1 if name in ("theta1", "theta2") else shape[-1]
            weights[name] = (generator.normal(size=shape) / np.sqrt(inputs)).astype(np.float32)
        for name, value in KINDS[self.kind].start.items():
            weights[name][...] = value
        return weights

    def checked(self, weights: dict[str, Any]) -> Weights:
        """The weights as finite float32 of the right names and shapes."""
        shapes = self.shapes()
        if set(weights) != set(shapes):
            missing, extra = sorted(set(shapes) - set(weights)), sorted(set(weights) - set(shapes))
            raise InvalidOption(
                f"weights of a {self.kind} policy: missing {missing}, unknown {extra}"
            )
        checked = {name: np.array(weights[name], np.float32, order="C") for name in shapes}
        for name, array in checked.items():
            if array.shape != shapes[name]:
                raise InvalidOption(f"{name} has shape {array.shape}, it must be {shapes[name]}")
            if not np.isfinite(array).all():
                raise InvalidOption(f"{name} holds numbers that are not finite")
        return checked

    def as_dict(self) -> dict[str, Any]:
        """The fields as values that JSON can hold."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    @staticmethod
    def from_dict(fields: dict[str, Any]) -> Spec:
        """What `as_dict` wrote."""
        # Policies from before these two fields look at the unaries and pursue every quota.
        values: dict[str, Any] = {"foresight": 0, "quota_limit": 0.0} | fields
        if "rounds" in values:  # what `layers` was called in older files
            values["layers"] = values.pop("rounds")
        for name in ("label_names", "feature_names"):
            values[name] = tuple(fields.get(name, ()))
        return Spec(**values)


def check_kind(kind: str) -> None:
    """Refuse a name that is no kind of network."""
    if kind not in KINDS:
        raise InvalidOption(f"kind is {kind!r}; it must be one of {', '.join(KINDS)}")


def _embedding_shapes(spec: Spec) -> Shapes:
    """The tensors of every kind. θ4 of the first layer would multiply 0: there is none."""
    layers, width = spec.layers, spec.width
    return {
        "theta1": (layers, width),
        "theta2": (layers, width, spec.n_labels),
        "theta3": (layers, width, spec.n_features),
        "theta4": (layers - 1, width, width),
        "theta5": (spec.n_labels, width),
    }


def _residual_shapes(spec: Spec) -> Shapes:
    layers, width, hidden = spec.layers, spec.width, spec.head_width
    return {
        "bias": (layers, width),
        "scale": (1,),
        "head_inputs": (hidden, len(INPUTS)),
        "head_embedding": (hidden, width),
        "head_bias": (hidden,),
        "head_out": (hidden,),
    }


@dataclass(frozen=True)
class Kind:
    """What tells one kind of network from another."""

    sees_costs: bool
    """Whether it looks at conditional costs: margins and `INPUTS` of every label."""
    tensors: Callable[[Spec], Shapes]
    """Its tensors, beside those of the embedding."""
    start: dict[str, float]
    """Tensors that do not start at random, and the value they start at."""


# The order is that of the numbers in `net.py`.
KINDS = {
    "paper": Kind(sees_costs=False, tensors=lambda spec: {}, start={}),
    "residual": Kind(
        sees_costs=True,
        tensors=_residual_shapes,
        start={"theta5": 0.0, "bias": 0.0, "head_bias": 0.0, "head_out": 0.0, "scale": 1.0},
    ),
}
