"""Actors of a Ray cluster: they hold a player, and play what they are ordered to with new weights.

Weights are put into the object store once a version, and every actor fetches a version once. An
actor whose process or node died is started again by Ray, and what it was at is played again: an
order says everything that its answer depends on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from policrf.execution.ray_cluster import RayCluster
from policrf.execution.ray_failures import plain_errors
from policrf.execution.ray_worker import Place, held

Answer = TypeVar("Answer")
# Of an actor, after which the learner ends with a sentence. Tries of an order are not counted: some
# are lost on a node that is gone before Ray knows it.
RESTARTS = 10
MOST_CANCELLED = 10_000  # of the latest orders, those that are given up at the end


class Awaited(Generic[Answer]):
    """What an actor was asked for; `result()` waits for it."""

    def __init__(self, ray: Any, reference: Any, order: Any) -> None:
        self._ray, self._reference, self._order = ray, reference, order

    def result(self) -> Answer:
        """The answer; an error of the actor is raised as itself."""
        with plain_errors(self._ray, f"{self._order}"):
            answer: Answer = self._ray.get(self._reference)
        return answer


class RayActors:
    """Some actors, each with a copy of one player, whose `play(weights, order)` they call.

    Parameters
    ----------
    cluster
        Where.
    count
        How many; Ray spreads them over the nodes.
    player
        What each holds, for as long as it lives.
    """

    def __init__(self, cluster: RayCluster, count: int, player: Any) -> None:
        self.cluster, self._turn = cluster, 0
        self._place = cluster.place(None, player)
        self._ordered: deque[Any] = deque(maxlen=MOST_CANCELLED)
        # Without num_cpus an actor takes a core to be placed and none to run: those of a node that
        # is lost find room on the others.
        remote = cluster.ray.remote(
            max_restarts=RESTARTS, max_task_retries=-1, scheduling_strategy="SPREAD"
        )(Actor)
        self._actors = [remote.remote() for _ in range(count)]

    def play(self, version: int, weights: Any, orders: Sequence[Any]) -> list[Awaited[Any]]:
        """Order something with the weights of a version, from one actor after the other."""
        ray = self.cluster.ray
        kept = (ray.put(weights),)
        found = []
        for order in orders:
            actor = self._actors[self._turn % len(self._actors)]
            self._turn += 1
            reference = actor.play.remote(self._place, version, kept, order)
            self._ordered.append(reference)
            found.append(Awaited[Any](ray, reference, order))
        return found

    def close(self) -> None:
        """Give up what is ordered; actors that nobody refers to end by themselves."""
        for reference in self._ordered:
            self.cluster.ray.cancel(reference)
        self._ordered.clear()
        self._actors = []


class Actor:
    """One actor, in a process of its own."""

    version, weights = -1, None

    def play(self, place: Place, version: int, kept: tuple[Any], order: Any) -> Any:
        """The player's answer, with weights of this version."""
        _, player, _ = held(place)
        if version != self.version:
            import ray

            self.version, self.weights = version, ray.get(kept[0])
        return player.play(self.weights, order)
