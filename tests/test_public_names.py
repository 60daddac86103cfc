"""`import policrf as pc`: everything is there, documented, and costs nothing until it is used."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import policrf as pc


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(pc.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname: node.module if alias.name != "errors" else "policrf"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == pc._PUBLIC


@pytest.mark.parametrize("name", [name for name in pc.__all__ if name != "__version__"])
def test_every_name_is_documented(name):
    value = getattr(pc, name)
    text = inspect.getdoc(value)
    assert text
    assert len(text.splitlines()[0]) > 15
    assert name in dir(pc)
    if inspect.isfunction(value):
        parameters = inspect.signature(value).parameters
        assert len(parameters) < 2 or "Parameters\n----------" in text, f"{name}: no Parameters"
    if dataclasses.is_dataclass(value):
        lines = text.splitlines()
        assert all(field.name in lines for field in dataclasses.fields(value)), f"{name}: fields"


def test_importing_loads_and_changes_nothing():
    code = (
        "import sys; before = list(sys.meta_path)\n"
        "import policrf\n"
        "heavy = {'numpy', 'torch', 'cv2', 'skimage', 'numba', 'scipy', 'gymnasium'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "assert sys.meta_path == before\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_missing_library_names_the_extra():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import policrf as pc\n"
        "try:\n    pc.train([], 'dqn')\n"
        "except pc.errors.MissingDependency as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "by a method needs torch; run pip install 'policrf[learn]'" in done.stdout, done.stderr


def test_a_name_that_there_is_not():
    with pytest.raises(AttributeError, match="no attribute 'slove'"):
        pc.slove  # noqa: B018
