"""Budgets of CPU time: the clock that solvers read."""

from __future__ import annotations

import time

from policrf.evaluation import cpu_time as module
from policrf.evaluation.cpu_time import cpu_budgets


def test_budgets_are_cpu_time_and_the_clock_is_put_back(monkeypatch):
    now = {"wall": 100.0, "cpu": 7.0, "children": 3.0}
    monkeypatch.setattr(module, "_children", lambda: now["children"])
    monkeypatch.setattr(time, "process_time", lambda: now["cpu"])
    monkeypatch.setattr(time, "perf_counter", lambda: now["wall"])
    with cpu_budgets():
        now |= {"wall": 104.0, "cpu": 7.75, "children": 3.25}
        assert time.perf_counter() == 1.0
        # A solver that waits for something else comes to an end.
        now["wall"] = 151.0
        assert time.perf_counter() == 5.0
    assert time.perf_counter() == 151.0
