"""Learning first passes: it gets better, it is judged, and says what it found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import policrf as pc
from policrf.errors import InvalidOption
from policrf.learn.first_pass.evolve_pass import evolve_pass
from policrf.scenes import make_family


def test_evolution_lowers_the_energy_of_a_pass() -> None:
    crfs = [make_family("two_labels", 64, 4, seed=seed) for seed in range(12)]
    found = evolve_pass(crfs, passes=1, seconds=1.5)
    assert found.steps > 0
    assert found.energy <= found.start


def test_a_run_is_judged_and_kept(tmp_path: Path) -> None:
    told: list[dict[str, Any]] = []
    crfs = [make_family("two_labels", 64, 4, seed=seed) for seed in range(16)]
    policy = pc.train(
        crfs, goal="energy", budget="5us", network=True, seconds=0.5, passes=1, table=False,
        out=tmp_path, report=told.append,
    )  # fmt: skip
    assert policy.tuning is not None
    assert told[-1]["won"] == (policy.first_pass is not None)
    assert policy.tuning.won or policy.tuning.numbers.start == "rule"
    assert policy.training["reached"]["verdict"] == told[-1]["verdict"]
    read = pc.load_policy(tmp_path / "best.safetensors")
    assert (read.first_pass is None) == (policy.first_pass is None)


def test_wrong_options_are_refused() -> None:
    crfs = [make_family("parity", 36, 3, seed=seed) for seed in range(16)]
    with pytest.raises(InvalidOption, match="passes is 9"):
        pc.train(crfs, goal="energy", budget="5us", network=True, passes=9)
    with pytest.raises(InvalidOption, match="resume"):
        pc.train(crfs, goal="energy", budget="5us", network=True, resume=True, out="x")
