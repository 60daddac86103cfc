"""What the shared kind sees of all unlabeled nodes in a state: for learning, and for tests."""

from __future__ import annotations

import numpy as np

from policrf.compiled import leaf
from policrf.crf.arrays import Arrays
from policrf.crf.instance import Instance
from policrf.crf.state import State
from policrf.mdp.completion import Completion
from policrf.mdp.graph import Graph, build_graph
from policrf.policy.kinds import STATE_INPUTS
from policrf.policy.network import COSTS as COST_NAMES
from policrf.policy.network import Spec
from policrf.policy.shared.clique_counts import Counted, count_all, new_counted
from policrf.policy.shared.state_view import COSTS, refresh_view, state_inputs
from policrf.types import Float32Array, FloatArray


def view_states(
    spec: Spec, instance: Instance, state: State, completion: Completion
) -> tuple[FloatArray, Float32Array]:
    """Costs `[N, L]` and inputs `[N, L, D]`, without the margin, of the unlabeled nodes; else 0."""
    a = instance.crf.arrays
    n_nodes, n_labels = a.unary.shape
    counted = new_counted(a, wanted=True)
    count_all(a, counted, state.labels)
    costs = np.zeros((n_nodes, n_labels))
    inputs = np.zeros((n_nodes, n_labels * len(STATE_INPUTS)), np.float32)
    room, view = np.zeros((3, n_labels)), np.zeros((4, n_labels))
    mode = COST_NAMES.index(spec.costs)
    look_around(
        a, build_graph(instance), mode, state, completion, counted, room, view, costs, inputs
    )
    return costs, inputs.reshape(n_nodes, n_labels, len(STATE_INPUTS))


@leaf
def look_around(
    a: Arrays, g: Graph, mode: int, s: State, z: Completion, counted: Counted, room: FloatArray,
    view: FloatArray, costs: FloatArray, inputs: Float32Array,
) -> None:  # fmt: skip
    """Costs [N, L] and inputs [N, L · D] of the unlabeled nodes; `room` and `view` are scratch."""
    for i in range(len(s.labels)):
        if s.labels[i] < 0:
            refresh_view(a, mode, s, z, i, room, view)
            for label in range(costs.shape[1]):
                costs[i, label] = view[COSTS, label]
            state_inputs(a, g, s, z, counted, i, view, inputs[i])
