"""SearchOptions: how a tree search goes."""

from __future__ import annotations

from dataclasses import dataclass, fields

from policrf.errors import InvalidOption
from policrf.mdp.rewards import find_reward

REWARDS_LEAF, ROLLOUT_LEAF = 0, 1
LEAVES = ("rewards", "rollout")
PUCT_ROOT, GUMBEL_ROOT = 0, 1
ROOTS = ("puct", "gumbel")


@dataclass(frozen=True)
class SearchOptions:
    """How to search; 20 simulations of depth 4 as the paper does when labeling."""

    simulations: int = 20
    """n_sim, simulations a decision."""
    depth: int = 4
    """d_sim, the most actions that a simulation takes."""
    reward: str = "shaped"
    """"shaped", which sees quotas at every step and lowers energies, "sign" (the paper's R2),
    "difference" (R1), or the name of a plugin's."""
    leaf: str = "rewards"
    """What a simulation is worth: "rewards" (those it saw; the paper) or "rollout" (−E after
    labeling the rest greedily)."""
    root: str = "puct"
    """How the root shares out simulations: "puct" (the paper) or "gumbel"."""
    candidates: int = 6
    """Actions of the highest prior that a state has in the tree; 0 = all actions there are."""
    encourage: bool = False
    """Whether selection adds M1, M2 or M3 to U, each with probability ⅓ (the paper). With R2 it
    lowers the energy of the paper's kind, and raises that of the residual kind."""
    exploration: float = 0.6
    """c in U; the paper's is 1, which with "shaped" finds a little more at twice the cost."""
    temperature: float = 0.1
    """The prior is a softmax of score / temperature."""
    gumbel_scale: float = 0.0
    """Scale of the noise of "gumbel": 1 to learn, 0 to decide."""
    scaled: bool = True
    """Whether U sees rewards without bounds on the tree's own scale (0 the lowest, 1 the highest);
    the paper adds them as they are."""
    lowest: float = 0.0
    """What the lowest value of the tree counts in U where values are scaled; the highest 1, an
    action not taken yet 0. −1 is the scale of ±1 rewards."""
    borrow: int = 3
    """How often a state makes do with its parent's actions and scores before the engine computes
    its own; 0 = never. Not with rollouts."""
    stop_early: bool = True
    """End a decision once the simulations left cannot change which action is taken most."""
    follow: bool = True
    """With rollouts: decide the next action of the best one so far, and search on around it,
    instead of the action taken most."""
    ties: bool = False
    """Whether `sign` rewards a label that shares the lowest energy."""

    def __post_init__(self) -> None:
        find_reward(self.reward)
        for name, known in (("leaf", LEAVES), ("root", ROOTS)):
            if getattr(self, name) not in known:
                raise InvalidOption(
                    f"{name} is {getattr(self, name)!r}; it must be one of {', '.join(known)}"
                )
        for name, lowest in (("simulations", 1), ("depth", 1), ("candidates", 0), ("borrow", 0)):
            if getattr(self, name) < lowest:
                raise InvalidOption(
                    f"{name} is {getattr(self, name)}; it must be at least {lowest}"
                )
        if not self.temperature > 0 or not self.exploration >= 0:
            raise InvalidOption(
                f"temperature is {self.temperature} and exploration {self.exploration}; the first "
                "must be above 0, the second 0 or more"
            )

    @property
    def slots(self) -> int:
        """Actions that a state can have in the tree: the best, and those that M1, M2, M3 favour."""
        return self.candidates + 5 * ((self.candidates + 1) // 2) * self.encourage

    def slots_for(self, actions: int) -> int:
        """The same where all there are may be `actions`, and are wanted."""
        return self.slots if self.candidates else actions


OPTION_NAMES = tuple(field.name for field in fields(SearchOptions))
