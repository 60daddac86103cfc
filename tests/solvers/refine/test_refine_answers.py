"""Kept answers and direct calls: the same costs as the energy core's, for fewer questions."""

import numba
import numpy as np
import pytest

import policrf as pc
from policrf.compiled import leaf
from policrf.crf.changes import assign, load_labels, relabel, unassign
from policrf.crf.energy import label_costs
from policrf.crf.state import new_state
from policrf.solvers.refine.refine_answers import new_answers, node_costs, outdate
from policrf.testing import random_crf


@numba.njit
def distinct(labels, parameters):
    seen = np.zeros(16, np.bool_)
    for label in labels:
        seen[label] = True
    return parameters[0] * seen.sum()


@numba.njit
def steps(labels, parameters):
    """Depends on the order of the members, and on which of them have no label."""
    total = 0.0
    for k in range(len(labels)):
        total += (k + 1) * labels[k] ** 2
    return parameters[0] * total


@numba.njit
def odd(counts, parameters):
    return parameters[0] * float((counts % 2).sum())


def crf_of(*groups, n_nodes=12, n_labels=3, seed=0):
    rng = np.random.default_rng(seed)
    edges = np.stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)], 1)
    return pc.CRF(rng.normal(size=(n_nodes, n_labels)), pc.Potts(edges, 0.4), *groups)


HALVES, EVENS = [np.arange(6), np.arange(4, 12)], [np.arange(0, 12, 2)]
CRFS = {
    "counts": crf_of(pc.Custom(HALVES, odd, [[1.5]] * 2, of="counts")),
    "small": crf_of(pc.Custom([[0, 1]], odd, [[1.5]], of="counts")),
    "subset": crf_of(pc.Custom(HALVES, distinct, [[2.0]] * 2, partial="subset")),
    "marked": crf_of(pc.Custom(HALVES, steps, [[0.1]] * 2, partial=steps)),
    "complete": crf_of(pc.Custom(EVENS, steps, [[0.1]])),
    "two groups": crf_of(
        pc.Custom(HALVES, odd, [[1.5]] * 2, of="counts"), pc.Custom(EVENS, steps, [[0.1]])
    ),
    "all kinds": random_crf(3, n_nodes=9, groups=("potts", "hop1", "hop2", "tables", "custom")),
    "ragged": random_crf(4, n_nodes=9, forbidden=0.2, ragged=True),
}


@leaf
def both_costs(a, s, v, i, kept, core):
    node_costs(a, s, v, i, kept)
    label_costs(a, s, i, core)


@leaf
def change(a, s, v, i, label):
    if label < 0:
        unassign(a, s, i)
    elif s.labels[i] < 0:
        assign(a, s, i, label)
    else:
        relabel(a, s, i, label)
    outdate(a, v, i)


@pytest.mark.parametrize("name", CRFS)
def test_the_costs_are_those_of_the_energy_core(name):
    crf, rng = CRFS[name], np.random.default_rng(1)
    a = crf.arrays
    state, answers = new_state(a), new_answers(a)
    load_labels(a, state, np.argmin(crf.unary, axis=1))
    kept, core = np.empty(crf.n_labels), np.empty(crf.n_labels)
    for _ in range(60):
        i = int(rng.integers(crf.n_nodes))
        label = int(rng.integers(-1 if state.labels[i] >= 0 else 0, a.cardinalities[i]))
        change(a, state, answers, i, label)
        for j in range(crf.n_nodes):
            both_costs(a, state, answers, j, kept, core)
            allowed = np.flatnonzero(np.isfinite(core))
            assert (np.isfinite(kept) == np.isfinite(core)).all()
            if len(allowed):
                first = allowed[0]
                np.testing.assert_allclose(
                    kept[allowed] - kept[first], core[allowed] - core[first], atol=1e-9
                )


def test_a_function_of_counts_is_asked_once_a_label_not_once_a_member():
    crf = crf_of(pc.Custom([np.arange(300)], odd, [[1.0]], of="counts"), n_nodes=300)
    a = crf.arrays
    state, answers = new_state(a), new_answers(a)
    load_labels(a, state, np.argmin(crf.unary, axis=1))
    kept, core = np.empty(3), np.empty(3)
    before = int(a.calls[0])
    for i in range(300):
        both_costs(a, state, answers, i, kept, core)
    by_core = 300 * 2
    assert int(a.calls[0]) - before == by_core + 3 * 2


def test_cliques_smaller_than_the_number_of_labels_keep_nothing():
    answers = new_answers(CRFS["small"].arrays)
    assert len(answers.rows) == 0
    assert not answers.quick[:2].any()
    assert answers.quick[2:].all()
