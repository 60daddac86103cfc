"""Who plays while the learner learns: threads of this process, or actors on a Ray cluster."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from policrf.errors import InvalidOption
from policrf.execution.executor import Executor
from policrf.execution.processes import Processes
from policrf.learn.experience.players import Order
from policrf.policy.policy import Policy

Played = TypeVar("Played", covariant=True)


class Pending(Protocol[Played]):
    """An episode that is being played."""

    def result(self) -> Played:
        """Wait for it."""


class Player(Protocol[Played]):
    """What plays (`players.py`)."""

    def play(self, policy: Policy, order: Order) -> Played:
        """One episode."""


@dataclass
class Batch(Generic[Played]):
    """The episodes that were ordered in one round."""

    round: int
    """Their weights have learned in the rounds before this one."""
    policy: Policy
    orders: list[Order]
    answers: Sequence[Pending[Played]] | None = None
    """None where they have not been started, such as after a checkpoint was read."""

    def start(self, pool: ThreadPoolExecutor, player: Player[Played]) -> None:
        """Have them played, unless they are already."""
        if self.answers is not None:
            return
        if isinstance(pool, RemoteActors):
            self.answers = pool.play(player, self.round, self.policy, self.orders)
        else:
            self.answers = [pool.submit(player.play, self.policy, order) for order in self.orders]

    def results(self) -> list[Played]:
        """Wait for all of them."""
        assert self.answers is not None
        return [answer.result() for answer in self.answers]


class RemoteActors(ThreadPoolExecutor):
    """Actors on a cluster, and a thread of this process for what is no episode.

    Parameters
    ----------
    executor
        A `RayCluster`.
    count
        How many actors.
    """

    def __init__(self, executor: Executor, count: int) -> None:
        from policrf.execution.ray_cluster import RayCluster

        super().__init__(1)
        if not isinstance(executor, RayCluster):
            raise InvalidOption(f"executor is {executor!r}; learning takes a RayCluster, or none")
        self.cluster, self.count = executor, count
        self._held: tuple[Any, Any] | None = None

    def play(
        self, player: Any, version: int, policy: Policy, orders: Sequence[Order]
    ) -> Sequence[Pending[Any]]:
        """Order episodes with the weights of a version."""
        from policrf.execution.ray_actors import RayActors

        if self._held is None or self._held[0] is not player:
            self._end()
            self._held = player, RayActors(self.cluster, self.count, player)
        actors: RayActors = self._held[1]
        return actors.play(version, policy, orders)

    def _end(self) -> None:
        if self._held is not None:
            self._held[1].close()
            self._held = None

    def __exit__(self, *error: Any) -> bool | None:
        self._end()
        return super().__exit__(*error)


def actors_for(executor: Executor | None, count: int) -> ThreadPoolExecutor:
    """Threads, or with a cluster actors there, `count` of them."""
    if executor is None or isinstance(executor, Processes):
        return ThreadPoolExecutor(count)
    return RemoteActors(executor, count)
