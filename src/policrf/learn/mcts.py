"""Learning from tree search (section "Learning Policy Parameters", appendix B2).

Self-play: before every decision of an episode n_sim simulations of depth d_sim, an action drawn
from π_MCTS, and (s_t, π_MCTS) into the structured replay memory. The network is moved towards it:

    L(θ) = − Σ_s Σ_a π(a|s) log π_θ(a|s)          π = π_MCTS in the paper

Where we differ from the paper: π is by default the policy that the tree's values and the known
rewards improve (`tree_targets.py`), and the root shares out simulations by Gumbel noise; the
paper's form is MCTS(target="visits", root="puct", simulations=50, repeats=10). The sum in π_θ's
softmax runs over all labels of the nodes that the tree has at its root and of `others` random
unlabeled nodes, not over all N · L actions, so that a gradient step does not depend on N
(`others` ≥ N: all of them); rounds play and learn at the same time, as in `dqn.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from policrf.crf.instance import Instance
from policrf.errors import InvalidOption
from policrf.learn.corpus import Corpus
from policrf.learn.forward import parameters, scores, weights_of
from policrf.learn.loop import Report, Schedule
from policrf.learn.replay import Replay, Steps, states_before
from policrf.learn.self_play import Game, play_game
from policrf.learn.targets import BestKnown
from policrf.learn.tree_targets import (
    TARGETS,
    Rows,
    advantages,
    hindsight_targets,
    kept_values,
    rows_of,
    side_by_side,
    view_of,
    visit_targets,
)
from policrf.mdp.completion import Completion
from policrf.mdp.rewards import load_reward
from policrf.policy.network import Spec
from policrf.policy.policy import Policy
from policrf.search.search import SearchOptions


@dataclass(frozen=True)
class MCTS:
    """How to learn by search; the defaults are what worked best (docs/tree_search.md)."""

    reward: str = "sign"
    """"sign" (the paper's R2), "difference" (R1) or "shaped"."""
    target: str = "improved"
    """"visits" (the paper), "improved" or "hindsight"; see `tree_targets.py`."""
    value_scale: float = 40.0
    """What the span of a state's values counts in "improved", in units of log-probability."""
    simulations: int = 20
    """n_sim, simulations a decision; the paper's are 50."""
    depth: int = 4
    """d_sim, actions a simulation takes at most."""
    leaf: str = "rewards"
    """What a simulation is worth: "rewards" (the paper) or "rollout"."""
    root: str = "gumbel"
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
    repeats: int = 1
    """Episodes a graph, one after the other; the paper's are 10."""
    episodes: int = 16
    """Episodes a round."""
    updates: int = 32
    """Gradient steps a round."""
    batch: int = 32
    """States in a gradient step."""
    others: int = 16
    """Random unlabeled nodes whose labels stand beside the tree's actions in the softmax."""
    learning_rate: float = 3e-3
    learning_rate_final: float = 1e-4
    """After `decay_rounds` rounds, reached along a cosine."""
    decay_rounds: int = 100
    capacity: int = 20_000
    """States in the replay memory."""
    keep: int = 256
    """At most so many states of an episode go into the memory, drawn at random."""
    share: float = 0.5
    """Part of a batch that comes from the second chunk: labels better than the unary's."""
    balance: float = 1.0
    """1: all classes equally often in a batch, the paper's way; 0: as often as they are played."""
    actors: int = 2
    """Threads that play."""
    ties: bool = False
    """Whether `sign` rewards a label that shares the lowest energy."""

    def __post_init__(self) -> None:
        self.options()
        if self.target not in TARGETS:
            raise InvalidOption(
                f"target is {self.target!r}; it must be one of {', '.join(TARGETS)}"
            )
        for name in ("repeats", "episodes", "updates", "batch", "keep", "actors", "candidates"):
            if getattr(self, name) < 1:
                raise InvalidOption(f"{name} is {getattr(self, name)}; it must be at least 1")

    def options(self) -> SearchOptions:
        """The search of self-play."""
        return SearchOptions(
            self.simulations, self.depth, self.reward, self.leaf, self.root, self.candidates,
            self.encourage, self.exploration, self.temperature, gumbel_scale=1.0, lowest=-1.0,
            borrow=0, stop_early=False, ties=self.ties,
        )  # fmt: skip


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
            n_values=2 * self.slots + 1, n_following=self.slots,
        )  # fmt: skip
        self.best = BestKnown(corpus) if config.target == "hindsight" else None
        self.order = self.generator.permutation(len(corpus))
        self.completions: dict[int, Completion] = {}
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

    def _play(self, pool: ThreadPoolExecutor) -> list[Future[Game]]:
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

    def _episode(self, policy: Policy, which: int, seed: int) -> Game:
        return play_game(
            policy, self.corpus.instances[which], self.config.options(), which=which, seed=seed,
            refine=self.best is not None,
        )  # fmt: skip

    def _remember(self, played: Sequence[Game]) -> None:
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
                states, kept_values(game, keep), game.actions[keep],
            )  # fmt: skip
            self.replay.add(steps, better[keep])
            earned.append(taken.mean())
            if self.best is not None and game.refined is not None:
                self.best.offer(game.instance, game.refined, game.refined_energy)
        self.recent["reward"] = float(np.mean(earned))
        self.recent["episode_energy"] = float(np.mean([game.energy for game in played]))

    def _update(self) -> float:
        config = self.config
        steps = self.replay.sample(config.batch, self.generator, config.share, config.balance)
        rows = rows_of(self.corpus, steps, config.others, self.generator)
        around = self.corpus.neighbourhoods(
            steps.instances[rows.sample], rows.node, steps.states[rows.sample], self.spec.rounds
        )
        view = None
        if self.spec.kind == "residual":
            view = view_of(self.corpus, self.spec, rows, steps, self.completions)
        scored = scores(self.spec, self.theta, self.features, around, view) / config.temperature
        scored = scored.masked_fill(~torch.from_numpy(rows.allowed), float("-inf"))
        log_policy = torch.log_softmax(
            side_by_side(rows, scored, config.batch, float("-inf")), dim=1
        )
        target = self._target(rows, steps, log_policy.detach())
        wanted = target > 0
        loss = -(target[wanted] * log_policy[wanted]).sum() / config.batch
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.updates += 1
        return float(loss.detach())

    def _target(self, rows: Rows, steps: Steps, log_policy: torch.Tensor) -> torch.Tensor:
        """The distribution that each sample's policy is moved towards, `[B, most · L]`."""
        config, n_labels = self.config, self.corpus.n_labels
        if config.target == "improved":
            better = advantages(
                self.corpus, rows, steps, load_reward(config.reward, ties=config.ties),
                config.leaf == "rollout",
            )  # fmt: skip
            gain = side_by_side(rows, torch.from_numpy(better), config.batch, 0.0)
            return torch.softmax(log_policy + config.value_scale * gain, dim=1)
        if self.best is not None:
            wanted = hindsight_targets(rows, steps, self.best)
        else:
            wanted = visit_targets(rows, n_labels)
        return side_by_side(rows, torch.from_numpy(wanted), config.batch, 0.0)

    def state(self) -> dict[str, Any]:
        """Everything that another process needs to go on as if nothing had happened."""
        return {
            "theta": weights_of(self.theta),
            "optimizer": self.optimizer.state_dict(),
            "replay": self.replay.state(),
            "generator": self.generator.bit_generator.state,
            "order": self.order,
            "best": {}
            if self.best is None
            else {"energies": self.best.energies, "labels": self.best.labels},
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
        if self.best is not None:
            self.best.energies[:] = state["best"]["energies"]
            self.best.labels[:] = state["best"]["labels"]
        self.rounds, self.episodes, self.transitions, self.updates = state["counters"]


def _started_from(path: str) -> Policy:
    from policrf.policy.checkpoint import load_policy

    return load_policy(path)


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
