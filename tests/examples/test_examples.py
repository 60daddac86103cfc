"""The examples run as they are, in a fresh process, and print what they promise."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "says"),
    [("own_potential.py", "refine"), ("own_solver.py", "check_solver: all cases ok")],
)
def test_example_runs(name, says, tmp_path):
    done = subprocess.run(
        [sys.executable, EXAMPLES / name], capture_output=True, text=True, cwd=tmp_path, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert says in done.stdout
