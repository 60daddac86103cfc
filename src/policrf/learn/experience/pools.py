"""Training sets that do not fit in memory: learn from a pool of instances, then from the next one.

An instance of 250 nodes takes some 0.7 MB while it is learned from, so that 10,000 of them would
take 7 GB. `Pooled` drives any learner on a pool at a time. At the change of pools the learner goes
on with its weights, its optimizer and its random numbers; what belongs to the instances (`OF_POOL`:
memories, best labelings, orders) starts afresh.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from policrf.crf.instance import Instance
from policrf.learn.learners.learner import Learner
from policrf.policy.policy import Policy

OF_POOL = ("replay", "order", "best", "reference", "batches", "pending")


class Pooled:
    """A learner (as `loop.py` drives it) whose corpus is one pool of the instances after another.

    Parameters
    ----------
    make
        A learner for some instances.
    instances
        Read when a pool is filled.
    size
        The most instances in a pool.
    rounds
        Rounds of learning from a pool.
    seed
        Which instances share a pool.
    """

    def __init__(
        self, make: Callable[[Sequence[Instance]], Learner], instances: Sequence[Instance], *,
        size: int, rounds: int, seed: int,
    ) -> None:  # fmt: skip
        self.make, self.instances, self.size, self.every = make, instances, size, rounds
        self.order = np.random.default_rng([seed, 4]).permutation(len(instances))
        self.number = 0
        self._held: Learner | None = make(self._chosen(0))

    def _chosen(self, number: int) -> list[Instance]:
        pools = -(-len(self.instances) // self.size)
        chosen = self.order[number % pools :: pools]
        return [self.instances[k] for k in chosen.tolist()]

    def begin(self, pool: ThreadPoolExecutor) -> None:
        """As of the learner."""
        self.learner.begin(pool)

    def round(self, pool: ThreadPoolExecutor) -> None:
        """A round on the pool whose turn it is."""
        if self.learner.rounds >= (self.number + 1) * self.every:
            self._change(self.number + 1)
            self.learner.begin(pool)
        self.learner.round(pool)

    def _change(self, number: int) -> None:
        before = self.learner.state()
        self.number, self._held = number, None  # two pools would not fit
        fresh = self.make(self._chosen(number))
        own = fresh.state()
        kept = {name: part for name, part in before.items() if name not in OF_POOL}
        fresh.restore(kept | {name: own[name] for name in OF_POOL if name in own})
        self._held = fresh

    def policy(self) -> Policy:
        """The policy at present."""
        return self.learner.policy()

    def state(self) -> dict[str, Any]:
        """The learner's, and which pool it is at."""
        return {"pool": self.number, "learner": self.learner.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """What `state` gave."""
        if state["pool"] != self.number:
            self.number, self._held = state["pool"], None
            self._held = self.make(self._chosen(self.number))
        self.learner.restore(state["learner"])

    @property
    def learner(self) -> Learner:
        """The learner of the present pool."""
        assert self._held is not None
        return self._held

    @property
    def rounds(self) -> int:
        """Rounds of learning, over all pools."""
        return self.learner.rounds

    @property
    def episodes(self) -> int:
        """Episodes played."""
        return self.learner.episodes

    @property
    def transitions(self) -> int:
        """Steps played."""
        return self.learner.transitions

    @property
    def updates(self) -> int:
        """Gradient steps."""
        return self.learner.updates

    @property
    def recent(self) -> dict[str, float]:
        """The learner's latest figures."""
        return self.learner.recent
