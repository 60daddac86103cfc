"""How Q-learning goes: rewards, targets, exploration, memory and steps."""

from __future__ import annotations

from dataclasses import dataclass

from policrf.errors import InvalidOption
from policrf.learn.targets import BACKUPS, TARGETS, bootstraps
from policrf.mdp.rewards import find_reward


@dataclass(frozen=True)
class DQN:
    """How to learn; the defaults are what worked best on synthetic scenes (docs/learning.md)."""

    reward: str = "sign"
    """"sign" (the paper's R2), "difference" (R1) or "shaped"."""
    target: str = "reward"
    """"reward": returns; "hindsight": the labels of the best labeling found so far; "advantage":
    the final energy with an action against that without it, by rollouts."""
    backup: str = "all"
    """"all": every label of a step's node (γ = 0 only); "taken": the label that was taken."""
    discount: float = 0.0
    """γ."""
    ahead: int = 1
    """Rewards summed before bootstrapping (n-step returns); 0 = to the end of the episode."""
    rollouts: int = 8
    """Steps of an episode whose advantages are found (target "advantage")."""
    tried: int = 3
    """Labels of each that are tried."""
    teacher: str = ""
    """A solver whose labelings hindsight starts from; none if empty."""
    epsilon: float = 0.5
    """Probability of exploiting when learning begins; M1, M2, M3 and random share the rest."""
    epsilon_final: float = 0.9
    """The same after `epsilon_rounds` rounds."""
    epsilon_rounds: int = 200
    episodes: int = 8
    """Episodes a round."""
    updates: int = 64
    """Gradient steps a round."""
    batch: int = 64
    """Steps in a gradient step."""
    learning_rate: float = 1e-3
    learning_rate_final: float = 1e-4
    """After `decay_rounds` rounds, reached along a cosine."""
    decay_rounds: int = 1000
    capacity: int = 50_000
    """Steps in the replay memory."""
    keep: int = 256
    """At most so many steps of an episode go into the memory, drawn at random."""
    share: float = 0.5
    """Part of a batch that comes from the second chunk: labels better than the unary's."""
    balance: float = 1.0
    """1: all classes equally often in a batch, the paper's way; 0: as often as they are played."""
    target_every: int = 500
    """Gradient steps after which the target network is brought up to date (γ > 0)."""
    actors: int = 1
    """Threads that play."""
    ties: bool = False
    """Whether `sign` rewards a label that shares the lowest energy."""

    def __post_init__(self) -> None:
        find_reward(self.reward)
        for name, value, known in (
            ("target", self.target, TARGETS), ("backup", self.backup, BACKUPS)
        ):  # fmt: skip
            if value not in known:
                raise InvalidOption(f"{name} is {value!r}; it must be one of {', '.join(known)}")
        if not 0 <= self.discount <= 1:
            raise InvalidOption(f"discount is {self.discount}; it must be from 0 to 1")
        if self.backup != "taken" and self.discount > 0:
            raise InvalidOption(
                f"backup {self.backup!r} is for discount 0: what follows is known for the label "
                "taken only; use backup 'taken'"
            )
        if self.target == "advantage" and self.backup != "all":
            raise InvalidOption("target 'advantage' is for backup 'all': it asks for single labels")
        for name in (
            "episodes", "updates", "batch", "keep", "actors", "target_every", "rollouts", "tried"
        ):  # fmt: skip
            if getattr(self, name) < 1:
                raise InvalidOption(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.ahead < 0:
            raise InvalidOption(f"ahead is {self.ahead}; it must be 0 (to the end) or more")

    @property
    def bootstrap(self) -> bool:
        """Whether targets hold values of later states."""
        return bootstraps(self.backup, self.discount, self.ahead)
