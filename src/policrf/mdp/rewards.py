"""What labeling a node is worth (section "Reward Function").

    difference   r_t = E_{t−1} − E_t                          the paper's R1; sums to −E(ŷ)
    sign         r_t = +1 if the label has the lowest E_t of all labels of that node, else −1   (R2)
    shaped       r_t = Φ(s_t) − Φ(s_{t+1})                    sums to Φ(s_1) − E(ŷ)

E_t counts the terms whose nodes are all labeled. Φ is the energy of the labeling completed by a
default (`completion.py`); since it depends on the state alone and ends at E(ŷ), the shaped reward
differs from R1 by a potential (Ng, Harada & Russell 1999) and changes no optimal policy, but every
term of the energy speaks at every step. `sign` is strict, as the paper's Table 1 writes it: a label
that shares the lowest energy gets −1, unless `ties` is set.

A reward is a function of what is known of a step (`Reward`). Others add theirs to `REWARDS`, or by
an entry point `policrf.rewards`. Kernels take a `RewardCall` (`step_rewards.py`): they are compiled
once, and reach other people's functions through a C pointer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from policrf.compiled import leaf
from policrf.errors import InvalidOption
from policrf.mdp.completion import FORBIDDEN
from policrf.mdp.reward_call import address_of
from policrf.registry import Registry
from policrf.types import FloatArray

CHANGES = ("none", "own", "all")
NO_CHANGES, OWN_CHANGE, ALL_CHANGES = range(len(CHANGES))


@dataclass(frozen=True)
class Reward:
    """A reward: a function and what others must know of it."""

    function: Callable[..., Any]
    """`function(costs, changes, ties, out)` fills `out [L]` with the rewards of all labels of a
    node. `costs [L]` are the energies E_t − E_{t−1} that the labels add (inf = forbidden),
    `changes [L]` the changes of Φ. numba functions run at full speed; Python ones work too."""
    bounded: bool = False
    """Whether the rewards are from −1 to 1: search and learning then take them as they are. Others
    are scaled by what was seen."""
    needs_costs: bool = True
    """Whether `costs` are looked at."""
    changes: str = "none"
    """Which changes of Φ are looked at: "none"; "own", where the reward of a label depends on the
    change of this label alone (a search then computes only one); or "all"."""
    forbidden: float = -FORBIDDEN
    """What learning puts in the place of a forbidden label's reward, a finite number."""

    def __post_init__(self) -> None:
        if self.changes not in CHANGES:
            raise InvalidOption(
                f"changes of a reward is {self.changes!r}; it must be one of {', '.join(CHANGES)}"
            )
        if not np.isfinite(self.forbidden):
            raise InvalidOption(f"forbidden of a reward is {self.forbidden}; it must be finite")


@leaf
def difference(costs: FloatArray, changes: FloatArray, ties: bool, out: FloatArray) -> None:
    """E_{t−1} − E_t."""
    for label in range(len(out)):
        out[label] = -costs[label]


@leaf
def sign(costs: FloatArray, changes: FloatArray, ties: bool, out: FloatArray) -> None:
    """+1 for the label of the lowest energy (with `ties`, for all that share it), else −1."""
    lowest, sharing = np.inf, 0
    for label in range(len(costs)):
        if costs[label] < lowest:
            lowest, sharing = costs[label], 1
        elif costs[label] == lowest:
            sharing += 1
    won = lowest < np.inf and (ties or sharing == 1)
    for label in range(len(out)):
        out[label] = 1.0 if won and costs[label] == lowest else -1.0


@leaf
def shaped(costs: FloatArray, changes: FloatArray, ties: bool, out: FloatArray) -> None:
    """Φ(s_t) − Φ(s_{t+1})."""
    for label in range(len(out)):
        out[label] = -changes[label]


DIFFERENCE = Reward(difference)
SIGN = Reward(sign, bounded=True, forbidden=-1.0)
SHAPED = Reward(shaped, needs_costs=False, changes="own")

REWARDS = Registry(
    "reward",
    {
        "difference": "policrf.mdp.rewards:DIFFERENCE",
        "sign": "policrf.mdp.rewards:SIGN",
        "shaped": "policrf.mdp.rewards:SHAPED",
    },
)

# Functions that kernels call directly, by their code; all others go through a C pointer.
_DIRECT = (difference, sign, shaped)
CALL_DIFFERENCE, CALL_SIGN, CALL_SHAPED, CALL_ADDRESS = range(len(_DIRECT) + 1)


class RewardCall(NamedTuple):
    """A reward as kernels take it."""

    code: int  # which function; CALL_ADDRESS = the one at the address
    address: int
    ties: bool
    bounded: bool
    needs_costs: bool
    changes: int  # NO_CHANGES, OWN_CHANGE or ALL_CHANGES
    forbidden: float


def find_reward(name: str) -> Reward:
    """The reward of that name; a plugin may name a bare function, which has the default traits."""
    found = REWARDS.get(name)
    return found if isinstance(found, Reward) else Reward(found)


def load_reward(name: str, *, ties: bool = False) -> RewardCall:
    """The reward of that name, ready for the kernels.

    Parameters
    ----------
    name
        A name of `REWARDS`.
    ties
        Whether a label that shares the lowest energy wins too; what `sign` makes of it.

    >>> load_reward("sign").bounded, load_reward("shaped").bounded
    (True, False)
    """
    reward = find_reward(name)
    direct = reward.function in _DIRECT
    return RewardCall(
        code=_DIRECT.index(reward.function) if direct else CALL_ADDRESS,
        address=0 if direct else address_of(reward.function, name),
        ties=bool(ties),
        bounded=bool(reward.bounded),
        needs_costs=bool(reward.needs_costs),
        changes=CHANGES.index(reward.changes),
        forbidden=float(reward.forbidden),
    )
