"""Policies with tuned numbers: files, any number of labels, and where the numbers hold."""

from __future__ import annotations

import json

import numpy as np
import pytest

import policrf as pc
from policrf.errors import InvalidFile, InvalidOption, PolicyMismatch
from policrf.policy.checkpoint import save_policy
from policrf.policy.safetensors import read_safetensors, write_safetensors
from policrf.policy.tuning import Tuning
from policrf.scenes import make_family
from policrf.solvers.numbers import DEFAULT, KNOWN, UNTRAINED_STARTS, Numbers

CRF = make_family("two_labels", 36, 4, seed=1)


def tuned(*, won=True, budget=1e-3, **numbers):
    return pc.Policy.rule(Tuning(Numbers(**numbers), (30, 40), (4, 4), budget, won), 4)


def test_a_file_keeps_the_numbers_and_what_they_were_tuned_at(tmp_path):
    weights = (0.1,) * len(KNOWN)
    policy = tuned(start="unary", gain=0.1, choices=12, move_weights=weights)
    policy.save(tmp_path / "tuned.safetensors")
    stored = pc.load_policy(tmp_path / "tuned.safetensors")
    assert stored.tuning == policy.tuning
    assert stored.is_rule
    assert pc.solve(CRF, stored, seconds=0.036).info["numbers"] == "tuned"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"numbers": {"gain": "much"}}, "gain is 'much'"),
        ({"numbers": {"luck": 1}}, "numbers have no 'luck'"),
        ({"numbers": {"start": "sideways"}}, "start is 'sideways'"),
        ({"numbers": 3}, "numbers are a mapping"),
        ({"numbers": {"random_first": 1.5}}, "random_first must be a whole number"),
        ({"numbers": {"move_weights": [1.0]}}, "a list of 10 numbers"),
        ({"numbers": {"move_weights": [None] * 10}}, "finite numbers"),
        ({"numbers": {"replace_share": 0.9, "remove_share": 0.9}}, "must not exceed 1"),
        ({"nodes": 5}, "nodes is 5"),
        ({"labels": [4, 2]}, "labels is"),
        ({"budget": -1.0}, "budget is -1.0"),
        ({"won": 1}, "won is 1"),
        ({"more": 1}, "tuning must be a mapping"),
    ],
)
def test_damaged_numbers_in_a_file_are_named(tmp_path, change, message):
    path = tmp_path / "tuned.safetensors"
    save_policy(tuned(), path)
    tensors, metadata = read_safetensors(path)
    metadata["tuning"] = json.dumps(json.loads(metadata["tuning"]) | change)
    write_safetensors(path, tensors, metadata)
    with pytest.raises(InvalidFile, match=message):
        pc.load_policy(path)


@pytest.mark.parametrize("n_labels", [2, 4, 7])
@pytest.mark.parametrize("start", UNTRAINED_STARTS)
def test_every_start_serves_any_number_of_labels(start, n_labels):
    crf = make_family("co_occurrence", 36, n_labels, seed=2)
    solved = pc.solve(crf, tuned(start=start, icm=True), seconds=0.036)
    assert solved.energy == crf.energy(solved.labels)
    assert solved.info["numbers"] == "tuned"
    features = pc.Instance.from_crf(crf)
    assert pc.solve(features, tuned(start=start), seconds=0.036).labels.shape == (36,)


@pytest.mark.parametrize(
    ("n_nodes", "n_labels", "seconds", "told"),
    [
        (36, 4, 0.036, "tuned"),
        (64, 4, 0.064, "tuned"),
        (144, 4, 0.144, "default: 144 nodes, tuned at 30 to 40"),
        (36, 9, 0.036, "default: 9 labels, tuned at 4 to 4"),
        (36, 4, 0.0036, "default: 0.0001 seconds a node, tuned at 0.001"),
        (36, 4, None, "default: no limit of time"),
    ],
)
def test_numbers_hold_near_what_they_were_tuned_at(n_nodes, n_labels, seconds, told):
    crf = make_family("two_labels", n_nodes, n_labels, seed=3)
    assert pc.solve(crf, tuned(gain=0.0), seconds=seconds).info["numbers"] == told


def test_the_default_says_that_it_is_one():
    assert pc.solve(CRF, tuned(won=False), seconds=0.036).info["numbers"] == "default"


def test_without_refine_the_rule_is_the_untrained_one_with_that_gain():
    for gain in (0.0, 0.5, 1.2):
        rule = pc.solve(CRF, tuned(gain=gain, budget=1.0), seconds=36, refine=False, go_on=False)
        plain = pc.solve(CRF, f"untrained:gain={gain}")
        np.testing.assert_array_equal(rule.labels, plain.labels)


def test_options_go_before_tuned_numbers():
    given = pc.solve(
        CRF, tuned(gain=0.0, budget=1.0), seconds=36, refine=False, gain=0.8, go_on=False
    )
    np.testing.assert_array_equal(given.labels, pc.solve(CRF, "untrained:gain=0.8").labels)
    with pytest.raises(InvalidOption, match="has no option 'luck'"):
        pc.solve(CRF, tuned(), luck=1)


def test_a_trained_network_with_numbers_still_asks_for_its_labels():
    plain = pc.Policy.untrained(n_labels=4, n_features=1)
    weights = plain.weights | {"theta5": plain.weights["theta5"] + 1}
    policy = pc.Policy(plain.spec, weights, tuning=tuned().tuning)
    assert not policy.is_rule
    with pytest.raises(PolicyMismatch, match="4 labels"):
        pc.solve(make_family("two_labels", 36, 6), policy, seconds=0.036)


def test_the_defaults_are_those_of_the_solvers():
    assert pc.Policy.untrained(n_labels=2, n_features=1).spec.gain == DEFAULT.gain
    one = pc.solve(CRF, "refine:start=unary", seed=5)
    same = pc.solve(CRF, "refine:start=unary", seed=5, **{
        name: getattr(DEFAULT, name)
        for name in ("move_temperature", "halfway_share", "sweep", "random_first")
    })  # fmt: skip
    np.testing.assert_array_equal(one.labels, same.labels)
    other = pc.solve(CRF, "refine:start=unary,sweep=false,random_first=3", seed=5)
    assert other.info["random_moves"]["made"] < one.info["random_moves"]["made"]
