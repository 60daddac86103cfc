"""Learning from tree search (section "Learning Policy Parameters", appendix B2).

Self-play: before every decision of an episode n_sim simulations of depth d_sim, an action drawn
from π_MCTS, and (s_t, π_MCTS) into the structured replay memory. The network is moved towards it:

    L(θ) = − Σ_s Σ_a π(a|s) log π_θ(a|s)          π = π_MCTS in the paper

Where we differ from the paper: π is by default the policy that the tree's values and the known
rewards improve (`tree_targets.py`), and the root shares out simulations by Gumbel noise; the
paper's form is `train(…, "mcts", target="visits", root="puct", simulations=50, repeats=10)`. The
sum in π_θ's softmax runs over all labels of the nodes that the tree has at its root and of `others`
random unlabeled nodes, not over all N · L actions, so that a gradient step does not depend on N
(`others` ≥ N: all of them); rounds play and learn at the same time, as in `dqn.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from policrf.learn.experience.corpus import Corpus
from policrf.learn.experience.players import GamePlayer, Order
from policrf.learn.experience.replay import Replay, Steps, states_before
from policrf.learn.experience.self_play import Game
from policrf.learn.learners.forward import scores
from policrf.learn.learners.learner import PlayingLearner
from policrf.learn.learners.targets import BestKnown
from policrf.learn.learners.tree_targets import (
    Decisions,
    Rows,
    advantages,
    blank_decisions,
    hindsight_targets,
    rows_of,
    side_by_side,
    view_of,
    visit_targets,
)
from policrf.learn.options import MCTS
from policrf.mdp.completion import Completion
from policrf.mdp.rewards import load_reward
from policrf.policy.network import Spec
from policrf.policy.policy import Policy


class MCTSLearner(PlayingLearner[Game]):
    """Weights, memory and optimizer; `round()` plays and learns. What `loop.py` drives."""

    def __init__(
        self, config: MCTS, spec: Spec, corpus: Corpus, seed: int = 0, start: Policy | None = None
    ) -> None:
        super().__init__(
            spec, corpus, seed, 3, start=start, steps=config.optimizer, memory=config.memory,
            staleness=config.play.staleness,
        )  # fmt: skip
        self.config, self.options = config, config.search_options()
        self.slots = self.options.slots_for(corpus.largest * corpus.n_labels)
        self.replay: Replay[Decisions] = Replay(
            config.memory.capacity, corpus.n_labels, corpus.largest,
            blank=blank_decisions(self.slots), n_actions=self.slots,
        )  # fmt: skip
        self.best = BestKnown(corpus) if config.target == "hindsight" else None
        self.completions: dict[int, Completion] = {}
        self.player = GamePlayer(corpus.instances, self.options, self.slots, self.best is not None)

    def orders(self) -> list[Order]:
        """The episodes of a round."""
        how = self.config.play
        return [Order(*self.next_episode(how.repeats)) for _ in range(how.episodes)]

    def remember(self, played: Sequence[Game]) -> None:
        """Put episodes into the memory."""
        earned = []
        for game in played:
            count = len(game.nodes)
            self.transitions += count
            keep = self.drawn(count)
            better = self.beats_unary(game.instance, game.nodes, game.labels, game.rewards)
            steps = Steps(
                instances=np.full(len(keep), game.instance, np.int64),
                nodes=game.nodes[keep],
                labels=game.labels[keep],
                states=states_before(game.nodes, game.labels, keep, count),
                actions=game.actions[keep],
                kept=Decisions(game.policy[keep], game.values[keep], game.depths[keep]),
            )
            self.replay.add(steps, better[keep])
            earned.append(game.rewards[np.arange(count), game.labels].mean())
            if self.best is not None and game.refined is not None:
                self.best.offer(game.instance, game.refined, game.refined_energy)
        self.recent["reward"] = float(np.mean(earned))
        self.recent["episode_energy"] = float(np.mean([game.energy for game in played]))

    def loss(self) -> torch.Tensor:
        """The cross-entropy of a batch."""
        memory, batch = self.memory, self.steps.batch
        steps = self.replay.sample(batch, self.generator, memory.share, memory.balance)
        rows = rows_of(self.corpus, steps, self.config.targets.others, self.generator)
        around = self.corpus.neighbourhoods(
            steps.instances[rows.sample], rows.node, steps.states[rows.sample], self.spec.layers
        )
        view = None
        if self.spec.sees_costs:
            view = view_of(self.corpus, self.spec, rows, steps, self.completions)
        scored = scores(self.spec, self.theta, self.features, around, view)
        scored = scored / self.config.search.temperature
        scored = scored.masked_fill(~torch.from_numpy(rows.allowed), float("-inf"))
        log_policy = torch.log_softmax(side_by_side(rows, scored, batch, float("-inf")), dim=1)
        target = self._target(rows, steps, log_policy.detach())
        wanted = target > 0
        return -(target[wanted] * log_policy[wanted]).sum() / batch

    def _target(
        self, rows: Rows, steps: Steps[Decisions], log_policy: torch.Tensor
    ) -> torch.Tensor:
        """The distribution that each sample's policy is moved towards, `[B, most · L]`."""
        config, batch = self.config, self.steps.batch
        if config.target == "improved":
            better = advantages(
                self.corpus, rows, steps, load_reward(config.reward),
                config.search.leaf == "rollout",
            )  # fmt: skip
            gain = side_by_side(rows, torch.from_numpy(better), batch, 0.0)
            return torch.softmax(log_policy + config.targets.value_scale * gain, dim=1)
        if self.best is not None:
            wanted = hindsight_targets(rows, steps, self.best)
        else:
            wanted = visit_targets(rows, self.corpus.n_labels)
        return side_by_side(rows, torch.from_numpy(wanted), batch, 0.0)
