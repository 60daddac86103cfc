"""First passes: the compiled pass against plain Python, files, and runs."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import policrf as pc
from policrf.errors import InvalidOption
from policrf.policy.first_pass.kernel import BIAS, FIRST, LINEAR, N_WEIGHTS, OUT, PAIR, UNITS, D
from policrf.policy.first_pass.model import SLICE, FirstPass, prepared
from policrf.policy.tuning import Tuning
from policrf.scenes import make_family
from policrf.solvers.numbers import Numbers
from policrf.types import FloatArray, IntArray

PASS = Numbers(start="first_pass")


def drawn(seed: int, passes: int) -> FirstPass:
    return FirstPass(np.random.default_rng(seed).normal(size=(passes, N_WEIGHTS)))


def plainly(crf: pc.CRF, first_pass: FirstPass) -> IntArray:
    """The formula of `kernel.py`, everything counted anew at every node."""
    group = crf.potentials[-1]
    assert isinstance(group, pc.Custom)
    ptr, nodes = group.cliques.ptr, group.cliques.nodes
    cliques = [nodes[a:b] for a, b in pairwise(ptr)]
    two = np.partition(crf.unary, 1, axis=1)
    leads = two[:, 1] - two[:, 0]
    quarters = np.sort(leads)[[crf.n_nodes // 4, crf.n_nodes // 2, 3 * crf.n_nodes // 4]]
    order = sorted(range(crf.n_nodes), key=lambda i: (-int((leads[i] >= quarters).sum()), i))
    labels = np.full(crf.n_nodes, -1)
    for w in first_pass.weights:
        for i in order:
            labels[i] = -1
            costs = crf.unary[i].copy()
            for a, b in np.concatenate([crf.potentials[0].edges]):  # type: ignore[attr-defined]
                other = b if a == i else a if b == i else None
                if other is not None and labels[other] >= 0:
                    costs[labels[other]] -= w[PAIR] * 0.3
            for clique in cliques:
                if i in clique:
                    costs += [_network(w, x) for x in _inputs(crf, clique, labels, i)]
            labels[i] = int(costs.argmin())
    return labels


def _inputs(crf: pc.CRF, clique: IntArray, labels: IntArray, i: int) -> list[list[float]]:
    n_labels, size = crf.n_labels, len(clique)
    own = labels[clique]
    regret = (crf.unary[clique] - crf.unary[clique].min(1, keepdims=True)).sum(0)
    demand = (regret - regret.mean()) / np.sqrt(size)
    there = len(set(own[own >= 0].tolist())) / n_labels
    return [
        [
            float((own == label).mean()), float((own == label).any()), float((own < 0).mean()),
            there, demand[label], float((demand < demand[label]).sum()) / (n_labels - 1),
            float(np.flatnonzero(clique == i)[0]) / size, label / (n_labels - 1),
        ]
        for label in range(n_labels)
    ]  # fmt: skip


def _network(w: FloatArray, x: list[float]) -> float:
    hidden = np.maximum(0, w[FIRST:BIAS].reshape(UNITS, D) @ x + w[BIAS:OUT])
    return float(w[LINEAR:FIRST] @ x + w[OUT:] @ hidden)


@pytest.mark.parametrize("family", ["two_labels", "order"])
def test_the_pass_equals_the_formula(family: str) -> None:
    crf = make_family(family, 40, 4, seed=3)
    for seed in range(3):
        found = drawn(seed, 2)
        np.testing.assert_array_equal(found.labels(prepared(crf.arrays)), plainly(crf, found))


def test_a_policy_with_a_pass_is_kept_and_runs(tmp_path: Path) -> None:
    tuning = Tuning(PASS, (36, 36), (4, 4), 1e-6, won=True)
    policy = pc.Policy.rule(tuning, 4, first_pass=drawn(0, 1))
    policy.save(tmp_path / "p.safetensors")
    read = pc.load_policy(tmp_path / "p.safetensors")
    assert read.first_pass is not None
    assert policy.first_pass is not None
    np.testing.assert_array_equal(read.first_pass.weights, policy.first_pass.weights)
    for n_labels in (2, 5):  # the weights are shared by all labels
        crf = make_family("parity", 36, n_labels)
        found = pc.solve(crf, read, start="first_pass", refine=False, go_on=False)
        expected = read.first_pass.labels(prepared(crf.arrays))
        np.testing.assert_array_equal(found.labels, expected)
        assert found.energy == pytest.approx(crf.energy(expected))
        assert pc.solve(crf, read, start="first_pass").energy <= found.energy


def test_forbidden_labels_are_not_taken() -> None:
    unary = np.zeros((6, 3))
    unary[:, 0] = np.inf
    crf = pc.CRF(unary, pc.Custom([range(6)], lambda y, p: 0.0, partial="subset"))
    tuning = Tuning(PASS, (6, 6), (3, 3), 1e-6, won=True)
    policy = pc.Policy.rule(tuning, 3, first_pass=drawn(1, 1))
    found = pc.solve(crf, policy, start="first_pass", refine=False, go_on=False)
    assert np.isfinite(found.energy)


def test_a_pass_labels_near_its_budget_and_the_rule_elsewhere() -> None:
    crf = make_family("two_labels", 36, 4, seed=5)
    policy = pc.Policy.rule(
        Tuning(PASS, (36, 36), (4, 4), 1e-4, won=True), 4, first_pass=drawn(0, 1)
    )
    near = pc.solve(crf, policy, seconds=36 * 1e-4, refine=False, go_on=False)
    assert policy.first_pass is not None
    np.testing.assert_array_equal(near.labels, policy.first_pass.labels(prepared(crf.arrays)))
    assert near.info["numbers"] == "tuned"
    far = pc.solve(crf, policy, refine=False, go_on=False)
    rule = pc.solve(crf, "untrained", go_on=False)
    np.testing.assert_array_equal(far.labels, rule.labels)
    assert far.info["numbers"] == "default: no limit of time"


def test_a_pass_ends_in_time_and_leaves_the_rest_unlabeled() -> None:
    crf = make_family("two_labels", 9000, 4, seed=5)
    looks = iter([False, False, True])
    labels = drawn(0, 2).labels(prepared(crf.arrays), lambda: next(looks))
    assert (labels >= 0).sum() == 2 * SLICE
    found = pc.solve(crf, "unary", seconds=0.0)
    policy = pc.Policy.rule(
        Tuning(PASS, (9000, 9000), (4, 4), 1e-9, won=True), 4, first_pass=drawn(0, 2)
    )
    np.testing.assert_array_equal(pc.solve(crf, policy, seconds=0.0).labels, found.labels)


def test_a_pass_that_was_not_learned_is_refused() -> None:
    with pytest.raises(InvalidOption, match="has not learned one"):
        pc.solve(make_family("parity", 36, 4), "untrained:start=first_pass")
    with pytest.raises(InvalidOption, match="has not learned one"):
        pc.Policy.rule(Tuning(PASS, (36, 36), (4, 4), 1e-4, won=True), 4)


def test_wrong_weights_are_refused() -> None:
    with pytest.raises(InvalidOption, match="weights each"):
        FirstPass(np.zeros((1, N_WEIGHTS + 1)))
    with pytest.raises(InvalidOption, match="finite"):
        FirstPass(np.full((1, N_WEIGHTS), np.nan))
