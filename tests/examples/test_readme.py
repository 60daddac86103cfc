"""The README's code: its Python runs in order, its commands are understood, and run if they can.

The commands of the pages in `PAGES` are held to their options too.

The commands of `QUICK`, and all on the package's own samples, run in an empty folder as they stand.
The others, which need data or minutes, are only parsed: an option that was renamed or removed fails
here.
"""

import re
import shlex
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest

import policrf as pc
from policrf.cli import main
from policrf.cli.commands import COMMANDS
from policrf.testing import random_crf

README = Path(__file__).resolve().parents[2] / "README.md"
# Their ellipses stand for the options of the line above.
DOCS = README.parent / "docs"
PAGES = [DOCS / name for name in ("learning.md", "tree_search.md", "cluster.md")]
# Pages whose Python runs as it stands, too.
TUTORIALS = [
    DOCS / f"{name}.md"
    for name in (
        "quickstart", "own_crf", "own_potential", "own_images", "train_your_own", "coming_from",
    )
]  # fmt: skip
QUICK = ("samples", "solve", "policies", "doctor")


@dataclass(frozen=True)
class Block:
    language: str
    line: int
    text: str


def blocks(*languages: str, page: Path = README) -> list[Block]:
    text = page.read_text()
    found = re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    every = [Block(m[1], text[: m.start(2)].count("\n") + 1, m[2]) for m in found]
    return [block for block in every if block.language in languages]


def commands(page: Path = README) -> list[list[str]]:
    """Every `policrf …` of the shell blocks, as arguments; continued lines are joined."""
    lines = [
        line
        for block in blocks("sh", "bash", "shell", "console", page=page)
        for line in block.text.replace("\\\n", " ").splitlines()
    ]
    plain = [line.removeprefix("$ ").replace(" ... ", " ") for line in lines]
    split = [shlex.split(line, comments=True) for line in plain]
    return [arguments[1:] for arguments in split if arguments[:1] == ["policrf"]]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    crf = random_crf(1, n_nodes=5, groups=("potts",))
    pc.write_uai(crf, tmp_path / "model.uai")
    crf.save(tmp_path / "model.npz")
    return tmp_path


def test_the_readme_has_blocks_of_both_languages():
    assert len(blocks("python")) >= 3
    assert len(commands()) >= 5
    assert all(commands(page) for page in PAGES)
    assert {arguments[0] for arguments in commands()} <= set(COMMANDS)


@pytest.mark.parametrize("page", [README, *TUTORIALS], ids=lambda page: page.stem)
def test_the_python_blocks_run_one_after_the_other(page, folder, capsys):
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks("python", page=page):
        exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), names)
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [found for page in (README, *PAGES, *TUTORIALS) for found in commands(page)],
    ids=" ".join,
)
def test_a_command_is_understood(arguments, folder, monkeypatch):
    """Its options exist and their values fit; what it would do is left out."""
    called = []
    module = import_module(f"policrf.cli.{arguments[0]}")
    monkeypatch.setattr(module, "run", called.append)
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 0
    assert len(called) == 1


@pytest.mark.parametrize("page", [README, DOCS / "quickstart.md"], ids=lambda page: page.stem)
def test_the_quick_commands_run(page, folder, capsys):
    quick = [
        given for given in commands(page) if given[0] in QUICK or "samples/" in " ".join(given)
    ]
    assert quick
    for arguments in quick:
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 0, (arguments, capsys.readouterr().err)
    assert "energy" in capsys.readouterr().out
