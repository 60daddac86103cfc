"""The supervised baseline: the true label of every node from the same features and graph.

The paper only says that it "predicts the node label from the provided node features"; ours sees the
same features through the same network, with no node labeled, and learns by cross-entropy on the
true labels of the training split (classes weighted by one over the square root of their frequency).
As a policy it labels the surest node first; with the paper kind, trained on empty labelings only,
the labels already given are left out of sight (θ1 = θ2 = 0), so the order changes nothing.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from policrf.errors import InvalidInstance, InvalidOption
from policrf.learn.corpus import Corpus
from policrf.learn.forward import parameters, scores, weights_of
from policrf.policy.network import Spec
from policrf.policy.policy import Policy


@dataclass(frozen=True)
class Supervised:
    """How the baseline learns."""

    updates: int = 64
    """Gradient steps a round."""
    batch: int = 256
    """Nodes in a gradient step."""
    learning_rate: float = 1e-3
    learning_rate_final: float = 1e-4
    """After `decay_rounds` rounds, reached along a cosine."""
    decay_rounds: int = 300
    balance: float = 0.5
    """Classes are drawn with frequency^(1 − balance): 0 = as they come, 1 = all equally often."""

    def __post_init__(self) -> None:
        if self.updates < 1 or self.batch < 1:
            raise InvalidOption("updates and batch must be at least 1")


class SupervisedLearner:
    """Nodes drawn by class, cross-entropy; what `loop.py` drives."""

    def __init__(self, config: Supervised, spec: Spec, corpus: Corpus, seed: int = 0) -> None:
        if spec.kind != "paper":
            raise InvalidOption("the supervised baseline uses the kind 'paper': it sees no energy")
        if any(instance.truth is None for instance in corpus.instances):
            raise InvalidInstance("the supervised baseline needs instances with truth")
        self.config, self.spec, self.corpus = config, spec, corpus
        weights = spec.initial_weights(seed)
        weights["theta1"][...] = 0.0
        weights["theta2"][...] = 0.0
        self.theta = parameters(weights)
        learned = [
            tensor for name, tensor in self.theta.items() if name not in ("theta1", "theta2")
        ]
        self.optimizer = torch.optim.Adam(learned, lr=config.learning_rate)
        self.features = torch.from_numpy(corpus.features)
        self.generator = np.random.default_rng([seed, 2])
        self.truth = np.concatenate([instance.true_labels for instance in corpus.instances])
        known = np.flatnonzero(self.truth >= 0)
        frequency = np.bincount(self.truth[known], minlength=corpus.n_labels) / max(1, len(known))
        weight = frequency[self.truth[known]] ** -config.balance
        self._cumulative = np.cumsum(weight / weight.sum())
        self._known = known
        self._unlabeled = np.full((config.batch, corpus.largest), -1, np.int16)
        self.rounds = self.episodes = self.transitions = self.updates = 0
        self.recent: dict[str, float] = {}

    def policy(self) -> Policy:
        """The policy as it stands."""
        return Policy(self.spec, weights_of(self.theta))

    def begin(self, pool: ThreadPoolExecutor) -> None:
        """Nothing to prepare."""

    def round(self, pool: ThreadPoolExecutor) -> None:
        """`updates` gradient steps."""
        self.rounds += 1
        config = self.config
        share = min(1.0, self.rounds / max(1, config.decay_rounds))
        low, high = config.learning_rate_final, config.learning_rate
        self.optimizer.param_groups[0]["lr"] = low + (high - low) * (1 + np.cos(np.pi * share)) / 2
        self.recent["loss"] = float(np.mean([self._update() for _ in range(config.updates)]))

    def _update(self) -> float:
        at = np.searchsorted(self._cumulative, self.generator.random(self.config.batch))
        chosen = self._known[np.minimum(at, len(self._known) - 1)]
        instances = np.searchsorted(self.corpus.starts, chosen, side="right") - 1
        nodes = chosen - self.corpus.starts[instances]
        around = self.corpus.neighbourhoods(instances, nodes, self._unlabeled, self.spec.rounds)
        logits = scores(self.spec, self.theta, self.features, around, None)
        loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(self.truth[chosen]))
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.updates += 1
        return float(loss.detach())

    def state(self) -> dict[str, Any]:
        """Everything that another process needs to go on."""
        return {
            "theta": weights_of(self.theta),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.bit_generator.state,
            "counters": [self.rounds, self.updates],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """What `state` gave."""
        with torch.no_grad():
            for name, tensor in self.theta.items():
                tensor.copy_(torch.from_numpy(state["theta"][name]))
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.bit_generator.state = state["generator"]
        self.rounds, self.updates = state["counters"]
