"""The network's scores at the centres of neighbourhoods, in torch, for learning.

The same function as the engine's (formulas: `policy.network`), at B nodes instead of all: the
weights are the tensors of `Spec.shapes`, so a learner's weights are a policy's, name by name.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from policrf.learn.experience.corpus import Neighbourhoods
from policrf.policy.network import Spec, Weights

Parameters = dict[str, Tensor]


class CostView:
    """What the residual kind sees at B nodes: margins `[B, L]`, inputs `[B, L, D]`."""

    def __init__(self, margins: NDArray[np.float32], inputs: NDArray[np.float32]) -> None:
        self.margins = torch.from_numpy(margins)
        self.inputs = torch.from_numpy(inputs)


def parameters(weights: Weights) -> Parameters:
    """The weights as leaves of the gradient."""
    return {name: torch.tensor(array, requires_grad=True) for name, array in weights.items()}


def weights_of(parameters: Parameters) -> Weights:
    """A copy of the weights, for the engine."""
    return {name: tensor.detach().numpy().copy() for name, tensor in parameters.items()}


def embed(spec: Spec, theta: Parameters, features: Tensor, around: Neighbourhoods) -> Tensor:
    """μ^(K) of the centres, `[B, p]`; `features` `[ΣN, F]` are those of the whole corpus."""
    rows = features.index_select(0, torch.from_numpy(around.nodes))
    given = torch.from_numpy(around.labels)
    own_row = torch.where(given >= 0, given, spec.n_labels)
    targets, sources = torch.from_numpy(around.targets), torch.from_numpy(around.sources)
    weights = torch.from_numpy(around.weights)[:, None]
    unlabeled = torch.zeros(1, spec.width)
    mu = rows
    for k in range(spec.layers):
        count, edges = int(around.node_counts[k]), int(around.edge_counts[k])
        own = torch.cat([theta["theta1"][k] + theta["theta2"][k].T, unlabeled])
        x = rows[:count] @ theta["theta3"][k].T
        x = x + torch.nn.functional.embedding(own_row[:count], own)
        if "bias" in theta:
            x = x + theta["bias"][k]
        if k > 0:
            sent = mu @ theta["theta4"][k - 1].T
            x = x.index_add(
                0, targets[:edges], sent.index_select(0, sources[:edges]) * weights[:edges]
            )
        mu = torch.relu(x)
    return mu


def scores(
    spec: Spec, theta: Parameters, features: Tensor, around: Neighbourhoods, view: CostView | None
) -> Tensor:
    """π of the centres, `[B, L]`."""
    mu = embed(spec, theta, features, around)
    out = mu @ theta["theta5"].T
    if spec.sees_costs:
        assert view is not None
        margins = view.margins / (1 + view.margins.abs()) if spec.squash else view.margins
        hidden = view.inputs @ theta["head_inputs"].T
        hidden = torch.relu(hidden + (mu @ theta["head_embedding"].T + theta["head_bias"])[:, None])
        out = out + theta["scale"] * margins + hidden @ theta["head_out"]
    return out
