"""Completion, asked as the shell asks."""

import shutil
import subprocess

import pytest

from policrf.cli import main
from policrf.cli.commands import COMMANDS
from policrf.solvers import list_solvers


@pytest.fixture
def complete(capsys, tmp_path):
    assert shutil.which("bash")
    with pytest.raises(SystemExit) as ended:
        main(["completion", "bash"])
    assert ended.value.code == 0
    file = tmp_path / "policrf.bash"
    file.write_text(capsys.readouterr().out)

    def asked(*words):
        line = " ".join(f"'{word}'" for word in ("policrf", *words))
        code = f"source {file}; COMP_WORDS=({line}); COMP_CWORD={len(words)}; _policrf; "
        done = subprocess.run(
            ["bash", "-c", code + 'printf "%s\\n" "${COMPREPLY[@]}"'],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.split()

    return asked


def test_commands_options_subcommands_and_solvers(complete):
    assert complete("") == list(COMMANDS)
    assert complete("so") == ["solve"]
    assert complete("solve", "model.uai", "--sol") == ["--solutions", "--solver"]
    assert complete("bench", "pot") == ["potentials"]
    assert complete("train", "dqn", "--epsilon-f") == ["--epsilon-final"]
    assert set(list_solvers()) <= set(complete("evaluate", "data", "--solvers", ""))


@pytest.mark.parametrize(("shell", "said"), [("zsh", "bashcompinit"), ("fish", "-l solver -x -a")])
def test_other_shells(shell, said, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["completion", shell])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert said in out
    assert "--- " not in out


def test_every_command_says_an_example(capsys):
    for name, command in COMMANDS.items():
        with pytest.raises(SystemExit):
            main([name, "--help"])
        shown = " ".join(capsys.readouterr().out.split())
        assert f"Example: {command.example}" in shown
        assert f"policrf {name}" in command.example
