"""Q-learning with the structured replay (section "Learning Policy Parameters", appendix B1).

Rounds of two things at once: actors play episodes on the engine, in threads, with the weights that
the round began with; the learner takes gradient steps on the replay memory. Both see only what
earlier rounds left, so that a run is the same for a seed however the threads fall.

Where we differ from the paper: see `targets.py` (all labels backed up at once where γ = 0;
hindsight), neighbourhoods instead of whole graphs in a gradient step (`corpus.py`, the same
gradient), a target network and double Q where γ > 0 (the paper does without; a prototype diverged).
Actions are masked in acting and exploring by the engine; in bootstrapping because the best action
comes from it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch

from policrf.learn.experience.actors import RemoteActors
from policrf.learn.experience.corpus import Corpus
from policrf.learn.experience.players import DqnEpisode, DqnPlayer, Order
from policrf.learn.experience.replay import LabelArray, Replay, Steps
from policrf.learn.learners.forward import CostView, Parameters, parameters, scores, weights_of
from policrf.learn.learners.learner import PlayingLearner, copy_weights
from policrf.learn.learners.targets import (
    BestKnown,
    Regression,
    blank_regression,
    following_states,
    steps_of,
    taken_rewards,
)
from policrf.learn.options import DQN
from policrf.mdp.rewards import load_reward
from policrf.policy.network import Spec
from policrf.policy.policy import Policy
from policrf.types import Float32Array, IntArray

SMALLEST_SCALE = 1e-6


class Asked(NamedTuple):
    """B nodes whose scores are wanted."""

    instances: IntArray  # [B]
    nodes: IntArray  # [B]
    states: LabelArray  # [B, N]; the labels so far
    views: Float32Array  # [B, L, 1 + D]; margins and inputs of a kind that sees costs


class DQNLearner(PlayingLearner[DqnEpisode]):
    """Weights, memory and optimizer; `round()` plays and learns. What `loop.py` drives."""

    def __init__(
        self, config: DQN, spec: Spec, corpus: Corpus, seed: int = 0, start: Policy | None = None
    ) -> None:
        super().__init__(
            spec, corpus, seed, 1, start=start, steps=config.optimizer, memory=config.memory,
            staleness=config.exploration.staleness,
        )  # fmt: skip
        self.config = config
        self.target = parameters(weights_of(self.theta))
        how = config.returns
        self.replay: Replay[Regression] = Replay(
            config.memory.capacity, corpus.n_labels, corpus.largest,
            blank=blank_regression(how, corpus.n_labels, sees_costs=spec.sees_costs),
            n_actions=how.ahead + 1 if how.bootstrap else 0,
        )  # fmt: skip
        self.best = BestKnown(corpus) if config.target == "hindsight" else None
        self.player = DqnPlayer(
            corpus.instances, config.reward, config.returns.bootstrap, self.best is not None
        )
        self.scale = 1.0

    @property
    def epsilon(self) -> float:
        """The probability of exploiting in this round."""
        how = self.config.exploration
        share = min(1.0, self.rounds / max(1, how.epsilon_rounds))
        return how.epsilon + share * (how.epsilon_final - how.epsilon)

    def begin(self, pool: ThreadPoolExecutor) -> None:
        """Fill the memory with a first round of episodes."""
        if self.best is not None and self.config.teacher:
            self._ask_teacher(pool, self.best)
        played = self.play(pool).results()
        if self.config.returns.scaled and not load_reward(self.config.reward).bounded:
            taken = np.concatenate([taken_rewards(p.trail) for p in played])
            self.scale = float(max(np.std(taken), SMALLEST_SCALE))
        self.remember(played)

    def orders(self) -> list[Order]:
        """The episodes of a round."""
        epsilon = self.epsilon
        return [
            Order(*self.next_episode(), epsilon) for _ in range(self.config.exploration.episodes)
        ]

    def _ask_teacher(self, pool: ThreadPoolExecutor, best: BestKnown) -> None:
        from policrf.solvers.many import solve_many

        asked = solve_many(
            self.corpus.instances, self.config.teacher, seconds=10, go_on=False,
            executor=pool.cluster if isinstance(pool, RemoteActors) else None,
        )  # fmt: skip
        for k, found in enumerate(asked):
            best.offer(k, found.labels, found.energy)

    def remember(self, played: Sequence[DqnEpisode]) -> None:
        """Put episodes into the memory."""
        for instance, trail, refined, energy in played:
            self.transitions += len(trail.nodes)
            keep = self.drawn(len(trail.nodes))
            better = self.beats_unary(
                instance, trail.nodes[keep], trail.labels[keep], trail.rewards[keep]
            )
            steps = steps_of(trail, instance, self.config.returns, scale=self.scale, keep=keep)
            self.replay.add(steps, better)
            if refined is not None and self.best is not None:
                self.best.offer(instance, refined, energy)
        earned = np.concatenate([taken_rewards(p.trail) for p in played])
        self.recent["reward"] = float(np.mean(earned))
        self.recent["episode_energy"] = float(np.mean([p.trail.energy[0] for p in played]))
        if self.best is not None and np.isfinite(self.best.energies).any():
            known = self.best.energies[np.isfinite(self.best.energies)]
            self.recent["best_known"] = float(known.mean())

    def update(self) -> float:
        """One gradient step; now and then the target network follows."""
        loss = super().update()
        how = self.config.returns
        if how.bootstrap and self.updates % how.target_every == 0:
            self.target = parameters(weights_of(self.theta))
        return loss

    def loss(self) -> torch.Tensor:
        """Squared error at the nodes of a batch: of all their labels, or of the ones taken."""
        memory = self.memory
        steps = self.replay.sample(self.steps.batch, self.generator, memory.share, memory.balance)
        asked = Asked(steps.instances, steps.nodes, steps.states, steps.kept.views)
        scored = self._scores(self.theta, asked)
        if self.best is not None:
            wanted = _one_hot(scored, self.best.of(steps.instances, steps.nodes))
        elif self.config.returns.backup == "all":
            known = torch.from_numpy(steps.kept.known)
            scored, wanted = scored[known], torch.from_numpy(steps.kept.rewards)[known]
        else:
            scored = scored[torch.arange(len(scored)), torch.from_numpy(steps.labels)]
            wanted = self._returns(steps)
        return (scored - wanted).square().sum() / max(1, scored.numel())

    def _returns(self, steps: Steps[Regression]) -> torch.Tensor:
        """The n-step return, bootstrapped with the target network at the actor's best action."""
        value = torch.from_numpy(steps.kept.returns)
        if not self.config.returns.bootstrap:
            return value
        node = steps.actions[:, -1, 0].astype(np.int64)
        label = torch.from_numpy(steps.actions[:, -1, 1].astype(np.int64))
        asked = Asked(steps.instances, node, following_states(steps), steps.kept.later_views)
        with torch.no_grad():
            later = self._scores(self.target, asked)[torch.arange(len(node)), label]
            return value + torch.from_numpy(steps.kept.factors) * later

    def _scores(self, theta: Parameters, asked: Asked) -> torch.Tensor:
        """Q at these nodes `[B, L]`."""
        around = self.corpus.neighbourhoods(
            asked.instances, asked.nodes, asked.states, self.spec.layers
        )
        view = None
        if self.spec.sees_costs:
            view = CostView(asked.views[:, :, 0].copy(), asked.views[:, :, 1:].copy())
        return scores(self.spec, theta, self.features, around, view)

    def state(self) -> dict[str, Any]:
        """The target network and the scale of the rewards too."""
        return super().state() | {"target": weights_of(self.target), "scale": self.scale}

    def restore(self, state: dict[str, Any]) -> None:
        """What `state` gave."""
        super().restore(state)
        copy_weights(self.target, state["target"])
        self.scale = state["scale"]


def _one_hot(scored: torch.Tensor, labels: IntArray) -> torch.Tensor:
    """+1 at the label of each row, −1 elsewhere."""
    wanted = torch.full_like(scored, -1.0)
    wanted[torch.arange(len(labels)), torch.from_numpy(labels)] = 1.0
    return wanted
