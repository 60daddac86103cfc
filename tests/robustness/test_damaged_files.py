"""Damaged files of every kind: refused with a typed error, or read as if nothing had happened."""

from __future__ import annotations

import pytest
from tests.robustness.isolated import isolated
from tests.robustness.sweep import CHANGED, KINDS, SAME, TYPED, sweep

FEW, MANY = 15, 10_000
MEGABYTES = 500


@pytest.mark.parametrize("name", KINDS)
def test_a_few_of_every_kind(name: str) -> None:
    found = sweep(KINDS[name], FEW, seed=7)
    assert not found.failed, "\n".join(found.faults)
    assert sum(found.counts.values()) == FEW
    assert found.megabytes < MEGABYTES


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_many_of_every_kind_in_little_memory(name: str) -> None:
    found = isolated(name, -(-MANY // len(KINDS)), seed=1)
    assert not found.failed, "\n".join(found.faults)
    assert found.megabytes < MEGABYTES


def test_the_damage_is_seen_and_the_readers_are_not_deaf() -> None:
    """Both outcomes occur: a sweep that only ever accepts or only ever refuses shows nothing."""
    found = sweep(KINDS["energy.yaml, by hand"], 60, seed=3)
    assert found.counts[TYPED] > 5
    assert found.counts[SAME] + found.counts[CHANGED] > 5
