"""Two groups of tests for two processes: each compiles the kernels of its own half, not all."""

from __future__ import annotations

from typing import Any

import pytest

SOLVING = ("crf", "solvers", "bench", "scenes", "examples")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A worker takes a whole group; marks do not do it, `xdist_group` and pytest 9.2 disagree."""
    from xdist.scheduler import LoadScopeScheduling

    class ByKernels(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            folders = nodeid.split("::")[0].split("/")
            return "solving" if any(folder in folders for folder in SOLVING) else "learning"

    return ByKernels(config, log)
