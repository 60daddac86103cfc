"""What a step changes in cliques that are asked half-way: whose members have other costs now.

A clique that counts labels adds the same to all its unlabeled members, and so does the gain
(`mdp.gains`): the members are scored once more where one of the two has changed, which the engine
tells from what it noted after the last step. Any other potential may answer each member
differently: its members are asked at every step.
"""

from __future__ import annotations

from policrf.compiled import inlined
from policrf.crf.arrays import COUNTS, PARTIAL, Arrays
from policrf.crf.potentials import COMPLETE
from policrf.crf.state import State
from policrf.crf.valued.additions import additions_change
from policrf.mdp.completion import Completion
from policrf.mdp.gains import gains_change
from policrf.policy.work import Reach, Work
from policrf.types import IntArray


@inlined
def touch(r: Reach, labels: IntArray, j: int, mark: int, count: int) -> int:
    """Append node j to those that are scored again, if it is unlabeled and not among them."""
    if r.stamp[j] != mark and labels[j] < 0:
        r.stamp[j] = mark
        r.touched[count] = j
        count += 1
    return count


@inlined
def reach_halfway(
    a: Arrays, s: State, z: Completion, w: Work, i: int, label: int, by: int, count: int
) -> int:
    """Append the unlabeled members of such cliques of node i whose costs have changed.

    Called once after every step (`by` = 1) and every undo (`by` = −1) of giving node i this label.
    """
    r = w.reach
    mark = r.stamp[len(r.stamp) - 1]
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        if a.custom[c, PARTIAL] == COMPLETE:
            continue
        # Both keep what they compare with up to date, so both are called.
        costly = gains_change(a, z.gains, c, label, by, s.labeled[c])
        if a.custom[c, COUNTS] >= 0:
            costly |= additions_change(a, s, w.added, i, c, a.node_entry[k], w.costs[0])
        else:
            costly = True
        if costly:
            for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
                j = a.clique_nodes[m]
                w.stale[j] = True
                count = touch(r, s.labels, j, mark, count)
    return count
