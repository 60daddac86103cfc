"""E and c · E are labeled alike, in the same order, by every kind that sees costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.policy.builders import climbs, distinct, odd, random_policy

import policrf as pc
from policrf.errors import InvalidOption
from policrf.policy.engine import Engine
from policrf.policy.network import Spec

EXACT = [2.0**k for k in (-10, -3, 5, 20)]  # from 1e-3 to 1e6, without rounding
ROUNDED = [1e-3, 0.37, 1e6]


def halfway(factor: float, seed: int) -> pc.Instance:
    """Cliques that are asked half-way, boxes, tables, a few forbidden labels."""
    rng = np.random.default_rng(seed)
    cliques = [np.sort(rng.choice(24, 7, replace=False)) for _ in range(4)]
    unary = rng.exponential(size=(24, 4))
    unary[rng.random(unary.shape) < 0.1] = np.inf
    unary[np.arange(24), rng.integers(0, 4, 24)] = rng.random(24)
    edges = np.array([[i, i + 1] for i in range(23)])
    crf = pc.CRF(
        factor * unary,
        pc.Potts(edges, factor * rng.random(23)),
        pc.Pairwise(edges[::3], factor * rng.random((4, 4))),
        pc.BoxAgreement(cliques[:1], [1], factor * 0.3),
        pc.BoxSupport(cliques[1:2], [2], factor * 3.1, 3),
        pc.Custom(cliques[2:], climbs, [[factor * 0.7]] * 2, partial="subset"),
        pc.Custom(cliques[:2], distinct, [[factor * 1.1]] * 2, of="counts"),
        pc.Custom(cliques[3:], odd, [[factor * 0.3]], of="counts"),
    )
    return pc.Instance.from_crf(crf)


def scene(factor: float, seed: int) -> pc.Instance:
    """A scene, and small noise in its unaries, so that no two margins are equal."""
    made = pc.make_scene(60, "ABC"[seed % 3], seed=seed, n_labels=5)
    noise = np.random.default_rng(seed).normal(scale=1e-3, size=made.crf.unary.shape)
    groups = []
    for group in made.crf.potentials:
        match group:
            case pc.Potts():
                groups.append(pc.Potts(group.edges, factor * group.weights))
            case pc.BoxAgreement():
                weights = factor * group.weights
                groups.append(pc.BoxAgreement(group.cliques, group.labels, weights))
            case pc.BoxSupport():
                penalties = factor * group.penalties
                boxes = pc.BoxSupport(group.cliques, group.labels, penalties, group.counts)
                groups.append(boxes)
    assert len(groups) == len(made.crf.potentials)
    return replace(made, crf=pc.CRF(factor * (made.crf.unary + noise), *groups))


@pytest.mark.parametrize("factor", EXACT + ROUNDED)
@pytest.mark.parametrize("made", [halfway, scene])
@pytest.mark.parametrize("kind", ["shared", "residual"])
def test_the_unit_of_the_energy_does_not_matter(kind: str, made, factor: float) -> None:
    for seed in (0, 3, 4):
        plain, scaled = made(1.0, seed), made(factor, seed)
        policy = random_policy(plain, kind, "expected", seed, width=16)
        if kind == "residual":  # its features are the instance's own, in whatever unit they are
            scaled = replace(scaled, features=plain.features)
        one, two = Engine(policy, plain).label_all(), Engine(policy, scaled).label_all()
        assert policy.spec.units
        assert one[0].tolist() == two[0].tolist()
        assert one[1].tolist() == two[1].tolist()
        np.testing.assert_allclose(two[2], one[2], rtol=0 if factor in EXACT else 1e-4)


@pytest.mark.parametrize("factor", EXACT + ROUNDED)
@pytest.mark.parametrize("costs", ["partial", "relaxed", "expected"])
def test_nor_to_the_untrained_rule(costs: str, factor: float) -> None:
    for made in (halfway, scene):
        one = pc.solve(made(1.0, 1).crf, "untrained", costs=costs)
        two = pc.solve(made(factor, 1).crf, "untrained", costs=costs)
        assert one.labels.tolist() == two.labels.tolist()
        assert one.order.tolist() == two.order.tolist()


def test_a_policy_from_before_keeps_its_costs() -> None:
    fields = pc.Policy.untrained(kind="shared", units=False).spec.as_dict()
    del fields["units"]
    assert Spec.from_dict(fields).units is False
    assert Spec.from_dict(fields | {"units": True}).units is True
    assert pc.load_policy("labels").spec.units is True


def test_fields_that_are_gone_are_read_where_they_said_nothing() -> None:
    fields = Spec(n_labels=3, n_features=2).as_dict()
    gone = {"halfway_only": False, "least_labels": 0, "most_labels": 0}
    assert Spec.from_dict(fields | gone) == Spec.from_dict(fields)
    with pytest.raises(InvalidOption, match="the fields halfway_only are missing or not known"):
        Spec.from_dict(fields | {"halfway_only": True})
