"""Tests for two processes that meet in the middle, and the same random examples in every run.

One process begins with solvers, the other with learning, so that each compiles the kernels of its
own part; who is done first takes modules of the other's part, whose kernels are on disk by then.
`make test-all` draws new examples.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import settings

os.environ.setdefault("POLICRF_COMPILE_JOBS", "1")  # both cores have tests to run
settings.register_profile("repeatable", derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# Who comes first is taken by the first process, who comes last by the others.
ORDER = (
    "crf", "solvers", "bench", "scenes", "examples", "vision", "datasets", "mdp", "policy",
    "search", "learn",
)  # fmt: skip


def _rank(scope: str) -> int:
    folders = scope.split("/")
    found = [place for place, name in enumerate(ORDER) if name in folders]
    return found[0] if found else ORDER.index("datasets")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Modules from both ends; marks do not do it, `xdist_group` and pytest 9.2 disagree."""
    from xdist.scheduler import LoadScopeScheduling

    class FromBothEnds(LoadScopeScheduling):
        sorted = False

        def _split_scope(self, nodeid: str) -> str:
            return nodeid.split("::")[0]

        def _assign_work_unit(self, node: Any) -> None:
            if not self.sorted:
                self.sorted = True
                for scope in sorted(self.workqueue, key=_rank):
                    self.workqueue.move_to_end(scope)
            if node is not self.nodes[0]:
                self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
            super()._assign_work_unit(node)

    return FromBothEnds(config, log)
