"""Whether labeling node by node gives a first answer sooner than local search does.

A clique that counts labels adds the same to all its unlabeled members. While that stays the same, a
step costs O(L); where it changes at every step, as with a parity, all members are priced again.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import kernel
from policrf.crf.arrays import COUNTS, PARTIAL, Arrays
from policrf.crf.energy import State, assign, new_state, unassign
from policrf.crf.potentials import COMPLETE
from policrf.crf.valued.additions import additions_change
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.types import FloatArray

STEPS = 48  # that are tried in one clique
SELDOM = 0.25  # share of steps that may change what the clique adds


def labels_quickly(arrays: Arrays) -> bool:
    """Whether all cliques asked half-way count labels, and the first seldom changes its answers."""
    asked = np.flatnonzero(arrays.custom[:, PARTIAL] != COMPLETE)
    if not len(asked) or (arrays.custom[asked, COUNTS] < 0).any():
        return False
    state = new_state(arrays)
    seen, scratch = np.full_like(state.added, np.nan), np.zeros(arrays.unary.shape[1])
    changed = share_of_changes(arrays, state, int(asked[0]), seen, scratch)
    raise_if_failed()
    return bool(changed <= SELDOM)


@kernel
def share_of_changes(a: Arrays, s: State, c: int, seen: FloatArray, scratch: FloatArray) -> float:
    """The share of steps that change what clique c adds; three labels in turn, then all undone."""
    start = a.clique_ptr[c]
    size = min(a.clique_ptr[c + 1] - start, STEPS)
    changed = 0
    for m in range(size):
        i = a.clique_nodes[start + m]
        assign(a, s, i, m % min(3, a.cardinalities[i]))
        changed += additions_change(a, s, seen, i, c, start + m, scratch)
    for m in range(size):
        unassign(a, s, a.clique_nodes[start + m])
    return float(changed / size)
