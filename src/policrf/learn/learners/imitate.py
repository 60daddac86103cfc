"""Imitation of the best labels known, by the shared kind: cross-entropy over the labels of a node.

    loss = −log softmax_l(−c'_i(l)) at the target's label,    c' = c − (r + d)   (`policy.network`)

Targets are true labels where an instance has truth, else those of the lowest energy known: whatever
local search makes of the policy's own episodes, and a teacher's. `truth` mixes both. A step
sees whole graphs with the same number of labels; episodes are played meanwhile, with the weights
that the round began with. Nodes are weighed by how rare their target is in their own instance, so
that no label has a weight of its own.
"""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from policrf.errors import InvalidOption
from policrf.learn.experience.corpus import Instances
from policrf.learn.experience.engines import kept_engines
from policrf.learn.experience.states import Seen, play_states
from policrf.learn.learners.forward import Parameters
from policrf.learn.learners.label_graphs import Hops, embed_labels, hops_of, join_hops, priors
from policrf.learn.learners.learner import GradientLearner
from policrf.learn.learners.targets import BestKnown
from policrf.learn.options import Imitate
from policrf.mdp.state import default_labels
from policrf.policy.conditional import completion_of
from policrf.policy.kinds import MARGIN_INPUT
from policrf.policy.network import Spec
from policrf.policy.policy import Policy
from policrf.policy.shared.static_inputs import static_inputs
from policrf.types import Float32Array, FloatArray, IntArray

LARGEST = 512_000_000  # bytes of static inputs that are kept
TEACHER_SECONDS = 1.0  # an instance


class Target(NamedTuple):
    """What M decisions of one instance are moved towards."""

    labels: IntArray  # [M]
    weights: Float32Array  # [M]


class Static(NamedTuple):
    """What is known of an instance before the first decision."""

    inputs: Float32Array  # [N, L, D]
    hops: Hops


class ImitationLearner(GradientLearner):
    """Batches of whole graphs, cross-entropy; what `loop.py` drives."""

    def __init__(
        self, config: Imitate, spec: Spec, corpus: Instances, seed: int = 0,
        start: Policy | None = None,
    ) -> None:  # fmt: skip
        require_shared(spec)
        super().__init__(spec, corpus, seed, 5, start=start, steps=config.optimizer)
        self.config = config
        self.best = BestKnown(corpus)
        self.engines = kept_engines(corpus.instances)
        self.groups = _by_labels(corpus)
        self.batches: list[list[Seen]] = []
        self.batch: list[Seen] = []
        self.seconds = 0.0
        self._static: dict[int, Static] = {}
        self._kept = 0

    def begin(self, pool: ThreadPoolExecutor) -> None:
        """Ask the teacher where truth does not say it all, and play the first episodes."""
        from policrf.solvers import solve

        def ask(k: int) -> tuple[int, IntArray, float]:
            found = solve(self.corpus.instances[k], self.config.teacher, seconds=TEACHER_SECONDS)
            return k, found.labels, found.energy

        asked = [k for k in range(len(self.corpus)) if self.wants_energy(k)]
        for answer in pool.map(ask, asked if self.config.teacher else []):
            self.best.offer(*answer)
        self._take(self._play(pool))

    def round(self, pool: ThreadPoolExecutor) -> None:
        """Learn from the last episodes while the next are played."""
        began = time.perf_counter()
        self.rounds += 1
        following = self._play(pool)
        self.learn()
        self._take(following)
        self.seconds += time.perf_counter() - began

    def _take(self, played: list[list[Future[Seen]]]) -> None:
        """Wait for episodes; what they found is known from now on, whoever was first."""
        self.batches = [[future.result() for future in batch] for batch in played]
        for seen in (seen for batch in self.batches for seen in batch):
            self.episodes += 1
            self.transitions += len(seen.labels)
            self.best.offer(seen.instance, seen.labels, seen.energy)

    @property
    def progress(self) -> float:
        """The part of the run that is over, by rounds or by time."""
        limit = self.config.seconds
        timed = self.seconds / limit if limit else 0.0
        return min(1.0, max(super().progress, timed))

    def _play(self, pool: ThreadPoolExecutor) -> list[list[Future[Seen]]]:
        """Start the episodes of as many batches as a round has gradient steps."""
        policy = self.policy()
        batches = []
        for _ in range(self.steps.updates):
            group = self.groups[int(self.generator.integers(len(self.corpus)))]
            chosen = self.generator.choice(group, min(self.steps.batch, len(group)), replace=False)
            seeds = self.generator.integers(2**62, size=len(chosen))
            pairs = zip(chosen.tolist(), seeds.tolist(), strict=True)
            batches.append([pool.submit(self.episode, policy, k, seed) for k, seed in pairs])
        return batches

    def episode(self, policy: Policy, k: int, seed: int) -> Seen:
        """Play one, and look at two of its states."""
        with self.engines.lent(policy, k) as engine:
            seen = play_states(engine, k, np.random.default_rng(seed))
        if self.wants_energy(k):
            from policrf.solvers.refine.refine_rounds import refine_labels

            crf = self.corpus.instances[k].crf
            refined = refine_labels(crf, seen.labels)
            return seen._replace(labels=refined, energy=crf.energy(refined))
        return seen

    def learn(self) -> None:
        """A gradient step for every batch that was played."""
        self.optimizer.param_groups[0]["lr"] = self.learning_rate
        losses = []
        for batch in self.batches:
            self.batch = batch
            losses.append(self.update())
        self.recent["loss"] = float(np.mean(losses))

    def loss(self) -> Tensor:
        """The mean over the batch's graphs of the mean over their decisions, by weight."""
        static = [self._static_of(seen.instance) for seen in self.batch]
        sizes = np.array([len(part.inputs) for part in static])
        starts = np.cumsum(sizes) - sizes
        rows = [seen.nodes + start for seen, start in zip(self.batch, starts, strict=True)]
        inputs = torch.from_numpy(np.concatenate([part.inputs for part in static]))
        hops = join_hops([part.hops for part in static])
        embedded = embed_labels(self.theta, inputs, hops)
        logits = label_logits(
            self.theta, inputs, embedded, torch.from_numpy(np.concatenate(rows)),
            _stacked(self.batch, "costs"), _stacked(self.batch, "inputs"),
        )  # fmt: skip
        return self.graph_losses(logits) / len(self.batch)

    def graph_losses(self, logits: Tensor) -> Tensor:
        """The sum over the batch's graphs, from −c' `[M, L]` at all their decisions."""
        total = logits.new_zeros(())
        for part in zip(*(self.targets(seen) for seen in self.batch), strict=True):
            labels = torch.from_numpy(np.concatenate([target.labels for target in part]))
            weights = torch.from_numpy(np.concatenate([target.weights for target in part]))
            each = torch.nn.functional.cross_entropy(logits, labels, reduction="none")
            total = total + (each * weights).sum()
        return total

    def targets(self, seen: Seen) -> tuple[Target, Target]:
        """Truth, and the lowest energy known, each with its weights (0: not asked)."""
        instance, nodes = self.corpus.instances[seen.instance], seen.nodes
        best = self.best.of(np.full(len(nodes), seen.instance), nodes)
        if instance.truth is None:
            return no_target(best), target(best, self.config.balance, 1.0)
        truth, share = instance.true_labels[nodes], self.config.truth
        known = (truth >= 0) & np.isfinite(instance.crf.unary[nodes, np.maximum(truth, 0)])
        counts = share * known.astype(np.float64)
        return (
            target(np.maximum(truth, 0), self.config.balance, counts),
            target(best, self.config.balance, 1.0 - share),
        )

    def wants_energy(self, k: int) -> bool:
        """Whether low energies of instance k are imitated."""
        return self.config.truth < 1 or self.corpus.instances[k].truth is None

    def _static_of(self, k: int) -> Static:
        """What the network sees of an instance, whatever the state; kept as far as memory goes."""
        found = self._static.get(k)
        if found is None:
            instance = self.corpus.instances[k]
            completion = completion_of(self.spec, instance.crf, default_labels(instance.crf))
            found = Static(static_inputs(self.spec, instance, completion), hops_of(instance))
            if self._kept + found.inputs.nbytes <= LARGEST:
                self._static[k] = found
                self._kept += found.inputs.nbytes
        return found

    def state(self) -> dict[str, Any]:
        """The best labelings, the time spent and the episodes to learn from next too."""
        own = {"best": self.best.state(), "spent": self.seconds}
        kept = [[seen._asdict() for seen in batch] for batch in self.batches]
        return super().state() | own | {"batches": kept}

    def restore(self, state: dict[str, Any]) -> None:
        """What `state` gave."""
        super().restore(state)
        self.best.restore(state["best"])
        self.seconds = state["spent"]
        self.batches = [[Seen(**seen) for seen in batch] for batch in state["batches"]]


def label_logits(
    theta: Parameters, static: Tensor, embedded: Tensor, rows: Tensor, costs: Tensor, seen: Tensor
) -> Tensor:
    """−c' `[M, L]` of the decisions at some rows of the graphs, from their costs and inputs."""
    own = embedded.index_select(0, rows)
    cost = costs - priors(theta, static, embedded).index_select(0, rows)
    inputs = seen.clone()
    inputs[:, :, MARGIN_INPUT] = squashed_margins(cost.detach())
    hidden = inputs @ theta["head_inputs"].T + own @ theta["head_embedding"].T + theta["head_bias"]
    head = inputs @ theta["head_linear"] + torch.relu(hidden) @ theta["head_out"]
    return head - cost


def squashed_margins(costs: Tensor) -> Tensor:
    """φ of what each label leads by."""
    if costs.shape[1] == 1:
        return torch.ones_like(costs)
    least = torch.topk(costs, 2, dim=1, largest=False).values
    low, second = least[:, :1], least[:, 1:]
    margin = torch.where(costs == low, second - low, low - costs)
    return margin / (1 + margin.abs())


def require_shared(spec: Spec) -> None:
    """Refuse the kinds whose weights belong to labels."""
    if not spec.any_labels:
        raise InvalidOption(
            f"imitate learns the kind 'shared', not {spec.kind!r}; use dqn or supervised"
        )


def no_target(labels: IntArray) -> Target:
    """Nothing is asked of these decisions."""
    return target(labels, 0.0, 0.0)


def target(labels: IntArray, balance: float, weight: float | FloatArray) -> Target:
    """Weights that sum to `weight`, by 1 / frequency^balance of the label in these decisions."""
    count = np.bincount(labels)[labels]
    rare = count.astype(np.float64) ** -balance
    scaled = rare / rare.sum() * weight
    return Target(labels, np.asarray(scaled, np.float32))


def _by_labels(corpus: Instances) -> list[IntArray]:
    """For every instance, the instances with as many labels."""
    counts = np.array([instance.crf.n_labels for instance in corpus.instances])
    same = {count: np.flatnonzero(counts == count) for count in np.unique(counts).tolist()}
    return [same[count] for count in counts.tolist()]


def _stacked(batch: list[Seen], name: str) -> Tensor:
    return torch.from_numpy(np.concatenate([getattr(seen, name) for seen in batch]))
