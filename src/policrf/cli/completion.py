"""`policrf completion SHELL`: a script that completes commands, options, solvers and policies.

    eval "$(policrf completion bash)"          in ~/.bashrc; zsh: the same with zsh, in ~/.zshrc
    policrf completion fish > ~/.config/fish/completions/policrf.fish

The script holds all words: nothing is started when a key is pressed. It is made of what --help
says, so that it knows what the commands know.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

Words = dict[str, list[str]]
_BASH = r"""_policrf() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
    local key="${COMP_WORDS[1]} ${COMP_WORDS[2]}" words
    if (( COMP_CWORD == 1 )); then
        words="@COMMANDS@"
    elif [[ $before == --solver || $before == --solvers || $before == --teacher ]]; then
        words="@SOLVERS@"
    else
        case "$key" in
@CASES@
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _policrf policrf
"""


@dataclass(frozen=True)
class Config:
    """Print the script; the shell reads it with eval, or from a file."""

    shell: Annotated[Literal["bash", "zsh", "fish"], tyro.conf.Positional] = "bash"
    """Which shell it is for."""


def run(config: Config) -> None:
    """Print it."""
    words, solvers = all_words(), solver_words()
    if config.shell == "fish":
        print(fish_script(words, solvers), end="")
        return
    if config.shell == "zsh":
        print("autoload -U +X bashcompinit && bashcompinit")
    print(bash_script(words, solvers), end="")


def all_words() -> Words:
    """Options of every command and subcommand, by "COMMAND" or "COMMAND SUBCOMMAND"."""
    from policrf.cli import help_of
    from policrf.cli.commands import COMMANDS

    found: Words = {}
    for command in COMMANDS:
        text = help_of([command])
        below = re.search(r"^usage: .*\{([a-z0-9_,-]+)\}\s*$", text, re.MULTILINE)
        subcommands = below.group(1).split(",") if below else []
        found[command] = subcommands or _options(text)
        for subcommand in subcommands:
            found[f"{command} {subcommand}"] = _options(help_of([command, subcommand]))
    return found


def _options(text: str) -> list[str]:
    """What stands at the beginning of a line of the help: not what sentences mention."""
    option = r"--[a-z][a-z0-9-]*"
    named = re.findall(rf"^[│ ]{{1,2}}((?:-\w, )?{option}(?:, {option})*)", text, re.MULTILINE)
    return sorted({word for line in named for word in re.findall(option, line)})


def solver_words() -> list[str]:
    """Solvers and policies by name."""
    from policrf.policy.checkpoint import list_policies
    from policrf.solvers import list_solvers

    return [*list_solvers(), *list_policies()]


def bash_script(words: Words, solvers: list[str]) -> str:
    """A function for bash's `complete`; longer keys first, so that subcommands are found."""
    ordered = sorted(words, key=lambda key: -key.count(" "))
    cases = "\n".join(
        f'            "{key}{"" if " " in key else " "}"*) words="{" ".join(words[key])}" ;;'
        for key in ordered
    )
    commands = [key for key in words if " " not in key]
    made = _BASH.replace("@COMMANDS@", " ".join(commands)).replace("@SOLVERS@", " ".join(solvers))
    return made.replace("@CASES@", cases)


def fish_script(words: Words, solvers: list[str]) -> str:
    """A line a command, and a line an option."""
    commands = [key for key in words if " " not in key]
    lines = [f"complete -c policrf -n __fish_use_subcommand -f -a '{' '.join(commands)}'"]
    for key, options in words.items():
        seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in key.split())
        plain = [word for word in options if not word.startswith("--")]
        if plain:
            lines.append(f"complete -c policrf -n '{seen}' -f -a '{' '.join(plain)}'")
        for option in options:
            if option in ("--solver", "--solvers", "--teacher"):
                extra = f" -x -a '{' '.join(solvers)}'"
            else:
                extra = ""
            if option.startswith("--"):
                lines.append(f"complete -c policrf -n '{seen}' -l {option[2:]}{extra}")
    return "\n".join(lines) + "\n"
