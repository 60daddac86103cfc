"""Learning from tree search (section "Learning Policy Parameters", appendix B2).

Self-play: before every decision of an episode n_sim simulations of depth d_sim, an action drawn
from π_MCTS, and (s_t, π_MCTS) into the structured replay memory. The network is moved towards it:

    L(θ) = − Σ_s Σ_a π_MCTS(a|s) log π_θ(a|s)

Where we differ from the paper: the sum in π_θ's softmax runs over all labels of the nodes that the
tree has at its root and of `others` random unlabeled nodes, not over all N · L actions, so that a
gradient step does not depend on N (`others` ≥ N: all of them); rounds play and learn at the same
time, as in `dqn.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from policrf.compiled import leaf
from policrf.crf.arrays import Arrays
from policrf.crf.checks import FloatArray, IntArray
from policrf.crf.energy import State, assign, load_labels, new_state
from policrf.crf.instance import Instance
from policrf.errors import InvalidOption
from policrf.learn.acting import reward_labels
from policrf.learn.corpus import Corpus
from policrf.learn.forward import View, parameters, scores, weights_of
from policrf.learn.loop import Report, Schedule
from policrf.learn.replay import Replay, Steps, states_before
from policrf.mdp.completion import Completion, complete, new_completion, set_completed
from policrf.mdp.rewards import reward_column
from policrf.mdp.state import default_labels
from policrf.policy.conditional import label_inputs, margins, relative_costs
from policrf.policy.policy import Policy
from policrf.policy.spec import COSTS, INPUTS, Spec
from policrf.search.search import SearchOptions, TreeSearch


@dataclass(frozen=True)
class MCTS:
    """How to learn by search; simulations, depth and episodes a graph are the paper's."""

    reward: str = "sign"
    """"sign" (the paper's R2), "difference" (R1) or "shaped"."""
    simulations: int = 50
    """n_sim, simulations a decision."""
    depth: int = 4
    """d_sim, actions a simulation takes at most."""
    leaf: str = "rewards"
    """What a simulation is worth: "rewards" (the paper) or "rollout"."""
    root: str = "puct"
    """How the root shares out simulations: "puct" (the paper) or "gumbel"."""
    candidates: int = 6
    """Actions of the highest prior that a state has in the tree."""
    encourage: bool = True
    """Whether selection adds M1, M2 or M3 (the paper)."""
    exploration: float = 1.0
    """c in PUCB."""
    temperature: float = 1.0
    """π_θ is a softmax of score / temperature."""
    start: str = ""
    """A policy file to start from, such as one learned by Q-learning; none if empty."""
    repeats: int = 10
    """Episodes a graph, one after the other."""
    episodes: int = 4
    """Episodes a round."""
    updates: int = 32
    """Gradient steps a round."""
    batch: int = 32
    """States in a gradient step."""
    others: int = 16
    """Random unlabeled nodes whose labels stand beside the tree's actions in the softmax."""
    learning_rate: float = 1e-3
    learning_rate_final: float = 1e-4
    """After `decay_rounds` rounds, reached along a cosine."""
    decay_rounds: int = 500
    capacity: int = 20_000
    """States in the replay memory."""
    keep: int = 256
    """At most so many states of an episode go into the memory, drawn at random."""
    actors: int = 2
    """Threads that play."""
    ties: bool = False
    """Whether `sign` rewards a label that shares the lowest energy."""

    def __post_init__(self) -> None:
        self.options()
        for name in ("repeats", "episodes", "updates", "batch", "keep", "actors", "candidates"):
            if getattr(self, name) < 1:
                raise InvalidOption(f"{name} is {getattr(self, name)}; it must be at least 1")

    def options(self) -> SearchOptions:
        """The search of self-play."""
        return SearchOptions(
            self.simulations, self.depth, self.reward, self.leaf, self.root, self.candidates,
            self.encourage, self.exploration, self.temperature, gumbel_scale=1.0, stop_early=False,
            ties=self.ties,
        )  # fmt: skip


class Played(NamedTuple):
    """One episode of self-play: T decisions, S slots."""

    instance: int
    nodes: IntArray  # [T]
    labels: IntArray  # [T]
    actions: NDArray[np.int32]  # [T, S, 2]; the root's actions, −1 = none
    policy: NDArray[np.float32]  # [T, S]; π_MCTS
    rewards: NDArray[np.float32]  # [T, L]; of every label of the decided node
    energy: float


class MCTSLearner:
    """Weights, memory and optimizer; `round()` plays and learns. What `loop.py` drives."""

    def __init__(self, config: MCTS, spec: Spec, corpus: Corpus, seed: int = 0) -> None:
        self.config, self.spec, self.corpus, self.seed = config, spec, corpus, seed
        weights = spec.initial_weights(seed)
        if config.start:
            weights = spec.checked(_started_from(config.start).weights)
        self.theta = parameters(weights)
        self.optimizer = torch.optim.Adam(self.theta.values(), lr=config.learning_rate)
        self.features = torch.from_numpy(corpus.features)
        self.generator = np.random.default_rng([seed, 3])
        self.slots = config.options().slots
        self.replay = Replay(
            config.capacity, corpus.n_labels, corpus.largest,
            n_values=self.slots, n_following=self.slots,
        )  # fmt: skip
        self.order = self.generator.permutation(len(corpus))
        self.rounds = self.episodes = self.transitions = self.updates = 0
        self.recent: dict[str, float] = {}

    def policy(self) -> Policy:
        """The policy as it stands."""
        return Policy(self.spec, weights_of(self.theta))

    def begin(self, pool: ThreadPoolExecutor) -> None:
        """Fill the memory with a first round of episodes."""
        self._remember([future.result() for future in self._play(pool)])

    def round(self, pool: ThreadPoolExecutor) -> None:
        """Play the next episodes and learn from the earlier ones meanwhile."""
        self.rounds += 1
        futures = self._play(pool)
        share = min(1.0, self.rounds / max(1, self.config.decay_rounds))
        low, high = self.config.learning_rate_final, self.config.learning_rate
        self.optimizer.param_groups[0]["lr"] = low + (high - low) * (1 + np.cos(np.pi * share)) / 2
        self.recent["loss"] = float(np.mean([self._update() for _ in range(self.config.updates)]))
        self._remember([future.result() for future in futures])

    def _play(self, pool: ThreadPoolExecutor) -> list[Future[Played]]:
        policy, repeats = self.policy(), self.config.repeats
        futures = []
        for _ in range(self.config.episodes):
            if self.episodes % (repeats * len(self.corpus)) == 0:
                self.order = self.generator.permutation(len(self.corpus))
            instance = int(self.order[self.episodes // repeats % len(self.corpus)])
            seed = (self.seed << 32) + self.episodes
            futures.append(pool.submit(self._episode, policy, instance, seed))
            self.episodes += 1
        return futures

    def _episode(self, policy: Policy, which: int, seed: int) -> Played:
        instance = self.corpus.instances[which]
        search = TreeSearch(policy, instance, self.config.options(), seed=seed)
        count, slots = search.remaining, self.slots
        actions = np.full((count, slots, 2), -1, np.int32)
        targets = np.zeros((count, slots), np.float32)
        for t in range(count):
            search.simulate()
            found, probability = search.tree_policy()
            actions[t, : len(found)], targets[t, : len(found)] = found, probability
            search.commit(draw=True)
        rewards = np.zeros((count, self.corpus.n_labels), np.float32)
        crf = instance.crf
        rewards_along(
            crf.arrays, new_state(crf.arrays), new_completion(crf.arrays, default_labels(crf)),
            search.order, search.labels, reward_column(self.config.reward), self.config.ties,
            np.zeros(crf.n_labels), rewards,
        )  # fmt: skip
        energy = crf.energy(search.engine.labels)
        return Played(which, search.order, search.labels, actions, targets, rewards, energy)

    def _remember(self, played: Sequence[Played]) -> None:
        earned = []
        for game in played:
            count = len(game.nodes)
            self.transitions += count
            keep = np.arange(count)
            if count > self.config.keep:
                keep = np.sort(self.generator.choice(count, self.config.keep, replace=False))
            taken = game.rewards[np.arange(count), game.labels]
            crf = self.corpus.instances[game.instance].crf
            unary = np.argmin(crf.unary, axis=1)[game.nodes]
            better = taken > game.rewards[np.arange(count), unary]
            states = states_before(game.nodes, game.labels, keep, crf.n_nodes)
            steps = Steps(
                np.full(len(keep), game.instance, np.int64), game.nodes[keep], game.labels[keep],
                states, game.policy[keep], game.actions[keep],
            )  # fmt: skip
            self.replay.add(steps, better[keep])
            earned.append(taken.mean())
        self.recent["reward"] = float(np.mean(earned))
        self.recent["episode_energy"] = float(np.mean([game.energy for game in played]))

    def _update(self) -> float:
        steps = self.replay.sample(self.config.batch, self.generator)
        rows = self._rows(steps)
        around = self.corpus.neighbourhoods(
            steps.instances[rows.sample], rows.node, steps.states[rows.sample], self.spec.rounds
        )
        view = self._view(steps, rows) if self.spec.kind == "residual" else None
        scored = scores(self.spec, self.theta, self.features, around, view)
        scored = scored.masked_fill(~torch.from_numpy(rows.allowed), float("-inf"))
        # A sample's rows side by side: [B, rows · L].
        table = scored.new_full((len(steps.nodes), rows.most, scored.shape[1]), float("-inf"))
        place = torch.from_numpy(rows.sample), torch.from_numpy(rows.place)
        table = table.index_put(place, scored / self.config.temperature)
        log_policy = torch.log_softmax(table.flatten(1), dim=1)
        at = torch.from_numpy(rows.target_at)
        target = torch.from_numpy(rows.target)
        loss = -(target * log_policy[at[:, 0], at[:, 1]]).sum() / len(steps.nodes)
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.updates += 1
        return float(loss.detach())

    def _rows(self, steps: Steps) -> _Rows:
        """The nodes whose labels the softmax of each sample runs over, the tree's first."""
        sample, node, place, allowed, at, target = [], [], [], [], [], []
        n_labels = self.corpus.n_labels
        for b, which in enumerate(steps.instances):
            crf = self.corpus.instances[which].crf
            real = steps.actions[b, :, 0] >= 0
            actions, policy = steps.actions[b, real].astype(np.int64), steps.values[b, real]
            nodes = np.unique(actions[:, 0])
            unlabeled = np.flatnonzero(steps.states[b, : crf.n_nodes] < 0)
            if self.config.others < len(unlabeled):
                unlabeled = unlabeled[
                    self.generator.integers(len(unlabeled), size=self.config.others)
                ]
            nodes = np.unique(np.concatenate([nodes, unlabeled]))
            sample.append(np.full(len(nodes), b))
            node.append(nodes)
            place.append(np.arange(len(nodes)))
            allowed.append(np.isfinite(crf.unary[nodes]))
            wanted = policy > 0
            flat = np.searchsorted(nodes, actions[wanted, 0]) * n_labels + actions[wanted, 1]
            at.append(np.stack([np.full(len(flat), b), flat], axis=1))
            target.append(policy[wanted])
        return _Rows(
            np.concatenate(sample), np.concatenate(node), np.concatenate(place),
            np.concatenate(allowed), np.concatenate(at), np.concatenate(target),
            max(len(nodes) for nodes in node),
        )  # fmt: skip

    def _view(self, steps: Steps, rows: _Rows) -> View:
        """What the residual kind sees at the rows, computed anew from the states."""
        n_labels = self.corpus.n_labels
        margin = np.zeros((len(rows.node), n_labels))
        inputs = np.zeros((len(rows.node), n_labels, len(INPUTS)), np.float32)
        start = 0
        for b, which in enumerate(steps.instances):
            crf = self.corpus.instances[which].crf
            stop = start + int((rows.sample == b).sum())
            look_at(
                crf.arrays, COSTS.index(self.spec.costs), new_state(crf.arrays),
                new_completion(crf.arrays, default_labels(crf)),
                steps.states[b, : crf.n_nodes].astype(np.int64), rows.node, start, stop,
                np.zeros(n_labels), margin, inputs,
            )  # fmt: skip
            start = stop
        return View(margin.astype(np.float32), inputs)

    def state(self) -> dict[str, Any]:
        """Everything that another process needs to go on as if nothing had happened."""
        return {
            "theta": weights_of(self.theta),
            "optimizer": self.optimizer.state_dict(),
            "replay": self.replay.state(),
            "generator": self.generator.bit_generator.state,
            "order": self.order,
            "counters": [self.rounds, self.episodes, self.transitions, self.updates],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """What `state` gave."""
        with torch.no_grad():
            for name, tensor in self.theta.items():
                tensor.copy_(torch.from_numpy(state["theta"][name]))
        self.optimizer.load_state_dict(state["optimizer"])
        self.replay.restore(state["replay"])
        self.generator.bit_generator.state = state["generator"]
        self.order = state["order"]
        self.rounds, self.episodes, self.transitions, self.updates = state["counters"]


class _Rows(NamedTuple):
    sample: IntArray  # [R]
    node: IntArray  # [R]
    place: IntArray  # [R]; among the rows of its sample
    allowed: NDArray[np.bool_]  # [R, L]
    target_at: IntArray  # [A, 2]; sample, and place · L + label
    target: NDArray[np.float32]  # [A]; π_MCTS there
    most: int  # rows of a sample


def _started_from(path: str) -> Policy:
    from policrf.policy.checkpoint import load_policy

    return load_policy(path)


@leaf
def rewards_along(
    a: Arrays, s: State, z: Completion, nodes: IntArray, labels: IntArray, reward: int, ties: bool,
    costs: FloatArray, out: NDArray[np.float32],
) -> None:  # fmt: skip
    """The reward of every label of each decided node [T, L], in the state it was decided in."""
    for t in range(len(nodes)):
        reward_labels(a, s, z, nodes[t], reward, ties, costs, out, t)
        assign(a, s, nodes[t], labels[t])
        set_completed(a, z, nodes[t], labels[t])


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


def train_mcts(
    instances: Sequence[Instance], config: MCTS | None = None, *,
    kind: str = "paper", schedule: Schedule | None = None, network: dict[str, Any] | None = None,
    validation: Sequence[Instance] = (), out: str | Path | None = None, resume: bool = False,
    name: str = "mcts", seed: int = 0, report: Report | None = None,
    about: dict[str, Any] | None = None, **options: Any,
) -> Policy:  # fmt: skip
    """Learn a policy by self-play with search; parameters as in `train.train_dqn`."""
    from policrf.learn.train import _settings, _train

    plan, settings = _settings(config or MCTS(), schedule, options)
    return _train(
        instances, MCTSLearner, settings, plan, kind, network, validation, out, resume, name, seed,
        report, about, settings.actors,
    )  # fmt: skip
