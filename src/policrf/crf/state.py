"""A labeling in progress, with the counts that make a change cheap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.crf.arrays import COUNTS, PARTIAL, SUMMARY_SIZE, Arrays
from policrf.crf.potentials import COMPLETE, CUSTOM
from policrf.types import FloatArray, IntArray


class State(NamedTuple):
    """A labeling in progress. Mutable; change it only through `assign` and `unassign`."""

    labels: IntArray  # [N]; −1 where unlabeled
    labeled: IntArray  # [C]; members that are labeled
    matches: IntArray  # [C]; members labeled with clique_label
    counts: IntArray  # [...]; members labeled with each label, of cliques that are functions of it
    summaries: FloatArray  # [...]; of CUSTOM cliques that have one
    added: FloatArray  # as `counts`: what one more member of each label adds; NaN = not known
    value: FloatArray  # [C]; what cliques from CUSTOM on say of their labeled members; [0]: none
    scratch: IntArray  # [2 · most members of a clique that keeps a value]; of no lasting use
    total: FloatArray  # [1]; sum of the finite terms of the partial energy
    forbidden: IntArray  # [1]; number of infinite terms


def new_state(arrays: Arrays) -> State:
    """The empty labeling."""
    n_cliques, custom = len(arrays.clique_kind), arrays.custom
    valued = (arrays.clique_kind >= CUSTOM) | (custom[:, PARTIAL] != COMPLETE)
    sizes = (arrays.clique_ptr[1:] - arrays.clique_ptr[:-1])[valued]
    n_counts = arrays.unary.shape[1] * np.count_nonzero(custom[:, COUNTS] >= 0)
    return State(
        labels=np.full(len(arrays.unary), -1, np.int64),
        labeled=np.zeros(n_cliques, np.int64),
        matches=np.zeros(n_cliques, np.int64),
        counts=np.zeros(n_counts, np.int64),
        summaries=np.zeros(int(custom[:, SUMMARY_SIZE].sum())),
        added=np.full(n_counts, np.nan),
        value=np.zeros(n_cliques if len(sizes) else 0),
        scratch=np.empty(2 * int(sizes.max(initial=0)), np.int64),
        total=np.zeros(1),
        forbidden=np.zeros(1, np.int64),
    )


def total_energy(state: State) -> float:
    """E_t of the labels of a state: +inf where they use something forbidden; O(1)."""
    return float("inf") if state.forbidden[0] else float(state.total[0])
