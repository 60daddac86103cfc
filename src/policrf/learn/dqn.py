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
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from policrf.learn.acting import Trail, play
from policrf.learn.advantage import Scale, rollout_advantages
from policrf.learn.corpus import Corpus
from policrf.learn.dqn_options import DQN
from policrf.learn.forward import CostView, Parameters, parameters, scores, weights_of
from policrf.learn.replay import Replay, Steps
from policrf.learn.targets import (
    BestKnown,
    following_states,
    n_values,
    steps_of,
)
from policrf.mdp.rewards import load_reward
from policrf.policy.engine import Engine
from policrf.policy.network import INPUTS, Spec, Weights
from policrf.policy.policy import Policy
from policrf.types import IntArray


class DqnEpisode(NamedTuple):
    """One episode and the labeling that local search made of it."""

    instance: int
    trail: Trail
    refined: IntArray | None
    refined_energy: float
    steps: IntArray
    """Those that advantages were found for; all if there are none."""
    advantages: NDArray[np.float32] | None


class DQNLearner:
    """Weights, memory and optimizer; `round()` plays and learns. What `loop.py` drives."""

    def __init__(self, config: DQN, spec: Spec, corpus: Corpus, seed: int = 0) -> None:
        self.config, self.spec, self.corpus, self.seed = config, spec, corpus, seed
        self.theta = parameters(spec.initial_weights(seed))
        self.target = parameters(spec.initial_weights(seed))
        self.optimizer = torch.optim.Adam(self.theta.values(), lr=config.learning_rate)
        self.features = torch.from_numpy(corpus.features)
        self.generator = np.random.default_rng([seed, 1])
        residual = spec.kind == "residual"
        ahead = config.ahead + 1 if config.bootstrap else 0
        self.replay = Replay(
            config.capacity, corpus.n_labels, corpus.largest,
            n_values=n_values(
                corpus.n_labels, backup=config.backup, residual=residual, bootstrap=config.bootstrap
            ),
            n_following=ahead,
        )  # fmt: skip
        self.best = BestKnown(corpus) if config.target == "hindsight" else None
        self.order = self.generator.permutation(len(corpus))
        self.rounds = self.episodes = self.transitions = self.updates = 0
        self.scale = 1.0
        self.advantage_scale = Scale()
        self.recent: dict[str, float] = {}

    @property
    def epsilon(self) -> float:
        """The probability of exploiting in this round."""
        share = min(1.0, self.rounds / max(1, self.config.epsilon_rounds))
        return self.config.epsilon + share * (self.config.epsilon_final - self.config.epsilon)

    def policy(self) -> Policy:
        """The policy as it stands."""
        return Policy(self.spec, weights_of(self.theta))

    def begin(self, pool: ThreadPoolExecutor) -> None:
        """Fill the memory with a first round of episodes."""
        if self.best is not None and self.config.teacher:
            self._ask_teacher(pool)
        played = [future.result() for future in self._play(pool)]
        if not load_reward(self.config.reward).bounded:
            taken = np.concatenate([_taken(p.trail) for p in played])
            self.scale = float(max(np.std(taken), 1e-6))
        self._remember(played)

    def round(self, pool: ThreadPoolExecutor) -> None:
        """Play the next episodes and learn from the earlier ones meanwhile."""
        self.rounds += 1
        futures = self._play(pool)
        share = min(1.0, self.rounds / max(1, self.config.decay_rounds))
        low, high = self.config.learning_rate_final, self.config.learning_rate
        self.optimizer.param_groups[0]["lr"] = low + (high - low) * (1 + np.cos(np.pi * share)) / 2
        losses = [self._update() for _ in range(self.config.updates)]
        self.recent["loss"] = float(np.mean(losses))
        self._remember([future.result() for future in futures])

    def _play(self, pool: ThreadPoolExecutor) -> list[Future[DqnEpisode]]:
        policy, epsilon = self.policy(), self.epsilon
        futures = []
        for _ in range(self.config.episodes):
            if self.episodes % len(self.corpus) == 0:
                self.order = self.generator.permutation(len(self.corpus))
            instance = int(self.order[self.episodes % len(self.corpus)])
            seed = (self.seed << 32) + self.episodes
            futures.append(pool.submit(self._episode, policy, instance, epsilon, seed))
            self.episodes += 1
        return futures

    def _episode(self, policy: Policy, instance: int, epsilon: float, seed: int) -> DqnEpisode:
        config = self.config
        engine = Engine(policy, self.corpus.instances[instance])
        trail = play(
            engine, epsilon=epsilon, seed=seed,
            reward=load_reward(config.reward, ties=config.ties), best_views=config.bootstrap,
        )  # fmt: skip
        steps, advantages = np.arange(len(trail.nodes)), None
        if config.target == "advantage":
            drawn = np.random.default_rng([seed, 2]).permutation(steps)
            steps = np.sort(drawn[: min(config.rollouts, config.keep)])
            advantages = rollout_advantages(engine, trail, steps, config.tried)
        if self.best is None:
            return DqnEpisode(instance, trail, None, 0.0, steps, advantages)
        from policrf.solvers.moves.refine import refine_labels

        crf = self.corpus.instances[instance].crf
        refined = refine_labels(crf, engine.labels)
        return DqnEpisode(instance, trail, refined, crf.energy(refined), steps, advantages)

    def _ask_teacher(self, pool: ThreadPoolExecutor) -> None:
        from policrf.solvers import solve

        def ask(k: int) -> tuple[IntArray, float]:
            solution = solve(self.corpus.instances[k], self.config.teacher, seconds=10)
            return solution.labels, solution.energy

        assert self.best is not None
        for k, (labels, energy) in enumerate(pool.map(ask, range(len(self.corpus)))):
            self.best.offer(k, labels, energy)

    def _remember(self, played: Sequence[DqnEpisode]) -> None:
        rewards = []
        for instance, trail, refined, energy, keep, advantages in played:
            count = len(trail.nodes)
            self.transitions += count
            rewards.append(_taken(trail))
            if len(keep) > self.config.keep:
                keep = np.sort(self.generator.choice(keep, self.config.keep, replace=False))
            better = self._beats_unary(trail, instance, keep)
            scale = self.scale
            if advantages is not None:  # they have a scale of their own
                self.advantage_scale.take(advantages)
                trail.rewards[keep], scale = self.advantage_scale.apply(advantages), 1.0
            steps = steps_of(
                trail, instance, count, backup=self.config.backup, discount=self.config.discount,
                ahead=self.config.ahead, scale=scale, keep=keep,
            )  # fmt: skip
            self.replay.add(steps, better)
            if refined is not None and self.best is not None:
                self.best.offer(instance, refined, energy)
        self.recent["reward"] = float(np.mean(np.concatenate(rewards)))
        self.recent["episode_energy"] = float(np.mean([p.trail.energy[0] for p in played]))
        if self.best is not None and np.isfinite(self.best.energies).any():
            known = self.best.energies[np.isfinite(self.best.energies)]
            self.recent["best_known"] = float(known.mean())

    def _beats_unary(self, trail: Trail, instance: int, steps: IntArray) -> NDArray[np.bool_]:
        """Whether the labels taken earned more than the unary's would have: the second chunk."""
        nodes, labels = trail.nodes[steps], trail.labels[steps]
        unary = np.argmin(self.corpus.instances[instance].crf.unary, axis=1)[nodes]
        return np.asarray(trail.rewards[steps, labels] > trail.rewards[steps, unary])

    def _update(self) -> float:
        steps = self.replay.sample(
            self.config.batch, self.generator, self.config.share, self.config.balance
        )
        loss = self._loss(steps)
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.updates += 1
        if self.config.bootstrap and self.updates % self.config.target_every == 0:
            self.target = parameters(weights_of(self.theta))
        return float(loss.detach())

    @staticmethod
    def _one_hot(scored: torch.Tensor, labels: IntArray) -> torch.Tensor:
        """+1 at the label of each row, −1 elsewhere."""
        wanted = torch.full_like(scored, -1.0)
        wanted[torch.arange(len(labels)), torch.from_numpy(labels)] = 1.0
        return wanted

    def _loss(self, steps: Steps) -> torch.Tensor:
        """Squared error at the nodes of the steps: of all their labels, or of the ones taken."""
        scored = self._scores(self.theta, steps.instances, steps.nodes, steps.states, steps, 0)
        if self.best is not None:
            wanted = self._one_hot(scored, self.best.of(steps.instances, steps.nodes))
        elif self.config.backup == "all":
            wanted = torch.from_numpy(steps.values[:, : self.corpus.n_labels])
            if self.config.target == "advantage":
                known = torch.isfinite(wanted)
                return (scored[known] - wanted[known]).square().mean()
        else:
            scored = scored[torch.arange(len(scored)), torch.from_numpy(steps.labels)]
            wanted = self._returns(steps)
        return (scored - wanted).square().mean()

    def _returns(self, steps: Steps) -> torch.Tensor:
        """The n-step return, bootstrapped with the target network at the actor's best action."""
        value = torch.from_numpy(steps.values[:, 0].copy())
        if not self.config.bootstrap:
            return value
        node = steps.actions[:, -1, 0].astype(np.int64)
        label = torch.from_numpy(steps.actions[:, -1, 1].astype(np.int64))
        with torch.no_grad():
            later = self._scores(
                self.target, steps.instances, node, following_states(steps), steps, 1
            )
            return (
                value + torch.from_numpy(steps.values[:, 1]) * later[torch.arange(len(node)), label]
            )

    def _scores(
        self, theta: Parameters, instances: IntArray, nodes: IntArray, states: Any, steps: Steps,
        which: int,
    ) -> torch.Tensor:  # fmt: skip
        """Q at these nodes; `which` of the kept views to use: the step's own, or the later one."""
        around = self.corpus.neighbourhoods(instances, nodes, states, self.spec.rounds)
        view = None
        if self.spec.kind == "residual":
            first = self.corpus.n_labels if self.config.backup == "all" else 2
            size = self.corpus.n_labels * (1 + len(INPUTS))
            kept = steps.values[:, first + which * size : first + (which + 1) * size]
            kept = kept.reshape(len(nodes), self.corpus.n_labels, 1 + len(INPUTS))
            view = CostView(kept[:, :, 0].copy(), kept[:, :, 1:].copy())
        return scores(self.spec, theta, self.features, around, view)

    def state(self) -> dict[str, Any]:
        """Everything that another process needs to go on as if nothing had happened."""
        best = (
            {}
            if self.best is None
            else {"energies": self.best.energies, "labels": self.best.labels}
        )
        return {
            "theta": weights_of(self.theta),
            "target": weights_of(self.target),
            "optimizer": self.optimizer.state_dict(),
            "replay": self.replay.state(),
            "generator": self.generator.bit_generator.state,
            "order": self.order,
            "best": best,
            "counters": [self.rounds, self.episodes, self.transitions, self.updates],
            "scale": self.scale,
            "advantage_scale": [self.advantage_scale.total, self.advantage_scale.count],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """What `state` gave."""
        _copy_into(self.theta, state["theta"])
        _copy_into(self.target, state["target"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.replay.restore(state["replay"])
        self.generator.bit_generator.state = state["generator"]
        self.order = state["order"]
        self.rounds, self.episodes, self.transitions, self.updates = state["counters"]
        self.scale = state["scale"]
        self.advantage_scale.total, self.advantage_scale.count = state["advantage_scale"]
        if self.best is not None:
            self.best.energies[:] = state["best"]["energies"]
            self.best.labels[:] = state["best"]["labels"]


def _copy_into(theta: Parameters, weights: Weights) -> None:
    with torch.no_grad():
        for name, tensor in theta.items():
            tensor.copy_(torch.from_numpy(weights[name]))


def _taken(trail: Trail) -> Any:
    return trail.rewards[np.arange(len(trail.nodes)), trail.labels]
