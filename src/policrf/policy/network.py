"""What a policy is, apart from its numbers: kind, sizes, names, and the tensors they imply.

Two kinds, both scoring every label of every unlabeled node:

paper     the paper's graph embedding network, exactly: θ1 … θ5, K rounds, μ^(0) = 0, ReLU.
residual  a learned correction of the current conditional costs c_i(l). With the margin
          m_i(l) = min_{k ≠ l} c_i(k) − c_i(l), what label l has over the best of the others,

              score_i(l) = s · φ(m_i(l)) + θ5 μ_i + v · ReLU(A x_i(l) + B μ_i + c)

          θ5 and v start at zero, so that untrained it is highest confidence first: label the node
          whose best label leads by most, given the costs it looks at. x_i(l) tells of label l at
          node i: φ(m), whether it is the default label, and how far the cliques that want it are
          filled (`INPUTS`). μ is the paper's embedding with a bias in every layer. φ(m) is
          m / (1 + |m|) with `squash`, else m.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policrf.errors import InvalidOption

KINDS = ("paper", "residual")
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

Weights = dict[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Spec:
    """Kind, sizes and names of a policy; with the weights, all that is needed to use it."""

    n_labels: int
    n_features: int
    kind: str = "residual"
    """"paper" or "residual"."""
    rounds: int = 3
    """K, rounds of message passing."""
    width: int = 32
    """p, size of a node's embedding."""
    head_width: int = 16
    """Hidden units of the residual kind's correction."""
    costs: str = "expected"
    """Conditional costs of the residual kind (`policy.conditional`): given the nodes labeled so far
    ("partial"), those and the default labels of the others ("completed"), these with quotas as
    hinges ("relaxed"), or with neighbours not labeled yet as foreseen ("expected")."""
    foresight: int = 10
    """Sweeps of mean field behind what expected costs take unlabeled nodes to become; 0: their
    unaries alone."""
    quota_limit: float = 1.0
    """Expected costs leave out quotas whose cheapest members cost more than so many times the
    penalty; 0: none."""
    squash: bool = True
    """Whether the residual kind's margins are squashed to (−1, 1)."""
    label_names: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, value, known in (("kind", self.kind, KINDS), ("costs", self.costs, COSTS)):
            if value not in known:
                raise InvalidOption(f"{name} is {value!r}; it must be one of {', '.join(known)}")
        for name in ("n_labels", "n_features", "rounds", "width", "head_width"):
            if getattr(self, name) < 1:
                raise InvalidOption(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.foresight < 0 or not 0 <= self.quota_limit < np.inf:
            raise InvalidOption("foresight and quota_limit must be 0 or more")
        for names, size, what in (
            (self.label_names, self.n_labels, "label_names"),
            (self.feature_names, self.n_features, "feature_names"),
        ):
            if names and len(names) != size:
                raise InvalidOption(f"{what} has {len(names)} names for {size} columns")

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The tensors of this policy. θ4 of the first round would multiply 0: there is none."""
        rounds, width, labels, features = self.rounds, self.width, self.n_labels, self.n_features
        shapes: dict[str, tuple[int, ...]] = {
            "theta1": (rounds, width),
            "theta2": (rounds, width, labels),
            "theta3": (rounds, width, features),
            "theta4": (rounds - 1, width, width),
            "theta5": (labels, width),
        }
        if self.kind == "residual":
            hidden = self.head_width
            shapes |= {
                "bias": (rounds, width),
                "scale": (1,),
                "head_inputs": (hidden, len(INPUTS)),
                "head_embedding": (hidden, width),
                "head_bias": (hidden,),
                "head_out": (hidden,),
            }
        return shapes

    def initial_weights(self, seed: int = 0) -> Weights:
        """Random weights of variance 1 / inputs; the residual kind's correction starts at zero."""
        generator = np.random.default_rng(seed)
        weights = {}
        for name, shape in self.shapes().items():
            inputs = 1 if name in ("theta1", "theta2") else shape[-1]
            weights[name] = (generator.normal(size=shape) / np.sqrt(inputs)).astype(np.float32)
        if self.kind == "residual":
            for name in ("theta5", "bias", "head_bias", "head_out"):
                weights[name][...] = 0.0
            weights["scale"][...] = 1.0
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
        for name in ("label_names", "feature_names"):
            values[name] = tuple(fields.get(name, ()))
        return Spec(**values)
