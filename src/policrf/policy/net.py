"""A policy's weights as the kernels read them: one float32 buffer, rows padded to whole lanes.

Compiled calls pass every array of a tuple by value, so the hot ones get few: all tensors lie in
`Net.numbers`, and `Net.sizes` says where.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.policy.kinds import INPUTS, SOURCES, STATE_INPUTS, STATIC_INPUTS
from policrf.policy.lanes import padded
from policrf.policy.network import COSTS, Spec, Weights
from policrf.types import Float32Array, IntArray

PARTIAL, COMPLETED, RELAXED, EXPECTED = range(len(COSTS))

# Entries of Net.sizes: what the policy is, then where each tensor starts in Net.numbers.
SEES_COSTS, COST_MODE, SQUASH = 0, 1, 2
LAYERS, WIDTH, COLUMNS, HIDDEN = 3, 4, 5, 6  # K; p, L and hidden units rounded up to whole lanes
OWN = 7  # [K, L, P]; θ1 + θ2 of the label: what a labeled node adds to its own row
FEATURES = 8  # [K, F, P]; θ3
BIAS = 9  # [K, P]
MIX = 10  # [K − 1, P, P]; θ4
OUT = 11  # [P, Q + H]; θ5 and, of a kind that sees costs (else H = 0), B beside it
HEAD_INPUTS = 12  # [D, H]; A
HEAD_BIAS = 13  # [H]; c
HEAD_OUT = 14  # [H]; v
SCALE = 15  # [1]; s
SILENT = 16  # 1: θ5 and v are zero, so that only margins count, and no message is worth sending
# Of the shared kind, which has LAYERS = 1, since it sends no message in a state. It keeps M^(0) [6,
# D, P] at FEATURES, M^(k) [K − 1, 6, P, P] at MIX, b [K, P] at BIAS, and B [P, H] at OUT.
STATIC_LAYERS, STATIC_WIDTH = 17, 18  # K (0: another kind); D, inputs rounded up to whole lanes
PRIOR_OUT, PRIOR_INPUTS, HEAD_LINEAR = 19, 20, 21  # [P], [D], [state inputs]; times `trust`


class Net(NamedTuple):
    """Read by kernels, changed by none: engines in several threads share it."""

    sizes: IntArray
    numbers: Float32Array


def build_net(spec: Spec, weights: Weights) -> Net:
    """Lay out the tensors of a policy; those that its kind does not have are zero."""
    if spec.any_labels:
        return _shared_net(spec, weights)
    layers, width, columns = spec.layers, padded(spec.width), padded(spec.n_labels)
    hidden = padded(spec.head_width) if spec.sees_costs else 0
    out = np.zeros((width, columns + hidden), np.float32)
    out[: spec.width, : spec.n_labels] = weights["theta5"].T
    if spec.sees_costs:
        out[: spec.width, columns : columns + spec.head_width] = weights["head_embedding"].T
    own = weights["theta1"][:, :, None] + weights["theta2"]
    none, nothing = np.zeros((0, 0), np.float32), np.zeros(0, np.float32)
    tensors = [
        _in_corner(own.transpose(0, 2, 1), layers, spec.n_labels, width),
        _in_corner(weights["theta3"].transpose(0, 2, 1), layers, spec.n_features, width),
        _in_corner(weights.get("bias", none), layers, width),
        _in_corner(weights["theta4"].transpose(0, 2, 1), layers - 1, width, width),
        out.reshape(-1),
        _in_corner(weights.get("head_inputs", none).T, len(INPUTS), hidden),
        _in_corner(weights.get("head_bias", nothing), hidden),
        _in_corner(weights.get("head_out", nothing), hidden),
        _in_corner(weights.get("scale", nothing), 1),
    ]
    starts = np.cumsum([0, *(len(tensor) for tensor in tensors)])[:-1]
    what = [
        spec.sees_costs,
        COSTS.index(spec.costs),
        spec.squash,
        layers,
        width,
        columns,
        hidden,
    ]
    spoken = weights["theta5"].any() or weights.get("head_out", nothing).any()
    silent = spec.sees_costs and not spoken
    return Net(np.array([*what, *starts, silent, *[0] * 5], np.int64), np.concatenate(tensors))


def _shared_net(spec: Spec, weights: Weights) -> Net:
    """The same of the shared kind."""
    width, hidden, sources = padded(spec.width), padded(spec.head_width), len(SOURCES)
    size = padded(len(STATIC_INPUTS) + spec.n_features)
    trust = np.float32(spec.trust)
    none = np.zeros(0, np.float32)
    tensors = {
        OWN: none,
        FEATURES: _in_corner(weights["mix_inputs"].transpose(1, 2, 0), sources, size, width),
        BIAS: _in_corner(weights["mix_bias"], spec.layers, width),
        MIX: _in_corner(
            weights["mix"].transpose(0, 2, 3, 1), spec.layers - 1, sources, width, width
        ),
        OUT: _in_corner(weights["head_embedding"].T, width, hidden),
        HEAD_INPUTS: _in_corner(weights["head_inputs"].T, len(STATE_INPUTS), hidden),
        HEAD_BIAS: _in_corner(weights["head_bias"], hidden),
        HEAD_OUT: _in_corner(trust * weights["head_out"], hidden),
        SCALE: none,
        PRIOR_OUT: _in_corner(trust * weights["prior_out"], width),
        PRIOR_INPUTS: _in_corner(trust * weights["prior_inputs"], size),
        HEAD_LINEAR: _in_corner(trust * weights["head_linear"], padded(len(STATE_INPUTS))),
    }
    starts = np.cumsum([0, *(len(tensor) for tensor in tensors.values())])[:-1]
    spoken = ("head_out", "prior_out", "prior_inputs", "head_linear")
    silent = not any(trust * weights[name].any() for name in spoken)
    what = [True, COSTS.index(spec.costs), spec.squash, 1, width, 0, hidden]
    sizes = [*what, *starts[:9], silent, spec.layers, size, *starts[9:]]
    return Net(np.array(sizes, np.int64), np.concatenate(list(tensors.values())))


def _in_corner(array: Float32Array, *shape: int) -> Float32Array:
    """The array in the corner of zeros of that shape, flattened."""
    out = np.zeros(shape, np.float32)
    out[tuple(slice(size) for size in array.shape)] = array
    return out.reshape(-1)
