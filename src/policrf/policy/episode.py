"""Steps of an engine in one kernel: greedy labeling (the paper's Algorithm 1), or steps given."""

from __future__ import annotations

from policrf.compiled import leaf
from policrf.crf.arrays import Arrays
from policrf.crf.state import State
from policrf.mdp.completion import Completion
from policrf.mdp.graph import Graph
from policrf.mdp.tournament import champion
from policrf.policy.net import Net
from policrf.policy.step import step
from policrf.policy.work import Work
from policrf.types import FloatArray, IntArray


@leaf
def advance(
    n: Net, g: Graph, a: Arrays, s: State, z: Completion, w: Work,
    order: IntArray, labels: IntArray, scores: FloatArray, start: int, stop: int, forced: bool,
) -> None:  # fmt: skip
    """Steps `start` … `stop` − 1: the policy's best, noted in the arrays, or those noted there."""
    for t in range(start, stop):
        if not forced:
            order[t] = champion(w.scores)
            labels[t] = w.best[order[t]]
            scores[t] = w.scores.values[order[t]]
        step(n, g, a, s, z, w, order[t], labels[t])
