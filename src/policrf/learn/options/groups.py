"""Groups of options that methods of learning are put together from (`methods.py`)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from policrf.errors import InvalidOption

BACKUPS = ("all", "taken")
SCALES = ("energy", "tries")
SELECT = ("energy", "refined", "iou", "last")


def one_of(options: Any, name: str, known: tuple[str, ...]) -> None:
    """Refuse a value that is not known."""
    value = getattr(options, name)
    if value not in known:
        raise InvalidOption(f"{name} is {value!r}; it must be one of {', '.join(known)}")


def at_least(options: Any, least: int, *names: str) -> None:
    """Refuse numbers that are too small."""
    for name in names:
        if getattr(options, name) < least:
            raise InvalidOption(f"{name} is {getattr(options, name)}; it must be at least {least}")


def finite_from_zero(options: Any, *names: str) -> None:
    """Refuse numbers that are negative, or not finite."""
    for name in names:
        if not 0 <= getattr(options, name) < float("inf"):
            raise InvalidOption(f"{name} is {getattr(options, name)}; it must be 0 or more")


def shares(options: Any, *names: str) -> None:
    """Refuse numbers outside 0 … 1."""
    for name in names:
        if not 0 <= getattr(options, name) <= 1:
            raise InvalidOption(f"{name} is {getattr(options, name)}; it must be from 0 to 1")


@dataclass(frozen=True)
class Schedule:
    """When to look, and how much data to hold."""

    select: str = "energy"
    """What makes a policy the best, on held-out data: energy, refined (after refine) or iou; last:
    that of the last round, and nothing is held out."""
    validate_seconds: float = 10.0
    """Time between two validations; validations take no part of --seconds."""
    validate_rounds: int = 0
    """Validate after this many rounds instead: reproducible on machines of other speed."""
    checkpoint_seconds: float = 20.0
    """Time between two checkpoints: what a killed run may lose. One is written at the start too."""
    pool: int = 200_000
    """Nodes in memory at a time; instances with more are learned from in turns."""
    pool_rounds: int = 50
    """Rounds of a turn."""

    def __post_init__(self) -> None:
        one_of(self, "select", SELECT)
        at_least(self, 1, "pool", "pool_rounds")
        at_least(self, 0, "validate_seconds", "validate_rounds", "checkpoint_seconds")


@dataclass(frozen=True)
class Optimizer:
    """Gradient steps (Adam); the learning rate falls along a cosine."""

    learning_rate: float = 1e-3
    """At first."""
    learning_rate_final: float = 1e-4
    """After --decay-rounds rounds."""
    decay_rounds: int = 500
    """Rounds over which the learning rate falls."""
    updates: int = 64
    """Gradient steps a round."""
    batch: int = 128
    """Samples in a gradient step."""

    def __post_init__(self) -> None:
        at_least(self, 1, "updates", "batch")
        finite_from_zero(self, "learning_rate", "learning_rate_final")


@dataclass(frozen=True)
class Memory:
    """The structured replay memory: two chunks × L classes."""

    capacity: int = 50_000
    """Steps in the memory."""
    keep: int = 256
    """Steps of an episode that go into the memory, drawn at random if it has more."""
    share: float = 0.5
    """Part of a batch from the second chunk: labels better than the unary's."""
    balance: float = 1.0
    """1: all classes equally often in a batch, the paper's way; 0: as often as they are played."""

    def __post_init__(self) -> None:
        at_least(self, 1, "capacity", "keep")
        shares(self, "share", "balance")


@dataclass(frozen=True)
class Exploration:
    """The episodes of a round; M1, M2, M3 and random actions share what is not exploited."""

    epsilon: float = 0.5
    """Probability of exploiting at first."""
    epsilon_final: float = 0.9
    """Probability of exploiting after --epsilon-rounds rounds."""
    epsilon_rounds: int = 200
    """Rounds in between."""
    episodes: int = 4
    """Episodes a round."""
    actors: int = 1
    """Threads that play, beside the one that learns; with --ray, actors on the cluster."""
    staleness: int = 0
    """Rounds that may pass before episodes are waited for; their weights are older by as many."""

    def __post_init__(self) -> None:
        at_least(self, 1, "episodes", "actors")
        at_least(self, 0, "staleness")
        shares(self, "epsilon", "epsilon_final")


@dataclass(frozen=True)
class Returns:
    """Target reward: which rewards a value sums."""

    backup: str = "all"
    """all: every label of a step's node (discount 0 only); taken: the label that was taken."""
    discount: float = 0.0
    """γ; with backup taken."""
    ahead: int = 1
    """Rewards summed before bootstrapping (n-step returns); 0: to the end of the episode."""
    target_every: int = 500
    """Gradient steps after which the target network is brought up to date (discount > 0)."""
    scaled: bool = True
    """Divide rewards without bounds (R1, shaped) by their deviation; the paper does not."""

    def __post_init__(self) -> None:
        one_of(self, "backup", BACKUPS)
        at_least(self, 1, "target_every")
        shares(self, "discount")
        if self.backup != "taken" and self.discount > 0:
            raise InvalidOption(
                f"backup {self.backup!r} is for discount 0: what follows is known for the label "
                "taken only; use backup 'taken'"
            )
        if self.ahead < 0:
            raise InvalidOption(f"ahead is {self.ahead}; it must be 0 (to the end) or more")

    @property
    def bootstrap(self) -> bool:
        """Whether targets hold values of later states."""
        return self.backup == "taken" and self.discount > 0 and self.ahead > 0


@dataclass(frozen=True)
class Search:
    """The tree search before every decision of self-play."""

    simulations: int = 20
    """n_sim, simulations a decision; the paper's are 50."""
    depth: int = 4
    """d_sim, the longest way of a simulation, in actions."""
    leaf: str = "rewards"
    """What a simulation is worth: rewards (those it saw; the paper) or rollout (the greedy end)."""
    root: str = "gumbel"
    """How the root shares out simulations: gumbel, or puct (the paper)."""
    candidates: int = 6
    """Actions of the highest prior that a state has in the tree; 0: all there are (the paper)."""
    encourage: bool = True
    """Whether selection adds M1, M2 or M3 (the paper)."""
    exploration: float = 1.0
    """c in PUCB."""
    temperature: float = 1.0
    """The prior is a softmax of score / temperature; 0.025 for the residual kind's small scores."""
    scaled: bool = True
    """Selection sees rewards without bounds (R1, shaped) on the tree's own scale; the paper not."""

    def __post_init__(self) -> None:
        at_least(self, 0, "candidates")


@dataclass(frozen=True)
class SelfPlay:
    """The episodes of a round."""

    episodes: int = 16
    """Episodes a round."""
    repeats: int = 1
    """Episodes a graph, one after the other; the paper's are 10."""
    actors: int = os.cpu_count() or 1
    """Threads that play; with --ray, actors on the cluster."""
    staleness: int = 0
    """Rounds that may pass before episodes are waited for; their weights are older by as many."""

    def __post_init__(self) -> None:
        at_least(self, 1, "episodes", "repeats", "actors")
        at_least(self, 0, "staleness")


@dataclass(frozen=True)
class LabelTargets:
    """What imitation is of."""

    truth: float = 1.0
    """What true labels count, where there are any; the rest is for the lowest energy known."""
    teacher: str = ""
    """Who finds low energies to begin with: a solver or policy, as in solve; none if empty."""
    balance: float = 0.25
    """Nodes count by 1 / frequency^balance of their target's label in their instance."""

    def __post_init__(self) -> None:
        shares(self, "truth", "balance")


@dataclass(frozen=True)
class SharedPlay:
    """The episodes of Q-learning and of imitation."""

    reward: str = "sign"
    """Of q and tree: sign (R2), difference (R1), shaped, or the name of a plugin's."""
    target: str = "hindsight"
    """Of q: hindsight, labels of the lowest energy known, or reward."""
    epsilon: float = 0.9
    """Of q and of perturbed episodes: the probability of exploiting."""
    perturbed: int = 1
    """Of imitate: episodes whose best is imitated; all but the first explore."""

    def __post_init__(self) -> None:
        from policrf.mdp.rewards import load_reward

        load_reward(self.reward)
        one_of(self, "target", ("hindsight", "reward"))
        at_least(self, 1, "perturbed")
        shares(self, "epsilon")


@dataclass(frozen=True)
class TreeTargets:
    """What the network is moved towards."""

    value_scale: float = 40.0
    """What the span of a state's values counts in target improved, in units of log-probability."""
    others: int = 16
    """Random unlabeled nodes whose labels stand beside the tree's actions in the softmax."""


@dataclass(frozen=True)
class Perturbations:
    """The steps of the search."""

    pairs: int = 8
    """Perturbations a round, each tried with both signs."""
    trials: int = 16
    """Training instances that a round's perturbations are all tried on."""
    sigma: float = 0.05
    """Size of the perturbations."""
    step: float = 0.02
    """Step of every weight a round (Adam)."""
    fall_rounds: int = 0
    """Rounds over which the step falls to 0 along a cosine; 0: it does not."""
    scale: str = "energy"
    """What a difference of energies is divided by: what the policy reached at first (energy), or
    the deviation of a round's tries (tries), so that unlike instances have the same say."""
    guard: float = 0.0
    """With scale tries: what a rise above the untrained rule's energy counts in addition."""
    tensors: tuple[str, ...] = ()
    """Which tensors of the policy are searched over; the kind's last ones if none."""
    actors: int = 2
    """Threads."""

    def __post_init__(self) -> None:
        at_least(self, 1, "pairs", "trials", "actors")
        at_least(self, 0, "fall_rounds")
        finite_from_zero(self, "step", "guard")
        one_of(self, "scale", SCALES)
        if not self.sigma > 0:
            raise InvalidOption(f"sigma is {self.sigma}; it must be above 0")
