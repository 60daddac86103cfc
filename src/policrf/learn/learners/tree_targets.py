"""What the network is moved towards at the states of self-play: a distribution over actions.

`visits`      π_MCTS as it is, N(a|s) / Σ N(a|s) (the paper); with Gumbel selection the tree's own
              improved policy.
`improved`    softmax(score + σ(q − v)) with completed values (after Danihelka et al. 2022): q is an
              action's mean value in the tree; of one that no simulation took, what is known of it
              without: its own reward, and the mean value v under π_MCTS for the steps after it. So
              every label of every node in the softmax has a say, not only those that were taken.
              The scores are the network's as it stands, not as it was when it played.
`hindsight`   which node: by the visits; which label: the one it has in the lowest-energy labeling
              found so far of the instance (`targets.BestKnown`).

The softmax runs over all labels of the nodes that the tree has at its root and of `others` random
unlabeled nodes: a gradient step does not depend on N.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from policrf.compiled import leaf
from policrf.crf.arrays import Arrays
from policrf.crf.changes import load_labels
from policrf.crf.state import State, new_state
from policrf.learn.experience.corpus import Corpus
from policrf.learn.experience.replay import Steps
from policrf.learn.experience.self_play import rewards_at
from policrf.learn.learners.forward import CostView
from policrf.learn.learners.targets import BestKnown
from policrf.mdp.completion import Completion, complete, new_completion
from policrf.mdp.rewards import RewardCall
from policrf.mdp.state import default_labels
from policrf.mdp.step_rewards import new_label_values
from policrf.policy.conditional import completion_of, label_inputs, margins, relative_costs
from policrf.policy.kinds import INPUTS
from policrf.policy.network import COSTS, Spec
from policrf.types import FloatArray, IntArray


class Decisions(NamedTuple):
    """What the memory keeps of T decisions of self-play, with S slots at their roots."""

    policy: NDArray[np.float32]  # [T, S]; π_MCTS
    values: NDArray[np.float32]  # [T, S]; mean value of an action; NaN if it was never taken
    depths: NDArray[np.float32]  # [T]; steps that a simulation could take


def blank_decisions(slots: int) -> Decisions:
    """A decision of zeros, for the shapes."""
    none = np.zeros((1, slots), np.float32)
    return Decisions(none, none, np.zeros(1, np.float32))


class Rows(NamedTuple):
    """R nodes of B samples, those of a sample one after the other; A actions of the trees."""

    sample: IntArray  # [R]
    node: IntArray  # [R]
    place: IntArray  # [R]; among the rows of its sample
    allowed: NDArray[np.bool_]  # [R, L]
    first: IntArray  # [B + 1]; the rows of a sample
    action_sample: IntArray  # [A]
    action_row: IntArray  # [A]
    action_label: IntArray  # [A]
    policy: NDArray[np.float32]  # [A]; π_MCTS
    value: NDArray[np.float32]  # [A]; mean value; NaN if never taken
    most: int  # rows of a sample


def rows_of(
    corpus: Corpus, steps: Steps[Decisions], others: int, generator: np.random.Generator
) -> Rows:
    """The nodes whose labels the softmax of each sample runs over, in order of their number."""
    n_samples = len(steps.nodes)
    nodes_of = []
    for b, which in enumerate(steps.instances):
        n_nodes = corpus.instances[which].crf.n_nodes
        unlabeled = np.flatnonzero(steps.states[b, :n_nodes] < 0)
        if others < len(unlabeled):
            wanted = np.zeros(n_nodes, np.bool_)
            actions = steps.actions[b, :, 0]
            wanted[actions[actions >= 0]] = True
            wanted[unlabeled[generator.integers(len(unlabeled), size=others)]] = True
            unlabeled = np.flatnonzero(wanted)
        nodes_of.append(unlabeled)
    counts = np.array([len(nodes) for nodes in nodes_of], np.int64)
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    sample = np.repeat(np.arange(n_samples), counts)
    node = np.concatenate(nodes_of).astype(np.int64)
    place = np.arange(len(node)) - first[sample]
    allowed = np.concatenate(
        [
            np.isfinite(corpus.instances[which].crf.unary[nodes])
            for which, nodes in zip(steps.instances, nodes_of, strict=True)
        ]
    )
    real = steps.actions[:, :, 0] >= 0
    action_sample, _ = np.nonzero(real)
    at = np.zeros((n_samples, corpus.largest), np.int64)
    at[sample, node] = np.arange(len(node))
    return Rows(
        sample=sample,
        node=node,
        place=place,
        allowed=allowed,
        first=first,
        action_sample=action_sample,
        action_row=at[action_sample, steps.actions[:, :, 0][real]],
        action_label=steps.actions[:, :, 1][real].astype(np.int64),
        policy=steps.kept.policy[real],
        value=steps.kept.values[real],
        most=int(counts.max()),
    )


def visit_targets(rows: Rows, n_labels: int) -> NDArray[np.float32]:
    """π_MCTS at the rows `[R, L]`."""
    out = np.zeros((len(rows.node), n_labels), np.float32)
    out[rows.action_row, rows.action_label] = rows.policy
    return out


def hindsight_targets(rows: Rows, steps: Steps[Decisions], best: BestKnown) -> NDArray[np.float32]:
    """The visits of a node, all at the label that the best known labeling gives it `[R, L]`."""
    visits = visit_targets(rows, best.corpus.n_labels).sum(axis=1)
    out = np.zeros((len(rows.node), best.corpus.n_labels), np.float32)
    labels = best.of(steps.instances[rows.sample], rows.node)
    out[np.arange(len(labels)), labels] = visits
    return out


def advantages(
    corpus: Corpus, rows: Rows, steps: Steps[Decisions], reward: RewardCall, rollout: bool
) -> NDArray[np.float32]:
    """q − v of every label at the rows `[R, L]`; the values of a state span 1.

    The scale: from −1 to 1 for bounded rewards, else what the tree saw. Clipped to [−1, 1].
    """
    n_labels, depth = corpus.n_labels, steps.kept.depths
    value = np.nan_to_num(rows.value)
    weight = np.where(np.isnan(rows.value), 0.0, rows.policy)
    n_samples = len(steps.nodes)
    total = np.bincount(rows.action_sample, weight, n_samples)
    mean = np.bincount(rows.action_sample, weight * value, n_samples) / np.maximum(total, 1e-9)
    q = np.repeat(mean[rows.sample, None], n_labels, axis=1)
    if not rollout:
        own = known_rewards(corpus, rows, steps, reward)
        q += (own - q) / depth[rows.sample, None]
    taken = ~np.isnan(rows.value)
    q[rows.action_row[taken], rows.action_label[taken]] = value[taken]
    width = np.full(n_samples, 2.0)
    if not reward.bounded or rollout:
        low, high = np.full(n_samples, np.inf), np.full(n_samples, -np.inf)
        np.minimum.at(low, rows.action_sample[taken], value[taken])
        np.maximum.at(high, rows.action_sample[taken], value[taken])
        width = np.maximum(high - low, 1e-6)
    scaled = (q - mean[rows.sample, None]) / width[rows.sample, None]
    return np.asarray(np.clip(scaled, -1.0, 1.0), np.float32)


def known_rewards(
    corpus: Corpus, rows: Rows, steps: Steps[Decisions], reward: RewardCall
) -> NDArray[np.float32]:
    """The reward of every label at the rows `[R, L]`."""
    out = np.zeros((len(rows.node), corpus.n_labels), np.float32)
    for b, which in enumerate(steps.instances):
        crf = corpus.instances[which].crf
        part = slice(rows.first[b], rows.first[b + 1])
        rewards_at(
            crf.arrays, new_state(crf.arrays), new_completion(crf.arrays, default_labels(crf)),
            steps.states[b, : crf.n_nodes].astype(np.int64), rows.node[part], reward,
            new_label_values(crf.n_labels), out[part],
        )  # fmt: skip
    return out


def side_by_side(rows: Rows, values: torch.Tensor, n_samples: int, empty: float) -> torch.Tensor:
    """Rows `[R, L]` as `[B, most · L]`, `empty` where a sample has fewer."""
    table = values.new_full((n_samples, rows.most, values.shape[1]), empty)
    place = torch.from_numpy(rows.sample), torch.from_numpy(rows.place)
    return table.index_put(place, values).flatten(1)


def view_of(
    corpus: Corpus,
    spec: Spec,
    rows: Rows,
    steps: Steps[Decisions],
    completions: dict[int, Completion],
) -> CostView:
    """What the residual kind sees at the rows, computed from the states.

    `completions` keeps those of the instances met before: beliefs take a while to compute.
    """
    n_labels = corpus.n_labels
    margin = np.zeros((len(rows.node), n_labels))
    inputs = np.zeros((len(rows.node), n_labels, len(INPUTS)), np.float32)
    for b, which in enumerate(steps.instances):
        crf = corpus.instances[which].crf
        if int(which) not in completions:
            completions[int(which)] = completion_of(spec, crf, default_labels(crf))
        look_at(
            crf.arrays, COSTS.index(spec.costs), new_state(crf.arrays), completions[int(which)],
            steps.states[b, : crf.n_nodes].astype(np.int64), rows.node, rows.first[b],
            rows.first[b + 1], np.zeros(n_labels), margin, inputs,
        )  # fmt: skip
    return CostView(margin.astype(np.float32), inputs)


@leaf
def look_at(
    a: Arrays, mode: int, s: State, z: Completion, labels: IntArray, nodes: IntArray, start: int,
    stop: int, costs: FloatArray, margin: FloatArray, inputs: NDArray[np.float32],
) -> None:  # fmt: skip
    """Margins and inputs of nodes[start : stop] in the state `labels`, into the same rows."""
    load_labels(a, s, labels)
    complete(a, z, labels)
    for k in range(start, stop):
        relative_costs(a, mode, s, z, nodes[k], costs)
        margins(costs, margin[k])
        label_inputs(a, s, z, nodes[k], margin[k], inputs[k])
