"""What the shared kind knows of every (node, label) before the first decision, [N, L, D].

Nothing here tells one label from another but what the instance says of it, so that a policy takes
any number of labels. Beliefs q are the mean field of `mdp.foresight` (where costs are not expected:
the unary distribution p); −log q stands for the costs that the neighbours and boxes lead to expect,
so that no potential is asked. Counts n and weights enter as n / (1 + n), margins as φ(m).

The instance's own features come last, by block: `spec.feature_names` names those that the policy
reads, "box_confidence" for the columns "box_confidence:0" … of every label, or "entropy" for one
column that all labels share. A block that an instance does not have is zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from policrf.crf.arrays import Arrays
from policrf.crf.features import unary_distribution
from policrf.crf.instance import Instance
from policrf.crf.potentials import AGREE, SUPPORT
from policrf.mdp.completion import Completion
from policrf.policy.kinds import STATIC_INPUTS
from policrf.policy.network import Spec
from policrf.types import Float32Array, FloatArray, IntArray

LARGEST_MARGIN = 1e6  # as of the engine's margins
LOWEST_BELIEF = 1e-9


def static_inputs(spec: Spec, instance: Instance, completion: Completion) -> Float32Array:
    """The inputs `[N, L, D]` of an instance, the policy's feature blocks last."""
    a = instance.crf.arrays
    n_nodes, n_labels = a.unary.shape
    costs = a.unary / completion.unit
    unary = unary_distribution(costs)
    beliefs = completion.beliefs if len(completion.beliefs) else unary
    default = np.zeros((n_nodes, n_labels))
    default[np.arange(n_nodes), completion.default] = 1.0
    known = {
        "unary_margin": squashed_margins(costs),
        "unary": unary,
        "belief": beliefs,
        "belief_margin": squashed_margins(-np.log(np.maximum(beliefs, LOWEST_BELIEF))),
        "default": default,
        "unary_everywhere": np.broadcast_to(unary.mean(axis=0), unary.shape),
        "belief_everywhere": np.broadcast_to(beliefs.mean(axis=0), unary.shape),
        "labels": np.full(unary.shape, 1.0 / n_labels),
        **box_inputs(a, completion),
    }
    columns = [known[name] for name in STATIC_INPUTS]
    columns += [block_of(instance, name) for name in spec.feature_names]
    return np.stack(columns, axis=2).astype(np.float32)


def squashed_margins(costs: FloatArray) -> FloatArray:
    """φ(m_i(l)), m_i(l) = min_{k ≠ l} c_i(k) − c_i(l), of costs `[N, L]`."""
    if costs.shape[1] == 1:
        return np.full(costs.shape, LARGEST_MARGIN / (1 + LARGEST_MARGIN))
    lowest, second = np.partition(costs, 1, axis=1)[:, :2].T[:, :, None]
    with np.errstate(invalid="ignore"):
        margin = np.where(costs == lowest, second - lowest, lowest - costs)
    margin = np.clip(np.nan_to_num(margin, nan=-LARGEST_MARGIN), -LARGEST_MARGIN, LARGEST_MARGIN)
    return np.asarray(margin / (1 + np.abs(margin)))


def box_inputs(a: Arrays, completion: Completion) -> dict[str, FloatArray]:
    """How many boxes (HOP1, HOP2) want each label at each node, and by how much."""
    sizes = np.diff(a.clique_ptr)
    agree, support = a.clique_kind == AGREE, a.clique_kind == SUPPORT
    pull = completion.penalties / completion.unit / np.maximum(a.clique_count, 1)
    weights = a.clique_weight / completion.unit
    return {
        "agree": _at_members(a, sizes, agree, np.ones(len(sizes))),
        "agree_weight": _at_members(a, sizes, agree, weights),
        "support": _at_members(a, sizes, support, np.ones(len(sizes))),
        "support_weight": _at_members(a, sizes, support, pull),
    }


def _at_members(
    a: Arrays, sizes: IntArray, wanted: NDArray[np.bool_], values: FloatArray
) -> FloatArray:
    """n / (1 + n) of the sum of the wanted cliques' values at their members and label `[N, L]`."""
    n_nodes, n_labels = a.unary.shape
    owner = np.repeat(np.arange(len(sizes)), sizes)
    inside = wanted[owner]
    owner, nodes = owner[inside], a.clique_nodes[inside]
    at = nodes * n_labels + a.clique_label[owner]
    total = np.bincount(at, weights=values[owner], minlength=n_nodes * n_labels)
    return np.asarray((total / (1 + np.abs(total))).reshape(n_nodes, n_labels))


def block_of(instance: Instance, name: str) -> FloatArray | Float32Array:
    """The features of a block `[N, L]`: a column a label, or one column for all; else zeros."""
    n_labels = instance.crf.n_labels
    names = {column: k for k, column in enumerate(instance.feature_names)}
    if name in names:
        column = instance.features[:, [names[name]]]
        return np.broadcast_to(column, (len(column), n_labels))
    columns = [names.get(f"{name}:{label}") for label in range(n_labels)]
    found = [k for k in columns if k is not None]
    if len(found) < n_labels:
        return np.zeros((instance.crf.n_nodes, n_labels))
    return np.asarray(instance.features[:, found])
