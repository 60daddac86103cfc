"""The structured replay memory: two chunks × L classes (section "Learning Policy Parameters").

A step goes to the second chunk if its label earned more than the node's unary label would have in
the same state, else to the first; within a chunk to the class of its label. Each of the 2 L cells
is a ring of its own, so rare classes are not washed out by frequent ones, and a batch draws evenly:
chunk, then class, then step, over the cells that hold anything.

A step is kept as (instance, labels so far, node, label, actions, and what the learner wants to
know): 2 N + 100 bytes, and 800 more for what the residual kind sees of the energy. The actions are,
for n-step returns, the next n ones and the best one after them by the policy that played; for tree
search, those of the root.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from policrf.errors import InvalidOption
from policrf.types import BoolArray, FloatArray, IntArray

LabelArray = NDArray[np.int16]
# A NamedTuple of arrays whose first axis is that of the steps; each learner has its own.
Kept = TypeVar("Kept", bound=tuple[Any, ...])
ARRAYS = ("instances", "nodes", "labels", "states", "actions")


class Steps(NamedTuple, Generic[Kept]):
    """T steps, as they go into the memory and come out of it."""

    instances: IntArray  # [T]
    nodes: IntArray  # [T]
    labels: IntArray  # [T]
    states: LabelArray  # [T, N]; the labels so far, −1 = unlabeled
    actions: NDArray[np.int32]  # [T, n, 2]; actions the learner wants to know of; −1 = none
    kept: Kept  # what the learner learns from, its own arrays


class Replay(Generic[Kept]):
    """Steps of instances, in rings.

    Parameters
    ----------
    capacity
        The most steps that it holds.
    n_labels
        L.
    n_nodes
        N of the largest instance.
    blank
        One step of what the learner keeps with each, as arrays `[1, …]`.
    n_actions
        Actions kept with each step.
    """

    def __init__(
        self, capacity: int, n_labels: int, n_nodes: int, *, blank: Kept, n_actions: int = 0
    ) -> None:
        cells = 2 * n_labels
        if capacity < cells:
            raise InvalidOption(
                f"a replay memory of {capacity} steps has no room for 2 chunks × {n_labels} "
                f"classes; give at least {cells}"
            )
        self.n_labels = n_labels
        self.ring = capacity // cells
        size = self.ring * cells
        self.sizes: IntArray = np.zeros(cells, np.int64)
        self.heads: IntArray = np.zeros(cells, np.int64)
        self.seen: FloatArray = np.zeros(cells)
        self.steps: Steps[Kept] = Steps(
            instances=np.zeros(size, np.int64),
            nodes=np.zeros(size, np.int64),
            labels=np.zeros(size, np.int64),
            states=np.full((size, n_nodes), -1, np.int16),
            actions=np.full((size, n_actions, 2), -1, np.int32),
            kept=_mapped(lambda array: np.zeros((size, *array.shape[1:]), array.dtype), blank),
        )

    def __len__(self) -> int:
        return int(self.sizes.sum())

    @property
    def nbytes(self) -> int:
        """Memory held, from the start."""
        return sum(int(array.nbytes) for array in self._arrays().values())

    def _arrays(self) -> dict[str, Any]:
        """Every array of the steps, by name."""
        return {name: getattr(self.steps, name) for name in ARRAYS} | _named(self.steps.kept)

    def add(self, steps: Steps[Kept], better: BoolArray) -> None:
        """Add steps in order; `better` [T] says which belong to the second chunk."""
        cells = better.astype(np.int64) * self.n_labels + steps.labels
        order = np.argsort(cells, kind="stable")
        counts = np.bincount(cells, minlength=len(self.sizes))
        ends = np.cumsum(counts)
        within = np.arange(len(cells)) - (ends - counts)[cells[order]]
        # Where one call brings more steps than a ring holds, the last of them stay.
        kept = within >= counts[cells[order]] - self.ring
        order, within = order[kept], within[kept]
        at = cells[order] * self.ring + (self.heads[cells[order]] + within) % self.ring
        n_nodes = steps.states.shape[1]
        self.steps.states[at, :n_nodes] = steps.states[order]
        new = {name: getattr(steps, name) for name in ARRAYS} | _named(steps.kept)
        for name, array in self._arrays().items():
            if name != "states":
                array[at] = new[name][order]
        self.heads = (self.heads + counts) % self.ring
        self.sizes = np.minimum(self.sizes + counts, self.ring)
        self.seen = self.seen + counts

    def sample(
        self, count: int, generator: np.random.Generator, share: float = 0.5, balance: float = 1.0
    ) -> Steps[Kept]:
        """Steps with replacement.

        Parameters
        ----------
        count
            How many.
        generator
            Of the draws.
        share
            Part that comes from the second chunk.
        balance
            With 1 the classes of a chunk are equally likely, the paper's way; with 0 every cell is
            as likely as steps of it were played, whatever `share` says; in between, the
            probabilities of both, mixed.
        """
        filled = self.sizes > 0
        if not filled.any():
            raise InvalidOption(
                "the replay memory is empty: play episodes before learning from them"
            )
        even = filled.astype(np.float64).reshape(2, -1)
        present = even.sum(axis=1, keepdims=True)
        even *= np.array([[1 - share], [share]]) / np.maximum(present, 1)
        even = even / even.sum() if even.sum() > 0 else filled / filled.sum()
        chance = balance * even.reshape(-1) + (1 - balance) * self.seen / self.seen.sum()
        cells = np.searchsorted(np.cumsum(chance), generator.random(count) * chance.sum())
        cells = np.minimum(cells, np.flatnonzero(filled)[-1])
        at = cells * self.ring + (generator.random(count) * self.sizes[cells]).astype(np.int64)
        found = {name: getattr(self.steps, name)[at] for name in ARRAYS}
        return Steps(**found, kept=_mapped(lambda array: array[at], self.steps.kept))

    def state(self) -> dict[str, Any]:
        """All of it as arrays, for a checkpoint; only the filled parts."""
        filled = np.concatenate(
            [c * self.ring + np.arange(size) for c, size in enumerate(self.sizes)]
        ).astype(np.int64)
        parts = {name: array[filled] for name, array in self._arrays().items()}
        return {
            "filled": filled,
            "sizes": self.sizes,
            "heads": self.heads,
            "seen": self.seen,
            **parts,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """What `state` gave."""
        self.sizes, self.heads = np.array(state["sizes"]), np.array(state["heads"])
        self.seen = np.array(state["seen"])
        for name, array in self._arrays().items():
            array[state["filled"]] = state[name]


def _named(kept: Any) -> dict[str, Any]:
    return {f"kept_{name}": array for name, array in kept._asdict().items()}


def _mapped(function: Callable[[Any], Any], kept: Kept) -> Kept:
    """The same tuple of other arrays."""
    return type(kept)(*map(function, kept))


def returns(rewards: FloatArray, discount: float) -> FloatArray:
    """Σ_k γ^k r_{t+k} to the end of the episode, for every t."""
    out = np.empty_like(rewards)
    total = 0.0
    for t in range(len(rewards) - 1, -1, -1):
        total = rewards[t] + discount * total
        out[t] = total
    return out


def states_before(nodes: IntArray, labels: IntArray, wanted: IntArray, n_nodes: int) -> LabelArray:
    """The labels so far before each of the steps `wanted`, `[len(wanted), n_nodes]`."""
    rank = np.full(n_nodes, len(nodes), np.int64)
    rank[nodes] = np.arange(len(nodes))
    final = np.full(n_nodes, -1, np.int16)
    final[nodes] = labels
    return np.where(rank[None, :] < wanted[:, None], final[None, :], np.int16(-1)).astype(np.int16)
