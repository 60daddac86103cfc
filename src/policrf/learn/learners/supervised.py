"""The supervised baseline: the true label of every node from the same features and graph.

The paper only says that it "predicts the node label from the provided node features"; ours sees the
same features through the same network, with no node labeled, and learns by cross-entropy on the
true labels of the training split (classes weighted by one over the square root of their frequency).
As a policy it labels the surest node first; with the paper kind, trained on empty labelings only,
the labels already given are left out of sight (θ1 = θ2 = 0), so the order changes nothing.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

from policrf.errors import InvalidInstance, InvalidOption
from policrf.learn.experience.corpus import Corpus
from policrf.learn.learners.forward import scores
from policrf.learn.learners.learner import GradientLearner
from policrf.learn.options import Supervised
from policrf.policy.network import Spec
from policrf.policy.policy import Policy


class SupervisedLearner(GradientLearner):
    """Nodes drawn by class, cross-entropy; what `loop.py` drives."""

    corpus: Corpus

    def __init__(
        self, config: Supervised, spec: Spec, corpus: Corpus, seed: int = 0,
        start: Policy | None = None,
    ) -> None:  # fmt: skip
        if spec.sees_costs:
            raise InvalidOption("the supervised baseline uses the kind 'paper': it sees no energy")
        if any(instance.truth is None for instance in corpus.instances):
            raise InvalidInstance("the supervised baseline needs instances with truth")
        super().__init__(
            spec, corpus, seed, 2, start=start, steps=config.optimizer, fixed=("theta1", "theta2")
        )
        self.truth = np.concatenate([instance.true_labels for instance in corpus.instances])
        known = np.flatnonzero(self.truth >= 0)
        frequency = np.bincount(self.truth[known], minlength=corpus.n_labels) / max(1, len(known))
        weight = frequency[self.truth[known]] ** -config.balance
        self._cumulative = np.cumsum(weight / weight.sum())
        self._known = known
        self._unlabeled = np.full((config.optimizer.batch, corpus.largest), -1, np.int16)

    def round(self, pool: ThreadPoolExecutor) -> None:
        """The gradient steps of a round."""
        self.rounds += 1
        self.learn()

    def loss(self) -> torch.Tensor:
        """The cross-entropy of a batch of nodes."""
        at = np.searchsorted(self._cumulative, self.generator.random(self.steps.batch))
        chosen = self._known[np.minimum(at, len(self._known) - 1)]
        instances = np.searchsorted(self.corpus.starts, chosen, side="right") - 1
        nodes = chosen - self.corpus.starts[instances]
        around = self.corpus.neighbourhoods(instances, nodes, self._unlabeled, self.spec.layers)
        logits = scores(self.spec, self.theta, self.features, around, None)
        return torch.nn.functional.cross_entropy(logits, torch.from_numpy(self.truth[chosen]))
