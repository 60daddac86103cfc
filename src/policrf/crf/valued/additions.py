"""Whether a label changed what a clique that counts labels adds to its unlabeled members.

Such a clique adds the same to all of them, a number for each label (`State.added`). A label cost
changes it only where a label appears for the first time: between two changes, labeling a member
costs O(L) and leaves the others' costs to the last bit what they were.
"""

from __future__ import annotations

from policrf.compiled import leaf
from policrf.crf.arrays import COUNTS, Arrays
from policrf.crf.state import State
from policrf.crf.valued.value_changes import add_partial_costs
from policrf.types import FloatArray


@leaf
def additions_change(
    a: Arrays, s: State, seen: FloatArray, i: int, c: int, entry: int, scratch: FloatArray
) -> bool:
    """Whether clique c adds something else than `seen` to its unlabeled members; notes it there.

    `seen` is as long as `State.added`, NaN where nothing was noted yet. Node i is the member that
    was just labeled or unlabeled, `entry` its place in the flat cliques, `scratch` has length L.
    """
    if s.labeled[c] == a.clique_ptr[c + 1] - a.clique_ptr[c]:
        return False  # nobody is left to add to
    # Asked as an unlabeled member asks, a clique of any kind brings `State.added` up to date.
    own = s.labels[i]
    s.labels[i] = -1
    add_partial_costs(a, s, i, c, entry, scratch)
    s.labels[i] = own
    first = a.custom[c, COUNTS]
    changed = False
    for label in range(first, first + a.unary.shape[1]):
        changed |= s.added[label] != seen[label]
        seen[label] = s.added[label]
    return changed
