"""TreeSearch: one policy on one instance, deciding by search, without torch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from policrf.crf.changes import load_labels
from policrf.crf.instance import Instance
from policrf.crf.state import new_state
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.errors import InvalidLabeling
from policrf.mdp.completion import complete, new_completion
from policrf.mdp.exploration import new_explorer, start_exploring
from policrf.mdp.rewards import load_reward
from policrf.mdp.step_rewards import new_label_values
from policrf.policy.engine import Engine
from policrf.policy.policy import Policy
from policrf.random_numbers import new_generator, uniform
from policrf.search import simulate
from policrf.search.options import GUMBEL_ROOT, LEAVES, ROLLOUT_LEAF, ROOTS
from policrf.search.options import OPTION_NAMES as OPTION_NAMES
from policrf.search.options import SearchOptions as SearchOptions
from policrf.search.select_action import halving_schedule
from policrf.search.tree import Tree, new_tree, start_tree
from policrf.search.walk import (
    BEST_ENERGY,
    BORROW,
    CANDIDATES,
    CERTAINTY,
    DEPTH,
    ENCOURAGED,
    ENGINE_STEPS,
    EXPANDED,
    EXPLORATION,
    FOLLOW,
    GUMBEL_SCALE,
    LEAF,
    LOWEST,
    ROOT,
    SCALED,
    SIMULATIONS,
    STOP_EARLY,
    TEMPERATURE,
    Walk,
)
from policrf.types import FloatArray, IntArray

ROWS_A_STEP = 64  # messages that a step overwrites, room for; what does not fit is recomputed
WORK_A_CALL = 4000  # engine steps in a kernel call, some 10 to 100 milliseconds


class TreeSearch:
    """Label an instance decision by decision, each after a search from the present state.

    Parameters
    ----------
    policy
        Its scores are the prior of the search.
    instance
        What is labeled.
    options
        How to search; the defaults of `SearchOptions` if not given.
    seed
        Of everything random.
    default
        Labels `[N]` that complete a partial labeling; the unary argmin if not given.
    """

    def __init__(
        self,
        policy: Policy,
        instance: Instance,
        options: SearchOptions | None = None,
        *,
        seed: int = 0,
        default: ArrayLike | None = None,
    ) -> None:
        self.options = options or SearchOptions()
        crf = instance.crf
        ahead = crf.n_nodes if self.options.leaf == "rollout" else self.options.depth
        self.engine = Engine(policy, instance, default=default, journal=ROWS_A_STEP * (ahead + 1))
        self.instance = instance
        self._search = _new_search(self.engine, self.options)
        self.reset(seed=seed)

    @property
    def tree(self) -> Tree:
        """The statistics, as they stand."""
        return self._search.tree

    def reset(self, labels: ArrayLike | None = None, *, seed: int = 0) -> None:
        """Start over without a tree.

        Parameters
        ----------
        labels
            A partial labeling `[N]` (−1 = unlabeled) to start from; none if not given.
        seed
            Of everything random.
        """
        self.engine.reset(labels)
        parts, q = self.engine.parts, self._search
        given = parts.state.labels
        load_labels(parts.arrays, q.state, given)
        complete(parts.arrays, q.completion, given)
        q.generator[:] = new_generator(seed)
        start_exploring(parts.graph, q.explorer, given, q.generator)
        start_tree(q.tree, 0)
        q.counters[:] = 0
        q.numbers[CERTAINTY] = np.exp(-q.explorer.entropy[given < 0]).sum()
        q.numbers[BEST_ENERGY] = np.inf
        self.order = np.zeros(int((given < 0).sum()), np.int64)
        self.labels = np.zeros(len(self.order), np.int64)
        self.done = 0

    @property
    def remaining(self) -> int:
        """How many nodes are unlabeled."""
        return len(self.order) - self.done

    def simulate(self, count: int | None = None) -> None:
        """Simulate `count` times from the present root, or as often as the options say."""
        goal = self.options.simulations if count is None else count
        if not self.remaining:
            raise InvalidLabeling("every node is labeled: there is nothing to search for")
        at_once = max(1, WORK_A_CALL // self._steps_a_simulation())
        for start in range(0, goal, at_once):
            self._run(min(at_once, goal - start), goal, simulate.NONE, 1)

    def tree_policy(self) -> tuple[IntArray, FloatArray]:
        """π_MCTS at the root: actions `[k, 2]` (node, label) and their probabilities `[k]`."""
        out = np.zeros(self.tree.taken.shape[1])
        count = simulate.tree_policy(self._search, out)
        return self.tree.action[0, :count].copy(), out[:count]

    def root_values(self) -> FloatArray:
        """The mean value of each action of the root `[k]`; NaN if it was never taken."""
        count = int(self.tree.n_actions[0])
        taken, total = self.tree.taken[0, :count], self.tree.total[0, :count]
        return np.where(taken > 0, total / np.maximum(taken, 1), np.nan)

    def commit(self, *, draw: bool = False) -> tuple[int, int]:
        """Take the best action, or one drawn from the tree policy; returns (node, label).

        Gumbel selection draws by its noise already.
        """
        edge = simulate.BEST
        if draw and self.options.root == "puct":
            _, policy = self.tree_policy()
            drawn = uniform(self._search.generator) * policy.sum()
            edge = int(np.searchsorted(np.cumsum(policy)[:-1], drawn, side="right"))
        self._run(0, 0, edge, 1)
        return int(self.order[self.done - 1]), int(self.labels[self.done - 1])

    def decide(self, most: int) -> None:
        """Take up to `most` decisions: at least one, and as many as fit in a short kernel call."""
        simulations = self.options.simulations
        each = simulations * self._steps_a_simulation()
        if each > WORK_A_CALL:
            self.simulate(simulations)
            self.commit()
            return
        count = min(most, self.remaining, max(1, WORK_A_CALL // each))
        self._run(simulations, simulations, simulate.BEST, count)

    def _run(self, count: int, goal: int, edge: int, decisions: int) -> None:
        decided = simulate.Decisions(self.order, self.labels)
        span = self.done, self.done + decisions
        simulate.run(self.engine.parts, self._search, decided, count, goal, edge, *span)
        raise_if_failed()
        if edge != simulate.NONE:
            self.done += decisions

    def _steps_a_simulation(self) -> int:
        return self.remaining if self.options.leaf == "rollout" else self.options.depth

    @property
    def best_rollout(self) -> tuple[IntArray, float]:
        """The best labeling that a rollout ended in, and its energy (inf before the first)."""
        q = self._search
        return q.best_labels.copy(), float(q.numbers[BEST_ENERGY])

    @property
    def effort(self) -> dict[str, int]:
        """Engine steps and expanded states since the start."""
        counters = self._search.counters
        return {"steps": int(counters[ENGINE_STEPS]), "expanded": int(counters[EXPANDED])}

    @property
    def simulations(self) -> int:
        """Simulations of the decision that is under way."""
        return int(self._search.counters[SIMULATIONS])


def _new_search(engine: Engine, options: SearchOptions) -> Walk:
    crf, arrays = engine.instance.crf, engine.parts.arrays
    n_nodes, n_labels = crf.unary.shape
    depth = min(options.depth, n_nodes)
    everything = n_nodes * n_labels
    candidates = min(options.candidates or everything, everything)
    slots = min(everything, replace(options, candidates=candidates).slots)
    # A state of depth k is at most k decisions old, and a simulation adds few.
    new = 1 if options.leaf == LEAVES[ROLLOUT_LEAF] else max(1, depth - 1)
    return Walk(
        settings=_settings(options, depth, candidates),
        numbers=_numbers(options),
        counters=np.zeros(6, np.int64),
        reward=load_reward(options.reward, ties=options.ties),
        tree=new_tree(2 + options.simulations * new * depth, slots),
        explorer=new_explorer(crf),
        state=new_state(arrays),
        completion=new_completion(arrays, engine.parts.completion.default),
        generator=new_generator(0),
        path=np.zeros((depth, 2), np.int64),
        states=np.zeros(depth + 1, np.int64),
        edges=np.zeros(depth, np.int64),
        engine_path=np.zeros((depth, 2), np.int64),
        state_path=np.zeros((depth, 2), np.int64),
        frontier=np.zeros(2 * len(engine.parts.work.scores.winners) + 2, np.int64),
        values=new_label_values(n_labels),
        noise=np.zeros(slots),
        before=np.zeros(slots, np.int64),
        schedule=halving_schedule(min(slots, max(2, candidates)), options.simulations),
        best_labels=np.zeros(n_nodes, np.int64),
        plan=np.zeros(n_nodes, np.int64),
        trial=np.zeros(n_nodes, np.int64),
    )


def _settings(options: SearchOptions, depth: int, candidates: int) -> IntArray:
    """`Walk.settings` of these options."""
    rollouts = options.leaf == LEAVES[ROLLOUT_LEAF]
    root = ROOTS.index(options.root)
    follow = options.follow and rollouts
    settings = np.zeros(9, np.int64)
    settings[DEPTH], settings[CANDIDATES] = depth, candidates
    settings[LEAF], settings[ROOT] = LEAVES.index(options.leaf), root
    settings[ENCOURAGED], settings[FOLLOW] = options.encourage, follow
    settings[STOP_EARLY] = options.stop_early and root != GUMBEL_ROOT and not follow
    settings[BORROW] = 0 if rollouts else options.borrow
    settings[SCALED] = options.scaled
    return settings


def _numbers(options: SearchOptions) -> FloatArray:
    """`Walk.numbers` of these options, before the first search."""
    numbers = np.zeros(6)
    numbers[EXPLORATION], numbers[TEMPERATURE] = options.exploration, options.temperature
    numbers[GUMBEL_SCALE], numbers[LOWEST] = options.gumbel_scale, options.lowest
    numbers[BEST_ENERGY] = np.inf
    return numbers
