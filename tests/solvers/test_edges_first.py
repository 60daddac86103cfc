"""Labels by unaries and edges: against plain Python, with one label, and without time."""

from __future__ import annotations

import numpy as np
import pytest

import policrf as pc
from policrf.scenes import make_family
from policrf.solvers.edges_first import SWEEPS, label_by_edges, order_by_lead
from policrf.solvers.run import Run


def plainly(crf):
    """Every node by the level of its lead, beside the neighbours that have a label."""
    unary, edges = crf.unary, crf.potentials[0].edges
    two = np.sort(unary, axis=1)
    leads = two[:, 1] - two[:, 0]
    quarters = np.sort(leads)[np.arange(1, 4) * len(leads) // 4]
    order = sorted(range(len(leads)), key=lambda i: (-int((leads[i] >= quarters).sum()), i))
    labels = np.full(len(leads), -1)
    for i in order * SWEEPS:
        costs = unary[i].copy()
        for a, b in edges:
            other = b if a == i else a if b == i else -1
            if other >= 0 and labels[other] >= 0:
                costs[labels[other]] -= 0.3
        labels[i] = costs.argmin()
    return order, labels


@pytest.mark.parametrize("family", ["parity", "order"])
def test_labels_are_those_of_the_plain_loop(family):
    crf = make_family(family, 49, 4, seed=1)
    order, labels = plainly(crf)
    np.testing.assert_array_equal(order_by_lead(crf.unary), order)
    run = Run(crf, "x")
    label_by_edges(run)
    np.testing.assert_array_equal(run.best, labels)


def test_single_labels_and_no_time():
    run = Run(pc.CRF([[1.0], [2.0]], pc.Potts([[0, 1]], 1.0)), "x")
    label_by_edges(run)
    assert run.best.tolist() == [0, 0]
    late = Run(make_family("parity", 16, 3), "x", seconds=0.0)
    label_by_edges(late)
    assert late.best is None
