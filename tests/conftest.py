"""Two groups of tests for two processes, and the same random examples in every run.

Each process compiles the kernels of its own half, not all. `make test-all` draws new examples.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# About half of the time, images beside solvers; the rest is learning, search and commands.
SOLVING = ("crf", "solvers", "bench", "scenes", "examples", "vision", "datasets")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A worker takes a whole group; marks do not do it, `xdist_group` and pytest 9.2 disagree."""
    from xdist.scheduler import LoadScopeScheduling

    class ByKernels(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            folders = nodeid.split("::")[0].split("/")
            return "solving" if any(folder in folders for folder in SOLVING) else "learning"

    return ByKernels(config, log)
