"""Players: what plays episodes, in a thread of the learner or in an actor on another machine.

A player holds the instances and what it keeps between episodes; an `Order` and a policy say
everything that an episode depends on, whoever plays it. Nothing here needs torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

from policrf.crf.instance import Instance
from policrf.learn.experience.acting import Trail, play
from policrf.learn.experience.engines import Kept, kept_engines
from policrf.learn.experience.self_play import Game, play_game
from policrf.mdp.rewards import load_reward
from policrf.policy.engine import Engine, nbytes_of
from policrf.policy.policy import Policy
from policrf.search.search import SearchOptions, TreeSearch
from policrf.types import IntArray


class Order(NamedTuple):
    """One episode that is to be played."""

    instance: int
    seed: int
    epsilon: float = 1.0
    """The probability of exploiting, where the player explores by it."""


class DqnEpisode(NamedTuple):
    """One episode and, where hindsight wants it, what local search made of its labeling."""

    instance: int
    trail: Trail
    refined: IntArray | None
    refined_energy: float


@dataclass(frozen=True, eq=False)
class DqnPlayer:
    """Plays exploring episodes for Q-learning."""

    instances: Sequence[Instance]
    reward: str
    best_views: bool
    """Whether to note what the policy sees at its best action too."""
    refine: bool
    """Whether hindsight wants the labeling after local search."""

    @cached_property
    def engines(self) -> Kept[Engine]:
        """An engine for each instance."""
        return kept_engines(self.instances)

    def play(self, policy: Policy, order: Order) -> DqnEpisode:
        """One episode."""
        with self.engines.lent(policy, order.instance) as engine:
            trail = play(
                engine, epsilon=order.epsilon, seed=order.seed, reward=load_reward(self.reward),
                best_views=self.best_views,
            )  # fmt: skip
            labels = engine.labels
        if not self.refine:
            return DqnEpisode(order.instance, trail, None, 0.0)
        from policrf.solvers.refine.refine_rounds import refine_labels

        crf = self.instances[order.instance].crf
        refined = refine_labels(crf, labels)
        return DqnEpisode(order.instance, trail, refined, crf.energy(refined))

    def __reduce__(self) -> tuple[Any, ...]:
        return DqnPlayer, _values(self)


@dataclass(frozen=True, eq=False)
class GamePlayer:
    """Plays episodes in which every decision follows a tree search."""

    instances: Sequence[Instance]
    options: SearchOptions
    slots: int
    """Actions that a root has room for."""
    refine: bool
    """Whether hindsight wants the labeling after local search."""

    @cached_property
    def searches(self) -> Kept[TreeSearch]:
        """A tree search for each instance."""
        return Kept(self.instances, self._search, lambda search: search.engine, size=_size)

    def _search(self, policy: Policy, instance: Instance) -> TreeSearch:
        return TreeSearch(policy, instance, self.options)

    def play(self, policy: Policy, order: Order) -> Game:
        """One episode."""
        with self.searches.lent(policy, order.instance) as search:
            return play_game(
                search, which=order.instance, seed=order.seed, slots=self.slots, refine=self.refine
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return GamePlayer, _values(self)


def _values(player: DqnPlayer | GamePlayer) -> tuple[Any, ...]:
    """What a player is made of; engines stay where they are."""
    return tuple(getattr(player, field.name) for field in fields(player))


def _size(search: TreeSearch) -> int:
    return search.engine.nbytes + nbytes_of(search.tree)
