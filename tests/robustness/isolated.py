"""A sweep in a process of its own, in little memory: `python -m tests.robustness.isolated`."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.robustness.sweep import KINDS, PATIENCE, Sweep, sweep

ROOM = 2 * 2**30  # bytes of address space beyond what the process has when the sweep begins
STARTING = 300  # seconds until every library is loaded and every kernel compiled


def isolated(kind: str, mutations: int, *, seed: int = 0) -> Sweep:
    """As `sweep`, with little memory; a crash or a hang of the process is an error."""
    root = Path(__file__).resolve().parents[2]
    paths = [str(root / "src"), str(root), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", "tests.robustness.isolated", kind, str(mutations), str(seed)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True, text=True, check=False, cwd=root,
        timeout=STARTING + PATIENCE * mutations,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{kind}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    values = json.loads(done.stdout.splitlines()[-1])
    return Sweep(**values | {"counts": Counter(values["counts"])})


def _main(name: str, mutations: int, seed: int) -> None:
    kind = KINDS[name]
    sweep(kind, 20, seed=10**6)  # libraries and kernels are loaded
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))
    print(json.dumps(vars(sweep(kind, mutations, seed=seed))))


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
