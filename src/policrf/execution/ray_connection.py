"""Reaching a Ray cluster: one of this machine's own, or one that runs somewhere.

Ray is imported here first, and only when somebody asks for it. A wrong address is said in one
sentence, within `PATIENCE` seconds a step: Ray itself would try for minutes, or end the process.
"""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
from contextlib import suppress
from typing import Any

from policrf.errors import InvalidOption
from policrf.optional import need

PATIENCE = 20.0  # seconds
LOCAL = "local"
CLIENT = "ray://"
_PORTS = {CLIENT: 10001, "": 6379}  # Ray's own
# Ray reads it when it is imported: a cluster of this machine alone then listens on loopback only.
_LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
# `ray health-check`, in a process of its own: Ray ends a process that it cannot serve.
_PROBE = (sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address")


def connect(address: str, workers: int | None) -> Any:
    """Ray, connected; `workers` are the cores that a local cluster may use."""
    if address == LOCAL:
        os.environ.setdefault(_LOOPBACK, "0")
    ray = need("ray", "Ray", "ray")
    logging.getLogger("ray").setLevel(logging.ERROR)
    asked: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == LOCAL:
        asked |= {"num_cpus": workers or os.cpu_count() or 1, "include_dashboard": False}
    else:
        _check_reachable(address)
    try:
        ray.init(address=address, configure_logging=False, **asked)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise InvalidOption(
            f"--ray {address}: Ray cannot be reached: {_first_line(error)}"
        ) from None
    if cpus(ray) < 1:
        ray.shutdown()
        raise InvalidOption(f"--ray {address}: no node of this cluster has a CPU for tasks")
    return ray


def cpus(ray: Any) -> int:
    """All cores of the cluster at present."""
    return int(ray.cluster_resources().get("CPU", 0))


def _check_reachable(address: str) -> None:
    """Refuse an address where no Ray answers; "auto" is for Ray to find."""
    if address == "auto":
        return
    kind = CLIENT if address.startswith(CLIENT) else ""
    host, colon, port = address.removeprefix(kind).rpartition(":")
    if not colon:
        host, port = port, str(_PORTS[kind])
    if not host or "/" in host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise InvalidOption(
            f"--ray {address}: give local, auto, HOST:{_PORTS['']} or {CLIENT}HOST:{_PORTS[CLIENT]}"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()
    except OSError as error:
        raise InvalidOption(
            f"--ray {address}: nobody answers there ({error.strerror or error}); start Ray with "
            "`ray start --head`, or give --ray local"
        ) from None
    if not kind:
        _probe(address, f"{host}:{port}")


def _probe(address: str, place: str) -> None:
    try:
        done = subprocess.run(
            [*_PROBE, place], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        done = None
    if done is None or done.returncode != 0:
        said = "" if done is None else done.stderr
        if "AuthenticationError" in said:
            raise InvalidOption(
                f"--ray {address}: the cluster asks for a token; set RAY_AUTH_MODE=token and give "
                "its token as Ray wants it (RAY_AUTH_TOKEN_PATH)"
            )
        why = f" ({said.strip().splitlines()[-1]:.160})" if "Error" in said else ""
        raise InvalidOption(f"--ray {address}: who answers there is no Ray cluster of ours{why}")


def disconnect(ray: Any) -> None:
    """Let go of the cluster; one of this machine's own ends."""
    with suppress(Exception):
        ray.shutdown()


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
