"""The policy as a torch module, for learning: full forward passes over batches of graphs.

    μ_i^(k+1) = ReLU(θ1^(k) h_i + θ2^(k) ỹ_i + θ3^(k) b_i + θ4^(k) Σ_j w(i, j) μ_j^(k)),   μ^(0) = 0
    π_i = θ5 μ_i^(K)                                                   (section "Policy Function")

and the corrections of the residual and the shared kind (`policy.network`). Parameters have the
names and shapes of the policy's tensors, so a module and a `Policy` turn into each other. Graphs of
different sizes share a batch as one edge list (`batch.py`): no padding, and a batch gives what its
graphs give one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from policrf.policy.conditional import LARGEST_MARGIN
from policrf.policy.kinds import MARGIN_INPUT
from policrf.policy.network import Spec, Weights
from policrf.policy.policy import Policy
from policrf.testing.batch import Batch


class PolicyNetwork(nn.Module):
    """Scores `[n, L]` of every label of every node of a batch.

    Parameters
    ----------
    spec
        Kind and sizes.
    weights
        Initial tensors; those of `spec.initial_weights(seed)` if not given.
    """

    theta1: Tensor
    theta2: Tensor
    theta3: Tensor
    theta4: Tensor
    theta5: Tensor
    bias: Tensor  # this and what follows: residual kind only
    scale: Tensor
    head_inputs: Tensor
    head_embedding: Tensor
    head_bias: Tensor
    head_out: Tensor
    mix_inputs: Tensor  # this and what follows: shared kind only
    mix: Tensor
    mix_bias: Tensor
    prior_inputs: Tensor
    prior_out: Tensor
    head_linear: Tensor

    def __init__(self, spec: Spec, weights: Weights | None = None, *, seed: int = 0) -> None:
        super().__init__()
        self.spec = spec
        given = spec.initial_weights(seed) if weights is None else spec.checked(weights)
        for name, array in given.items():
            self.register_parameter(name, nn.Parameter(torch.from_numpy(array.copy())))

    @staticmethod
    def from_policy(policy: Policy) -> PolicyNetwork:
        """The module with the policy's weights."""
        return PolicyNetwork(policy.spec, policy.weights)

    def weights(self) -> Weights:
        """The parameters as the arrays a `Policy` and an `Engine` take."""
        return {
            name: parameter.detach().to("cpu", torch.float32).numpy().copy()
            for name, parameter in self.named_parameters()
        }

    def to_policy(self, name: str = "policy", **described: Any) -> Policy:
        """A policy with the present weights; `described`: energy, features, training."""
        return Policy(self.spec, self.weights(), name, **described)

    def embed(self, batch: Batch) -> Tensor:
        """μ^(K) of every node, `[n, p]`."""
        features = self._tensor(batch.features)
        source, target = torch.from_numpy(batch.source), torch.from_numpy(batch.target)
        weight = self._tensor(batch.edge_weights)[:, None]
        labels = torch.from_numpy(batch.labels)
        labeled = (labels >= 0).to(features.dtype)[:, None]
        embedding = features.new_zeros(())
        for k in range(self.spec.layers):
            # Rows of [θ1 + θ2 ỹ] for labeled nodes, nothing for the others.
            own = (self.theta1[k] + self.theta2[k].T)[labels.clamp(min=0)]
            total = own * labeled + features @ self.theta3[k].T
            if "bias" in self.spec.shapes():
                total = total + self.bias[k]
            if k > 0:
                message = embedding @ self.theta4[k - 1].T
                total = total.index_add(0, target, weight * message[source])
            embedding = torch.relu(total)
        return embedding

    def forward(self, batch: Batch) -> Tensor:
        """π `[n, L]`; only entries of `batch.allowed` are actions."""
        if self.spec.any_labels:
            return self._shared(batch)
        embedding = self.embed(batch)
        scores = embedding @ self.theta5.T
        if self.spec.sees_costs:
            margins, inputs = self._tensor(batch.margins), self._tensor(batch.inputs)
            base = margins / (1 + margins.abs()) if self.spec.squash else margins
            hidden = inputs @ self.head_inputs.T + (
                embedding @ self.head_embedding.T + self.head_bias
            ).unsqueeze(1)
            scores = self.scale * base + scores + torch.relu(hidden) @ self.head_out
        return scores

    def _shared(self, batch: Batch) -> Tensor:
        """φ of the margins of c − t (r + d)."""
        static, inputs = self._tensor(batch.static), self._tensor(batch.inputs)
        embedded = self._embed_labels(batch, static)
        prior = embedded @ self.prior_out + static @ self.prior_inputs
        costs = self._tensor(batch.costs) - self.spec.trust * prior
        seen = _margins(costs)
        inputs = inputs.clone()
        inputs[:, :, MARGIN_INPUT] = seen / (1 + seen.abs())
        hidden = inputs @ self.head_inputs.T + embedded @ self.head_embedding.T + self.head_bias
        head = inputs @ self.head_linear + torch.relu(hidden) @ self.head_out
        margins = _margins(costs - self.spec.trust * head)
        return margins / (1 + margins.abs()) if self.spec.squash else margins

    def _embed_labels(self, batch: Batch, static: Tensor) -> Tensor:
        """h^(K) `[n, L, p]`."""
        source, target = torch.from_numpy(batch.source), torch.from_numpy(batch.target)
        weight = self._tensor(batch.edge_weights)[:, None, None]
        sizes = torch.from_numpy(np.diff(batch.graph_ptr))
        owner = torch.repeat_interleave(torch.arange(len(sizes)), sizes)
        h = static
        for k in range(self.spec.layers):
            nothing = torch.zeros_like(h)
            sources = (
                h,
                nothing.index_add(0, target, weight * h[source]),
                self._cliques(batch, h),
                _means(h, owner, len(sizes))[owner],
                h.mean(dim=1, keepdim=True).expand_as(h),
                h.amax(dim=1, keepdim=True).expand_as(h),
            )
            matrix = self.mix_inputs if k == 0 else self.mix[k - 1]
            total = sum(a @ matrix[:, s].T for s, a in enumerate(sources))
            h = torch.relu(total + self.mix_bias[k])
        return h

    def _cliques(self, batch: Batch, h: Tensor) -> Tensor:
        """The mean over the cliques of a node of their members' mean; 0 where it is in none."""
        _, clique = np.unique(batch.clique, return_inverse=True)
        owner, member = torch.from_numpy(clique), torch.from_numpy(batch.member)
        of_clique = _means(h[member], owner, int(clique.max(initial=-1)) + 1)
        return _means(of_clique[owner], member, len(h))

    def _tensor(self, array: Any) -> Tensor:
        return torch.from_numpy(array).to(next(self.parameters()).dtype)


def _means(values: Tensor, owner: Tensor, count: int) -> Tensor:
    """The mean of the values of each owner; 0 where there are none."""
    total = values.new_zeros(count, *values.shape[1:]).index_add(0, owner, values)
    number = torch.bincount(owner, minlength=count).clamp(min=1).to(values.dtype)
    return total / number[:, None, None]


def _margins(costs: Tensor) -> Tensor:
    """m(l) = min_{k ≠ l} c(k) − c(l) of every row, within the engine's limits."""
    if costs.shape[1] == 1:
        return torch.full_like(costs, LARGEST_MARGIN)
    least = torch.topk(costs, 2, dim=1, largest=False).values
    lead = (least[:, 1:] - least[:, :1]).clamp(max=LARGEST_MARGIN)
    behind = (least[:, :1] - costs).clamp(min=-LARGEST_MARGIN)
    margins = torch.where(costs == least[:, :1], lead, behind)
    return margins.masked_fill(least[:, :1].isinf(), -LARGEST_MARGIN)


def mask_scores(scores: Tensor, batch: Batch) -> Tensor:
    """The scores with −inf at everything that is not an action."""
    return scores.masked_fill(~torch.from_numpy(batch.allowed), float("-inf"))


def best_actions(scores: Tensor, batch: Batch) -> Tensor:
    """The best (node, label) of every graph of the batch, `[G, 2]`, nodes counted within it.

    Among equal scores the lowest node wins, then the lowest label, as in the engine.
    """
    masked = mask_scores(scores, batch)
    rows = []
    for first, last in zip(
        batch.graph_ptr[:-1].tolist(), batch.graph_ptr[1:].tolist(), strict=True
    ):
        rows.append(torch.argmax(masked[first:last].reshape(-1)))
    flat = torch.stack(rows)
    return torch.stack([flat // scores.shape[1], flat % scores.shape[1]], dim=1)
