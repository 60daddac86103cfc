"""Two groups of tests for two processes: each compiles the kernels of its own half, not all."""

from __future__ import annotations

import pytest

SOLVING = ("crf", "solvers", "bench", "scenes", "examples")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        solving = any(folder in item.path.parts for folder in SOLVING)
        item.add_marker(pytest.mark.xdist_group("solving" if solving else "learning"))
