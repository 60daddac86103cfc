"""The process behind `toulbar2_service`: a network as a line of JSON in, values as a line out.

This file imports nothing of the package but the worker for proofs beside it, by its path, so that
the process starts quickly.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

WORKER = Path(__file__).parents[1] / "proofs" / "toulbar2_worker.py"


def load_worker() -> Any:
    """The module `proofs.toulbar2_worker`, without the package."""
    spec = spec_from_file_location("toulbar2_worker", WORKER)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def serve(worker: Any, lines: Any, out: int) -> None:
    """Answer until there are no more lines."""
    stop = getattr(signal, "SIGVTALRM", None)
    for line in lines:
        values = worker.solve_network(json.loads(line))["values"]
        if stop is not None:
            signal.signal(stop, signal.SIG_IGN)  # one that comes late is about an old question
        answer = json.dumps(values).encode() + b"\n"
        while answer:
            answer = answer[os.write(out, answer) :]


def main() -> None:
    """Keep stdout for the answers alone: toulbar2 prints to it."""
    if hasattr(signal, "SIGVTALRM"):
        signal.signal(signal.SIGVTALRM, signal.SIG_IGN)
    worker = load_worker()
    worker.end_with(int(sys.argv[1]), int(sys.argv[2]))
    out = os.dup(1)
    os.dup2(2, 1)
    serve(worker, sys.stdin.buffer, out)


if __name__ == "__main__":
    main()
