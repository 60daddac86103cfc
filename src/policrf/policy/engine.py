"""Engine: one policy on one instance, in steps or as a whole, without torch.

The kernels (`step.py`, `episode.py`) take `engine.parts`, so that learning and search can call them
from kernels of their own. Kernels release the GIL: several engines run in as many threads
(`label_many`).
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from policrf.crf.arrays import Arrays
from policrf.crf.changes import load_labels
from policrf.crf.instance import Instance
from policrf.crf.state import State, new_state
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.errors import InvalidLabeling, InvalidOption
from policrf.mdp.completion import Completion, complete
from policrf.mdp.graph import Graph, build_graph
from policrf.mdp.state import default_labels
from policrf.mdp.tournament import champion, rebuild
from policrf.policy import episode, step
from policrf.policy.conditional import completion_of
from policrf.policy.layers import fill_base
from policrf.policy.net import SILENT, STATIC_LAYERS, Net
from policrf.policy.policy import Policy
from policrf.policy.scoring import score_all, scores_of
from policrf.policy.shared.static_inputs import static_inputs
from policrf.policy.shared.static_net import fill_static, new_static_room
from policrf.policy.work import TRACKING, Work, new_work
from policrf.types import Float32Array, FloatArray, IntArray

SLICE = 4000  # steps a kernel call takes, some 10 to 50 milliseconds


class Parts(NamedTuple):
    """What every kernel of the engine takes, in this order."""

    net: Net
    graph: Graph
    arrays: Arrays
    state: State
    completion: Completion
    work: Work


class Engine:
    """Greedy labeling and single steps with undo for one (policy, instance).

    Parameters
    ----------
    default
        Labels `[N]` that complete a partial labeling; the unary argmin if not given.
    labels
        A partial labeling `[N]` (−1 = unlabeled) to start from.
    journal
        Messages kept for `undo`; 0 for an engine that never goes back, which is a little
        faster. Steps that do not fit can still be undone, by recomputing.
    track
        Whether the paper kind keeps the energy of the state up to date (the residual kind always
        does); without, only labels and scores are right, and no potential is ever looked at.
    """

    def __init__(
        self,
        policy: Policy,
        instance: Instance,
        *,
        default: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        journal: int = 0,
        track: bool = True,
    ) -> None:
        policy.check(instance)
        crf = instance.crf
        chosen = default_labels(crf) if default is None else crf.checked_labels(default)
        self.policy = policy
        self.instance = instance
        net, spec = policy.net, policy.spec
        self.parts = Parts(
            net=net,
            graph=build_graph(instance),
            arrays=crf.arrays,
            state=new_state(crf.arrays),
            completion=completion_of(spec, crf, chosen),
            work=new_work(net, crf, journal_rows=journal),
        )
        self.parts.work.journal.used[TRACKING] = track or journal > 0
        self._features = instance.features.view()
        self._features.setflags(write=False)  # as in an instance that was not unpickled
        self._static: Float32Array | None = None
        self._fill()
        self.reset(labels)

    def _fill(self) -> None:
        """What the weights make of the instance, whatever its labels."""
        net, work, arrays = self.parts.net, self.parts.work, self.parts.arrays
        if not net.sizes[STATIC_LAYERS]:
            fill_base(net, self._features, work.rows)
            return
        if net.sizes[SILENT]:  # nothing is looked at
            work.prior[:] = 0.0
            return
        if self._static is None:
            self._static = static_inputs(self.policy.spec, self.instance, self.parts.completion)
        room = new_static_room(net, arrays, self._static)
        fill_static(net, self.parts.graph, arrays, room, work.rows, work.prior)

    def reset(self, labels: ArrayLike | None = None) -> None:
        """Start over from nothing, or from a partial labeling (−1 = unlabeled)."""
        crf, parts = self.instance.crf, self.parts
        if labels is None:
            given = np.full(crf.n_nodes, -1, np.int64)
        else:
            given = crf.checked_labels(labels, partial=True)
        load_labels(parts.arrays, parts.state, given)
        complete(parts.arrays, parts.completion, given)
        parts.work.journal.used[:3] = 0
        score_all(*parts)
        rebuild(parts.work.scores)
        raise_if_failed()

    def load(self, policy: Policy) -> None:
        """Another policy of the same spec, and a fresh start: how actors follow a learner.

        What depends on the instance alone is kept: its graph, and what expected costs foresee.
        """
        if policy.spec != self.policy.spec:
            raise InvalidOption("an engine takes policies of one spec; build another engine")
        self.policy = policy
        self.parts = self.parts._replace(net=policy.net)
        self._fill()
        self.reset()

    @property
    def nbytes(self) -> int:
        """Memory that the engine holds beside its policy and its instance."""
        parts = self.parts
        return nbytes_of((parts.graph, parts.state, parts.completion, parts.work, self._static))

    @property
    def labels(self) -> IntArray:
        """A copy of the labels `[N]`, −1 where unlabeled."""
        return self.parts.state.labels.copy()

    @property
    def remaining(self) -> int:
        """How many nodes are unlabeled."""
        return int((self.parts.state.labels < 0).sum())

    def best(self) -> tuple[int, int, float]:
        """The best action and its score: (node, label, score)."""
        work = self.parts.work
        node = int(champion(work.scores))
        return node, int(work.best[node]), float(work.scores.values[node])

    def scores(self, node: int) -> FloatArray:
        """The scores of every label of an unlabeled node `[L]`; −inf where not allowed."""
        self._require_unlabeled(node)
        return np.asarray(self._scores_of(np.array([node], np.int64))[0])

    def all_scores(self) -> FloatArray:
        """The scores of every action `[N, L]`; −inf where labeled or not allowed."""
        return self._scores_of(np.arange(self.instance.crf.n_nodes))

    def _scores_of(self, nodes: IntArray) -> FloatArray:
        out = np.empty((len(nodes), self.instance.crf.n_labels))
        scores_of(*self.parts, nodes, out)
        raise_if_failed()
        return out

    def step(self, node: int, label: int) -> None:
        """Label a node."""
        self._require_unlabeled(node)
        if not 0 <= label < self.instance.crf.cardinalities[node]:
            raise InvalidLabeling(f"node {node} has no label {label}")
        action = np.array([node], np.int64), np.array([label], np.int64), np.zeros(1)
        episode.advance(*self.parts, *action, 0, 1, True)
        raise_if_failed()

    def undo(self) -> int:
        """Take the last step back, to the last bit; returns its node."""
        if not self.parts.work.journal.used[0]:
            raise InvalidLabeling("there is no step to undo; steps are kept if `journal` is set")
        node = step.undo(*self.parts)
        raise_if_failed()
        return int(node)

    def greedy(
        self, order: IntArray, labels: IntArray, scores: FloatArray, start: int, stop: int
    ) -> None:
        """Steps `start` … `stop` − 1 of the greedy policy, noted in the arrays."""
        episode.advance(*self.parts, order, labels, scores, start, stop, False)
        raise_if_failed()

    def label_all(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Label what is left greedily: (labels `[N]`, order, scores of the steps)."""
        count = self.remaining
        order, labels, scores = (
            np.empty(count, np.int64),
            np.empty(count, np.int64),
            np.empty(count),
        )
        for start in range(0, count, SLICE):
            self.greedy(order, labels, scores, start, min(start + SLICE, count))
        return self.labels, order, scores

    def _require_unlabeled(self, node: int) -> None:
        if not 0 <= node < self.instance.crf.n_nodes:
            raise InvalidLabeling(f"node {node} is outside 0 … {self.instance.crf.n_nodes - 1}")
        if self.parts.state.labels[node] >= 0:
            raise InvalidLabeling(f"node {node} is labeled already")


def nbytes_of(value: Any) -> int:
    """Bytes of the arrays in nested tuples."""
    if isinstance(value, tuple):
        return sum(nbytes_of(part) for part in value)
    return int(getattr(value, "nbytes", 0))


def label_many(
    policy: Policy, instances: Iterable[Instance], *, threads: int = 1
) -> list[tuple[IntArray, IntArray, FloatArray]]:
    """`Engine(policy, instance).label_all()` for every instance, several at a time."""

    def one(instance: Instance) -> tuple[IntArray, IntArray, FloatArray]:
        return Engine(policy, instance, track=False).label_all()

    if threads <= 1:
        return [one(instance) for instance in instances]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, instances))
