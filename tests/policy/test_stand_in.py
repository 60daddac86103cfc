"""Stand-ins: the compiled function against its formula, files, and CRFs that they do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import policrf as pc
from policrf.errors import InvalidFile, PolicyMismatch
from policrf.policy.stand_in.function import BY_PAIR, KNOTS, NO_INPUTS, SCALARS, n_globals, stand_in
from policrf.policy.stand_in.model import StandIn, replaced
from policrf.policy.tuning import Tuning
from policrf.solvers.numbers import DEFAULT

RNG = np.random.default_rng(5)
POOLED, UNITS = 3, 4


def draw(form: int, n_parameters: int = 0, n_labels: int = 0) -> StandIn:
    inputs = POOLED + n_globals(form, n_parameters)
    shapes = {
        "tables": (max(1, n_labels), KNOTS + 1, POOLED), "mean": (inputs,), "scale": (inputs,),
        "linear": (inputs,), "first": (UNITS, inputs), "bias": (UNITS,), "second": (UNITS,),
        "constant": (1,),
    }  # fmt: skip
    weights = {name: RNG.uniform(0.5, 1.5, shape).astype("f4") for name, shape in shapes.items()}
    return StandIn("dear", form, n_parameters, n_labels, weights)


def plainly(found: StandIn, counts: Any, size: int, own: Any) -> float:
    """The formula of `function.py`, with numpy's interpolation."""
    w, pooled = found.weights, np.zeros(POOLED)
    for label, count in enumerate(counts):
        table = w["tables"][label if found.n_labels else 0]
        if count:
            places = np.arange(KNOTS + 1) / KNOTS
            pooled += [np.interp(count / size, places, column) for column in table.T]
    further = [1 - sum(counts) / size]
    if found.form == SCALARS:
        further += list(own)
    if found.form == BY_PAIR:
        there = np.array(counts) > 0
        prices = np.reshape(own, (len(counts), -1))
        further.append(float(there @ np.tril(prices, -1) @ there))
    z = (np.concatenate([pooled, further]) - w["mean"]) / w["scale"]
    hidden = np.maximum(0, w["first"] @ z + w["bias"])
    return float(w["linear"] @ z + w["second"] @ hidden + w["constant"][0])


@pytest.mark.parametrize(
    ("form", "own", "n_labels"),
    [
        (NO_INPUTS, [], 0),
        (SCALARS, [2.0, 5.0], 0),
        (BY_PAIR, list(range(9)), 0),
        (SCALARS, [1.0], 3),
    ],
)
def test_compiled_equals_the_formula(form: int, own: list[float], n_labels: int) -> None:
    found = draw(form, len(own) if form == SCALARS else 0, n_labels)
    group = pc.Custom([list(range(10))], lambda x, p: 0.0, [own], of="counts", expensive=True)
    (row,) = found.rows(group, 3)
    for counts in ([4, 0, 6], [1, 2, 3], [0, 0, 10], [0, 0, 0]):
        value = stand_in(np.array(counts), row)
        assert value == pytest.approx(plainly(found, counts, 10, own), rel=1e-5)


def dear_crf(n_labels: int = 3) -> pc.CRF:
    def dear(labels: Any, parameters: Any) -> float:
        raise AssertionError("asked")

    unary = np.random.default_rng(0).random((6, n_labels))
    return pc.CRF(unary, pc.Custom([range(6)], dear, partial="subset", expensive=True))


def test_one_table_takes_any_number_of_labels() -> None:
    for n_labels in (2, 3, 7):
        crf = replaced(dear_crf(n_labels), [draw(NO_INPUTS)])
        assert np.isfinite(crf.energy(np.zeros(6, np.int64)))


def test_tables_of_labels_take_their_number_only() -> None:
    with pytest.raises(PolicyMismatch, match="learned with 3 labels, the CRF has 4"):
        replaced(dear_crf(4), [draw(NO_INPUTS, 0, 3)])
    with pytest.raises(PolicyMismatch, match="other parameters"):
        replaced(dear_crf(4), [draw(SCALARS, 2)])


def test_files_keep_stand_ins(tmp_path: Path) -> None:
    tuning = Tuning(DEFAULT, (6, 6), (3, 3), 1e-4, won=True)
    policy = pc.Policy.rule(tuning, 3, stand_ins=(draw(NO_INPUTS),))
    policy.save(tmp_path / "p.safetensors")
    read = pc.load_policy(tmp_path / "p.safetensors")
    assert read.stand_ins[0].described() == policy.stand_ins[0].described()
    for name, array in policy.stand_ins[0].weights.items():
        np.testing.assert_array_equal(read.stand_ins[0].weights[name], array)


def test_a_damaged_stand_in_is_refused(tmp_path: Path) -> None:
    found = draw(NO_INPUTS)
    broken = {**found.weights, "bias": np.zeros(UNITS + 1, np.float32)}
    tuning = Tuning(DEFAULT, (6, 6), (3, 3), 1e-4, won=True)
    policy = pc.Policy.rule(tuning, 3, stand_ins=(found,))
    object.__setattr__(found, "weights", broken)
    policy.save(tmp_path / "p.safetensors")
    with pytest.raises(InvalidFile, match="first is damaged"):
        pc.load_policy(tmp_path / "p.safetensors")
