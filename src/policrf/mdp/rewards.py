"""What labeling a node is worth (section "Reward Function").

    difference   r_t = E_{t−1} − E_t                          the paper's R1; sums to −E(ŷ)
    sign         r_t = +1 if the label has the lowest E_t of all labels of that node, else −1   (R2)
    shaped       r_t = Φ(s_t) − Φ(s_{t+1})                    sums to Φ(s_1) − E(ŷ)

E_t counts the terms whose nodes are all labeled. Φ is the energy of the labeling completed by a
default (`completion.py`); since it depends on the state alone and ends at E(ŷ), the shaped reward
differs from R1 by a potential (Ng, Harada & Russell 1999) and changes no optimal policy, but every
term of the energy speaks at every step. `sign` is strict, as the paper's Table 1 writes it: a label
that shares the lowest energy gets −1, unless `ties` is set.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import leaf
from policrf.crf.arrays import Arrays
from policrf.crf.energy import State, assign, label_costs
from policrf.errors import UnknownName
from policrf.mdp.completion import Completion, completed_change, set_completed
from policrf.types import FloatArray

# The columns of every array of rewards.
REWARDS = ("difference", "sign", "shaped")
DIFFERENCE, SIGN, SHAPED = 0, 1, 2


def reward_column(name: str) -> int:
    """The column of the reward of that name.

    >>> reward_column("sign")
    1
    """
    if name not in REWARDS:
        raise UnknownName(f"no reward is called {name!r}; there are {', '.join(REWARDS)}")
    return REWARDS.index(name)


@leaf
def is_lowest(costs: FloatArray, label: int, ties: bool) -> bool:
    """Whether no other label costs less (ties) or as little (strict) as this one."""
    own = costs[label]
    if np.isinf(own):
        return False
    for other in range(len(costs)):
        if other != label and (costs[other] < own or (costs[other] == own and not ties)):
            return False
    return True


@leaf
def label_rewards(
    a: Arrays,
    s: State,
    z: Completion,
    i: int,
    label: int,
    ties: bool,
    costs: FloatArray,
    out: FloatArray,
) -> None:
    """All rewards [3] of giving the unlabeled node i a label; `costs` [L] are its `label_costs`."""
    out[DIFFERENCE] = -costs[label]
    out[SIGN] = 1.0 if is_lowest(costs, label, ties) else -1.0
    out[SHAPED] = -completed_change(a, s, z, i, label)


@leaf
def take(
    a: Arrays,
    s: State,
    z: Completion,
    i: int,
    label: int,
    ties: bool,
    costs: FloatArray,
    out: FloatArray,
) -> None:
    """Label node i and report all rewards of it into `out` [3]; `costs` [L] is scratch space."""
    label_costs(a, s, i, costs)
    label_rewards(a, s, z, i, label, ties, costs, out)
    assign(a, s, i, label)
    set_completed(a, z, i, label)
