"""Where a command's work is done: processes of this machine, or a Ray cluster (`--ray`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import tyro

if TYPE_CHECKING:
    from policrf.execution.executor import Executor

Ray = Annotated[
    str,
    tyro.conf.arg(
        metavar="local|ADDRESS",
        help="Do the work on a Ray cluster: local, of this machine with --jobs cores, or the "
        "address of one (auto, HOST:6379, ray://HOST:10001).",
    ),
]


def executor_for(jobs: int, ray: str) -> Executor:
    """What --jobs and --ray ask for; a cluster is reached when it is first used."""
    if ray:
        from policrf.execution.ray_cluster import RayCluster
        from policrf.execution.ray_connection import LOCAL

        return RayCluster(ray, jobs if ray == LOCAL else None)
    from policrf.execution.processes import Processes

    return Processes(jobs)
