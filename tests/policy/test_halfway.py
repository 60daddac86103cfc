"""Cliques asked half-way: which members a step scores once more, and when."""

from __future__ import annotations

import numpy as np

import policrf as pc
from policrf.policy.engine import Engine
from policrf.policy.solver import PACE, SLICE, next_slice
from policrf.policy.work import LEAVES

N_NODES = 64


def counted_clique(name: str) -> pc.Instance:
    """One clique of all nodes, without edges: whoever is scored, is scored for the clique."""

    def distinct(counts, parameters):
        return 2.0 * float(np.sum(counts > 0))

    def odd(counts, parameters):
        return 2.0 * float(np.sum(counts % 2))

    unary = np.random.default_rng(0).exponential(size=(N_NODES, 4))
    function = {"distinct": distinct, "odd": odd}[name]
    crf = pc.CRF(unary, pc.Custom([np.arange(N_NODES)], function, of="counts"))
    edges = np.zeros((0, 2), np.int64)
    return pc.Instance(crf, np.ones((N_NODES, 1)), edges, np.zeros((0, 2)))


def scored_by_step(instance: pc.Instance, labels: list[int], gain: float) -> list[int]:
    """How many nodes each step scores once more, the labeled one included."""
    policy = pc.Policy.untrained(n_labels=4, n_features=1, gain=gain)
    engine = Engine(policy, instance, journal=100_000)
    used = engine.parts.work.journal.used
    out = []
    for node, label in enumerate(labels):
        before = int(used[LEAVES])
        engine.step(node, label)
        out.append(int(used[LEAVES]) - before)
    return out


LABELS = [0, 1, 1, 0, 1, 0, 2, *[k % 3 for k in range(N_NODES - 7)]]
FIRST = {0, 1, 6}  # steps at which a label appears


def test_a_label_cost_scores_its_members_where_a_label_appears() -> None:
    scored = scored_by_step(counted_clique("distinct"), LABELS, gain=0.0)
    for step, count in enumerate(scored):
        assert count == (N_NODES - step if step in FIRST else 1)


def test_gains_change_with_labels_and_eighths() -> None:
    scored = scored_by_step(counted_clique("distinct"), LABELS, gain=0.5)
    everyone = {step for step, count in enumerate(scored) if count == N_NODES - step > 1}
    others = {step for step, count in enumerate(scored) if count == 1}
    assert everyone | others == set(range(N_NODES))
    assert everyone >= FIRST
    assert 8 - 1 <= len(everyone - FIRST) <= 8


def test_a_parity_scores_its_members_at_every_step() -> None:
    scored = scored_by_step(counted_clique("odd"), LABELS, gain=0.0)
    assert scored == [N_NODES - step for step in range(N_NODES)]


def test_a_function_of_counts_is_asked_about_every_label_once_a_step() -> None:
    instance = counted_clique("distinct")
    calls = instance.crf.arrays.calls
    engine = Engine(pc.Policy.untrained(n_labels=4, n_features=1), instance)
    before = int(calls[0])
    engine.label_all()
    assert int(calls[0]) - before <= N_NODES * (1 + 4)


def test_a_clique_is_never_asked_about_more_members_than_it_has() -> None:
    largest = []

    def watched(counts, parameters):
        largest.append(int(counts.sum()))
        return float(np.sum(counts > 0))

    crf = pc.CRF(np.random.default_rng(1).exponential(size=(9, 3)),
                 pc.Custom([np.arange(9), np.arange(4)], watched, of="counts"))  # fmt: skip
    for solver in ("untrained", "highest_confidence_first"):
        pc.solve(crf, solver)
    assert max(largest) == 9


def test_the_clock_is_looked_at_in_time() -> None:
    assert next_slice(64, PACE / 64) == 128
    assert next_slice(64, 64 * PACE) == 1
    assert next_slice(SLICE, 0.0) == SLICE
