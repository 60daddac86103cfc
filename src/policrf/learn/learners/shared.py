"""Learners of the shared kind beside imitation, all on whole graphs (`imitate.py`).

`q`         Q-learning with γ = 0: the scores of all labels of a node are moved towards their
            rewards (R2, R1, …), or towards ±1 by the labels of the lowest energy known (hindsight),
            in states of exploring episodes. Scores are margins squashed to −1 … 1: rewards without
            bounds are squashed in the same way, in units of cost.
`tree`      the labels that a tree search decided, in the states it decided them in (expert
            iteration).
`imitate`   with `perturbed` = k: the lowest energy of k episodes, all but one of them with actions
            at random in between, each finished by local search.
`evolve`    policy search on the final energy (`evolve.py`).
"""

from __future__ import annotations

import numpy as np
from torch import Tensor
from torch import from_numpy as to_torch

from policrf.learn.experience.acting import play
from policrf.learn.experience.corpus import Instances
from policrf.learn.experience.self_play import play_game
from policrf.learn.experience.states import Seen, look_along, play_states
from policrf.learn.learners.evolve import EvolveLearner
from policrf.learn.learners.imitate import (
    ImitationLearner,
    Target,
    no_target,
    require_shared,
    squashed_margins,
    target,
)
from policrf.learn.learners.learner import Learner
from policrf.learn.options import Shared
from policrf.mdp.rewards import load_reward
from policrf.policy.network import Spec
from policrf.policy.policy import Policy
from policrf.search.search import TreeSearch
from policrf.solvers.refine.refine_rounds import refine_labels
from policrf.types import Float32Array


def shared_learner(
    config: Shared, spec: Spec, corpus: Instances, seed: int = 0, start: Policy | None = None
) -> Learner:
    """The learner that the options name, or the one that fits the data."""
    require_shared(spec)
    known = all(instance.truth is not None for instance in corpus.instances)
    match config.learner or ("imitate" if known and config.labels.truth > 0 else "evolve"):
        case "q":
            return QLearner(config, spec, corpus, seed, start)
        case "tree":
            return TreeLearner(config, spec, corpus, seed, start)
        case "imitate":
            return BestOfEpisodes(config, spec, corpus, seed, start)
    return EvolveLearner(config.as_evolve(), spec, corpus, seed, start)


class _SharedLearner(ImitationLearner):
    """What they share: the options, of which imitation reads its own part."""

    def __init__(
        self, config: Shared, spec: Spec, corpus: Instances, seed: int = 0,
        start: Policy | None = None,
    ) -> None:  # fmt: skip
        super().__init__(config.as_imitate(), spec, corpus, seed, start)
        self.options = config


class QLearner(_SharedLearner):
    """Rewards of all labels of a node, or the best labeling known, by squared error."""

    def episode(self, policy: Policy, k: int, seed: int) -> Seen:
        """An exploring one, with the rewards in the states that are looked at."""
        how, crf = self.options.play, self.corpus.instances[k].crf
        reward = load_reward(how.reward)
        with self.engines.lent(policy, k) as engine:
            trail = play(engine, epsilon=how.epsilon, seed=seed, reward=reward)
            generator = np.random.default_rng(seed)
            seen = look_along(engine, k, trail.nodes, engine.labels, generator, reward)
            unit = engine.parts.completion.unit
        if not reward.bounded:
            squashed = seen.rewards / (unit + np.abs(seen.rewards))
            seen = seen._replace(rewards=squashed.astype(np.float32))
        if how.target == "reward":
            return seen
        refined = refine_labels(crf, seen.labels)
        return seen._replace(labels=refined, energy=crf.energy(refined))

    def graph_losses(self, logits: Tensor) -> Tensor:
        """Squared errors of the scores, each graph's mean."""
        scores = squashed_margins(-logits)
        wanted = to_torch(np.concatenate([self._wanted(seen) for seen in self.batch]))
        sizes = [np.full(len(seen.nodes), 1 / len(seen.nodes)) for seen in self.batch]
        weights = to_torch(np.concatenate(sizes).astype(np.float32))
        return ((scores - wanted).square().mean(dim=1) * weights).sum()

    def _wanted(self, seen: Seen) -> Float32Array:
        """What the scores `[M, L]` should be."""
        if self.options.play.target == "reward":
            return seen.rewards
        count = len(seen.nodes)
        best = self.best.of(np.full(count, seen.instance), seen.nodes)
        wanted = np.full(seen.rewards.shape, -1.0, np.float32)
        wanted[np.arange(count), best] = 1.0
        return wanted


class TreeLearner(_SharedLearner):
    """The labels that tree search decided, by cross-entropy."""

    def episode(self, policy: Policy, k: int, seed: int) -> Seen:
        """A game of self-play, with the states that its decisions led to."""
        instance = self.corpus.instances[k]
        search = TreeSearch(policy, instance, self.options.search_options())
        game = play_game(search, which=k, seed=seed, refine=False)
        labels = np.empty(instance.crf.n_nodes, np.int64)
        labels[game.nodes] = game.labels
        generator = np.random.default_rng(seed)
        seen = look_along(search.engine, k, game.nodes, labels, generator)
        return seen._replace(energy=game.energy)

    def targets(self, seen: Seen) -> tuple[Target, Target]:
        """The labels of this game."""
        decided = seen.labels[seen.nodes]
        return no_target(decided), target(decided, self.config.balance, 1.0)


class BestOfEpisodes(_SharedLearner):
    """Imitation, the labels of the lowest energy being the best of several episodes."""

    def episode(self, policy: Policy, k: int, seed: int) -> Seen:
        """The greedy one, and perturbed ones where energies are imitated."""
        how = self.options.play
        if how.perturbed < 2 or not self.wants_energy(k):
            return super().episode(policy, k, seed)
        crf, reward = self.corpus.instances[k].crf, load_reward("sign")
        with self.engines.lent(policy, k) as engine:
            seen = play_states(engine, k, np.random.default_rng(seed))
            tries = [seen.labels]
            for number in range(1, how.perturbed):
                play(engine, epsilon=how.epsilon, seed=seed + number, reward=reward)
                tries.append(engine.labels)
        ended = [refine_labels(crf, labels) for labels in tries]
        energies = [crf.energy(labels) for labels in ended]
        best = int(np.argmin(energies))
        return seen._replace(labels=ended[best], energy=energies[best])
