"""The kinds of networks: their formulas, what they see, and the tensors that their sizes imply.

Three kinds, all scoring every label of every unlabeled node:

paper     the paper's graph embedding network, exactly: θ1 … θ5, K layers, μ^(0) = 0, ReLU.
residual  a learned correction of the current conditional costs c_i(l). With the margin
          m_i(l) = min_{k ≠ l} c_i(k) − c_i(l), what label l has over the best of the others,

              score_i(l) = s · φ(m_i(l)) + θ5 μ_i + v · ReLU(A x_i(l) + B μ_i + c)

          θ5 and v start at zero, so that untrained it is highest confidence first: label the node
          whose best label leads by most, given the costs it looks at. x_i(l) tells of label l at
          node i: φ(m), whether it is the default label, and how far the cliques that want it are
          filled (`INPUTS`). μ is the paper's embedding with a bias in every layer. φ(m) is
          m / (1 + |m|) with `squash`, else m.
shared    a learned correction of the same costs by weights that all labels share, so that one
          policy takes any number of labels, nodes and cliques:

              c'_i(l) = c_i(l) − t · (r_i(l) + d_i(l)),       score_i(l) = φ(m'_i(l))

          r, the prior, is known before the first decision: K layers of a graph network over (node,
          label), h^0 = `STATIC_INPUTS` and the instance's features,

              h_i^(k+1)(l) = ReLU(Σ_s M_s^(k) a_s^(k) + b^(k))
              r_i(l) = o h_i^(K)(l) + o' h_i^0(l)

          with a_s over `SOURCES`: h_i(l) itself, Σ_j w(i, j) h_j(l), the mean over i's cliques
          of their members' mean, the mean over all nodes, and over the labels of i the mean and the
          highest. d_i(l) = w x_i(l) + v · ReLU(A x_i(l) + B h_i^(K)(l) + c) sees the state,
          x = `STATE_INPUTS`, x's margin that of c − t r. o, o', w and v start at zero: untrained it
          is the untrained residual kind. The correction is in units of cost, before the margin: a
          score remains what the best label leads by, and cross-entropy over labels trains it. t
          (`trust`) weighs what was learned against the energy; 0 is the untrained rule.

Costs c are in the CRF's own unit (`units`, `crf.units`), corrections too: E and 2 E are alike.

`KINDS` says what a kind is: its tensors, how they start, and whether it sees the energy. Everybody
else asks `Spec.sees_costs` or looks whether a tensor is there (docs/extending.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from policrf.errors import InvalidOption

if TYPE_CHECKING:
    from policrf.policy.network import Spec

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

# What the shared kind knows of a label at a node before the first decision (`shared/`), beside the
# instance's features, …
STATIC_INPUTS = (
    "unary_margin",
    "unary",
    "belief",
    "belief_margin",
    "default",
    "agree",
    "agree_weight",
    "support",
    "support_weight",
    "unary_everywhere",
    "belief_everywhere",
    "labels",
)
# … and what it sees of it in a state.
STATE_INPUTS = (
    *INPUTS,
    "unary_margin",
    "pair_margin",
    "clique_margin",
    "neighbours",
    "open_neighbours",
    "clique_share",
    "clique_present",
    "clique_open",
)
SOURCES = ("self", "neighbours", "cliques", "graph", "mean_label", "highest_label")

Shapes = dict[str, tuple[int, ...]]


def embedding_shapes(spec: Spec) -> Shapes:
    """The paper's embedding. θ4 of the first layer would multiply 0: there is none."""
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


def _shared_shapes(spec: Spec) -> Shapes:
    layers, width, hidden = spec.layers, spec.width, spec.head_width
    inputs, sources = len(STATIC_INPUTS) + spec.n_features, len(SOURCES)
    return {
        "mix_inputs": (width, sources, inputs),
        "mix": (layers - 1, width, sources, width),
        "mix_bias": (layers, width),
        "prior_inputs": (inputs,),
        "prior_out": (width,),
        "head_linear": (len(STATE_INPUTS),),
        "head_inputs": (hidden, len(STATE_INPUTS)),
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
    last: tuple[str, ...] = ("theta5",)
    """The tensors that its scores are sums over: few weights, for a search over them."""
    any_labels: bool = False
    """Whether all labels share its tensors; it then has none of the paper's embedding."""


# The order is that of the numbers in `net.py`.
KINDS = {
    "paper": Kind(sees_costs=False, tensors=lambda spec: {}, start={}),
    "residual": Kind(
        sees_costs=True,
        tensors=_residual_shapes,
        start={"theta5": 0.0, "bias": 0.0, "head_bias": 0.0, "head_out": 0.0, "scale": 1.0},
        last=("head_out", "scale"),
    ),
    "shared": Kind(
        sees_costs=True,
        tensors=_shared_shapes,
        start={
            "mix_bias": 0.0,
            "prior_inputs": 0.0,
            "prior_out": 0.0,
            "head_linear": 0.0,
            "head_bias": 0.0,
            "head_out": 0.0,
        },
        last=("prior_inputs", "prior_out", "head_linear", "head_out"),
        any_labels=True,
    ),
}


def check_kind(kind: str) -> None:
    """Refuse a name that is no kind of network."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidOption(f"kind is {kind!r}; it must be one of {', '.join(KINDS)}")
