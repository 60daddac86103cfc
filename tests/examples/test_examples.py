"""Every example runs unchanged, in a fresh process, and prints what it promises."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SAYS = {"own_solver.py": "check_solver: all cases ok"}
SLOW = {"train_custom_potential.py"}


SCRIPTS = [
    pytest.param(path, id=path.name, marks=[pytest.mark.slow] * (path.name in SLOW))
    for path in sorted(EXAMPLES.glob("*.py"))
]


@pytest.mark.parametrize("path", SCRIPTS)
def test_example_runs(path, tmp_path):
    if "policrf.learn" in path.read_text() or "pc.train" in path.read_text():
        pytest.importorskip("torch", reason="training needs torch")
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert SAYS.get(path.name, "energy") in done.stdout


def test_every_example_says_how_to_run_it():
    paths = list(EXAMPLES.glob("*.py"))
    assert paths
    for path in paths:
        assert f"Run: python examples/{path.name}" in path.read_text()
