"""What the learners share: counters, weights and optimizer, memory, and a state to go on from.

`Learner` is what `loop.py` drives; `GradientLearner` moves weights by Adam; `PlayingLearner` also
plays episodes and learns from its replay memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

import numpy as np
import torch

from policrf.learn.experience.actors import Batch, Player, RemoteActors
from policrf.learn.experience.corpus import Corpus, Instances
from policrf.learn.experience.players import Order
from policrf.learn.experience.replay import Replay
from policrf.learn.learners.forward import Parameters, parameters, weights_of
from policrf.learn.learners.targets import BestKnown
from policrf.learn.options import Memory, Optimizer
from policrf.policy.network import Spec, Weights
from policrf.policy.policy import Policy
from policrf.types import BoolArray, Float32Array, IntArray

COUNTERS = ("rounds", "episodes", "transitions", "updates")
Played = TypeVar("Played")


class Learner(ABC):
    """Rounds of learning on a corpus.

    Parameters
    ----------
    spec
        The network that is learned.
    corpus
        The training instances.
    seed
        Of everything random; `stream` keeps the learners' random numbers apart.
    """

    def __init__(self, spec: Spec, corpus: Instances, seed: int, stream: int) -> None:
        self.spec, self.corpus, self.seed = spec, corpus, seed
        self.generator = np.random.default_rng([seed, stream])
        self.rounds = self.episodes = self.transitions = self.updates = 0
        self.recent: dict[str, float] = {}

    def begin(self, pool: ThreadPoolExecutor) -> None:
        """Prepare, such as fill the memory."""
        return

    @abstractmethod
    def round(self, pool: ThreadPoolExecutor) -> None:
        """One round of acting and learning."""

    @abstractmethod
    def policy(self) -> Policy:
        """The policy at present."""

    def state(self) -> dict[str, Any]:
        """Everything that another process needs to go on as if nothing had happened."""
        return {
            "generator": self.generator.bit_generator.state,
            "counters": [getattr(self, name) for name in COUNTERS],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """What `state` gave."""
        self.generator.bit_generator.state = state["generator"]
        for name, value in zip(COUNTERS, state["counters"], strict=True):
            setattr(self, name, value)


class GradientLearner(Learner):
    """Weights that Adam moves; the learning rate falls along a cosine.

    Parameters
    ----------
    fixed
        Tensors that stay at zero.
    """

    def __init__(
        self, spec: Spec, corpus: Instances, seed: int, stream: int, *,
        start: Policy | None, steps: Optimizer, fixed: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        super().__init__(spec, corpus, seed, stream)
        self.steps = steps
        weights = dict(initial_weights(spec, seed, start))
        for name in fixed:
            weights[name] = np.zeros_like(weights[name])
        self.theta = parameters(weights)
        learned = [tensor for name, tensor in self.theta.items() if name not in fixed]
        self.optimizer = torch.optim.Adam(learned, lr=steps.learning_rate)
        self.features = torch.from_numpy(corpus.features)

    def policy(self) -> Policy:
        """The policy at present."""
        return Policy(self.spec, weights_of(self.theta))

    @abstractmethod
    def loss(self) -> torch.Tensor:
        """The loss of one batch."""

    def update(self) -> float:
        """One gradient step; returns the loss before it."""
        loss = self.loss()
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.updates += 1
        return float(loss.detach())

    @property
    def progress(self) -> float:
        """The part of the way over which the learning rate falls, 0 … 1."""
        return min(1.0, self.rounds / max(1, self.steps.decay_rounds))

    @property
    def learning_rate(self) -> float:
        """At present."""
        low, high = self.steps.learning_rate_final, self.steps.learning_rate
        return float(low + (high - low) * (1 + np.cos(np.pi * self.progress)) / 2)

    def learn(self) -> None:
        """The gradient steps of a round."""
        self.optimizer.param_groups[0]["lr"] = self.learning_rate
        self.recent["loss"] = float(np.mean([self.update() for _ in range(self.steps.updates)]))

    def state(self) -> dict[str, Any]:
        """Weights and optimizer too."""
        own = {"theta": weights_of(self.theta), "optimizer": self.optimizer.state_dict()}
        return super().state() | own

    def restore(self, state: dict[str, Any]) -> None:
        """What `state` gave."""
        super().restore(state)
        copy_weights(self.theta, state["theta"])
        self.optimizer.load_state_dict(state["optimizer"])


class PlayingLearner(GradientLearner, Generic[Played]):
    """Plays episodes with the weights that a round began with, and learns from earlier ones.

    Parameters
    ----------
    staleness
        Rounds that may pass before episodes are waited for. They are remembered exactly so many
        rounds later, whenever they were finished: a run is the same for a seed, whoever plays.
    """

    corpus: Corpus
    replay: Replay[Any]
    best: BestKnown | None
    player: Player[Played]

    def __init__(
        self, spec: Spec, corpus: Corpus, seed: int, stream: int, *,
        start: Policy | None, steps: Optimizer, memory: Memory, staleness: int,
    ) -> None:  # fmt: skip
        super().__init__(spec, corpus, seed, stream, start=start, steps=steps)
        self.memory, self.staleness = memory, staleness
        self.pending: deque[Batch[Played]] = deque()
        self.order = self.generator.permutation(len(corpus))

    @abstractmethod
    def orders(self) -> list[Order]:
        """The episodes of a round."""

    @abstractmethod
    def remember(self, played: Sequence[Played]) -> None:
        """Put episodes into the memory."""

    def begin(self, pool: ThreadPoolExecutor) -> None:
        """Fill the memory with a first round of episodes."""
        self.remember(self.play(pool).results())

    def play(self, pool: ThreadPoolExecutor) -> Batch[Played]:
        """Start the episodes of a round."""
        batch: Batch[Played] = Batch(self.rounds, self.policy(), self.orders())
        batch.start(pool, self.player)
        return batch

    def round(self, pool: ThreadPoolExecutor) -> None:
        """Play the next episodes and learn from the earlier ones meanwhile."""
        for earlier in self.pending:
            earlier.start(pool, self.player)
        self.rounds += 1
        self.pending.append(self.play(pool))
        self.learn()
        if len(self.pending) > self.staleness:
            batch = self.pending.popleft()
            self.remember(batch.results())
            if self.staleness or isinstance(pool, RemoteActors):
                self.recent["staleness"] = float(self.rounds - batch.round)

    def next_episode(self, repeats: int = 1) -> tuple[int, int]:
        """The instance and the seed of the next episode; an instance's turn is `repeats` long."""
        if self.episodes % (repeats * len(self.corpus)) == 0:
            self.order = self.generator.permutation(len(self.corpus))
        instance = int(self.order[self.episodes // repeats % len(self.corpus)])
        seed = (self.seed << 32) + self.episodes
        self.episodes += 1
        return instance, seed

    def drawn(self, count: int) -> IntArray:
        """Which of an episode's steps go into the memory."""
        if count <= self.memory.keep:
            return np.arange(count)
        return np.sort(self.generator.choice(count, self.memory.keep, replace=False))

    def beats_unary(
        self, instance: int, nodes: IntArray, labels: IntArray, rewards: Float32Array
    ) -> BoolArray:
        """Whether labels `[T]` earned more than the unary's: the second chunk; rewards `[T, L]`."""
        unary = np.argmin(self.corpus.instances[instance].crf.unary, axis=1)[nodes]
        rows = np.arange(len(nodes))
        return np.asarray(rewards[rows, labels] > rewards[rows, unary])

    def state(self) -> dict[str, Any]:
        """The memory, the order of play and the best labelings known too."""
        own: dict[str, Any] = {"replay": self.replay.state(), "order": self.order}
        if self.best is not None:
            own["best"] = self.best.state()
        if self.pending:
            own["pending"] = [
                [batch.round, batch.policy.weights, [list(order) for order in batch.orders]]
                for batch in self.pending
            ]
        return super().state() | own

    def restore(self, state: dict[str, Any]) -> None:
        """What `state` gave."""
        super().restore(state)
        self.replay.restore(state["replay"])
        self.order = state["order"]
        if self.best is not None:
            self.best.restore(state["best"])
        self.pending = deque(
            Batch(ordered, Policy(self.spec, weights), [Order(*order) for order in orders])
            for ordered, weights, orders in state.get("pending", [])
        )


def initial_weights(spec: Spec, seed: int, start: Policy | None) -> Weights:
    """Those of the policy to start from, else those that its kind begins with."""
    return spec.initial_weights(seed) if start is None else spec.checked(start.weights)


def copy_weights(theta: Parameters, weights: Weights) -> None:
    """Set the tensors in place, so that an optimizer goes on with them."""
    with torch.no_grad():
        for name, tensor in theta.items():
            tensor.copy_(torch.from_numpy(weights[name]))
