"""Processes that are ended while they hand over large results leave nobody waiting."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CODE = """
import sys
from policrf.execution.executor import each
from policrf.execution.processes import Processes
from tests.execution.test_stopped_workers import large

if __name__ == "__main__":
    for _ in each(large, None, list(range(200)), Processes(2)):
        raise SystemExit(7)
"""


def large(shared, item, cache):
    return bytes(20_000_000)


def test_python_exits_after_large_results_were_cut_off(tmp_path):
    root = Path(__file__).resolve().parents[2]
    paths = os.pathsep.join([str(root / "src"), str(root), os.environ.get("PYTHONPATH", "")])
    script = tmp_path / "script.py"
    script.write_text(CODE)
    done = subprocess.run(
        [sys.executable, str(script)], env=os.environ | {"PYTHONPATH": paths}, timeout=120
    )
    assert done.returncode == 7
