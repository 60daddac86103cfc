"""The command line: `policrf COMMAND ...`, one module a command.

A command module exposes `Config`, a frozen dataclass whose field docstrings are the help (or a
union of such, for subcommands), and `run(config)`; it may have `started(config)`, which gives the
defaults of a second reading, or None, and `OUT_IS_FILE` where --out is no folder. It is imported
only when its command is called, so `policrf --help` answers at once.
"""

from __future__ import annotations

import io
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from typing import Any

from policrf._version import __version__
from policrf.cli.commands import COMMANDS
from policrf.errors import PolicrfError, TooLarge, UnknownName

_AGAIN = "the same command goes on from what is finished"
# How to go on with a command that was stopped; the others begin again.
GOES_ON = {
    "bench": f"for solvers and potentials {_AGAIN}",
    "calibrate": _AGAIN,
    "evaluate": f"{_AGAIN}, if it was given --out",
    "prepare": _AGAIN,
    "reproduce": _AGAIN,
    "train": "the same command with --resume goes on from the last checkpoint",
}

STALE = 60.0  # seconds: a file takes less to be written
USAGE_ERROR, SIGNALED = 2, 128  # the latter is for shells: 130 after Ctrl-C, 143 after SIGTERM


class Stopped(KeyboardInterrupt):
    """A signal asked the command to end."""


class Ended(Stopped):
    """A command has ended after a signal, with what it had; it says how."""

    def __init__(self, told: str) -> None:
        super().__init__(told)
        self.told = told


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the `policrf` script."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of files need not be text
    script = arguments is None
    sys.exit(_main(list(sys.argv[1:] if arguments is None else arguments), script=script))


def _main(arguments: list[str], *, script: bool = False) -> int:
    heard: list[int] = []
    try:
        if not arguments or arguments[0] in ("-h", "--help", "help"):
            print(_overview(), flush=True)
            return 0
        if arguments[0] in ("-V", "--version"):
            print(f"policrf {__version__}")
            return 0
        with _signals_raise(script, heard), _plain_warnings():
            return _run(arguments[0], arguments[1:])
    except (KeyboardInterrupt, Exception) as error:
        # What a signal interrupts may end in any error: the signal is why.
        if heard or isinstance(error, KeyboardInterrupt):
            return _stopped(arguments[0], heard[0] if heard else signal.SIGINT, error)
        return _failed(error)


def _stopped(command: str, number: int, error: BaseException) -> int:
    """One line on what is kept and how to go on."""
    told = next((e.told for e in (error,) if isinstance(e, Ended)), GOES_ON.get(command))
    print(f"policrf: stopped{f'; {told}' if told else ''}", file=sys.stderr)
    return SIGNALED + number


def _failed(error: Exception) -> int:
    """One sentence for what a user can cause; anything else is a mistake of ours."""
    if isinstance(error, PolicrfError):
        return _refuse(error)
    if isinstance(error, MemoryError):
        return _refuse(TooLarge(f"this does not fit in memory ({error or 'an array'})"))
    if isinstance(error, BrokenPipeError):  # such as `policrf ... | head`
        sys.stdout = None  # nothing more to flush at exit
        return 0
    if isinstance(error, OSError) and error.strerror is not None:  # no disk, no rights, …
        where = f"{error.filename}: " if error.filename is not None else ""
        return _refuse(PolicrfError(f"{where}{error.strerror}"))
    raise error


def _refuse(error: PolicrfError) -> int:
    print(f"policrf: {error}", file=sys.stderr)
    return USAGE_ERROR


@contextmanager
def _signals_raise(script: bool, heard: list[int]) -> Iterator[None]:
    """Ctrl-C and SIGTERM raise `Stopped`, so that processes are ended and files removed.

    Their numbers are put into `heard`, since what is interrupted may turn it into any other error.
    After that a script only has to exit, and does so with the code that its work has earned.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: Any) -> None:
        heard.append(number)
        raise Stopped(f"signal {number}")

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if script else handler)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Warnings of our own as one line, without the place in the code."""

    def shown(message: Any, category: Any, filename: str, lineno: int, line: Any = None) -> str:
        if category is UserWarning:
            return f"policrf: warning: {message}\n"
        return before(message, category, filename, lineno, line)

    before, warnings.formatwarning = warnings.formatwarning, shown
    try:
        yield
    finally:
        warnings.formatwarning = before


def _run(name: str, arguments: list[str]) -> int:
    if name not in COMMANDS:
        raise UnknownName(f"there is no command {name!r}; there are {', '.join(COMMANDS)}")
    module = import_module(f"policrf.cli.{name}")
    config = _parsed(module, name, arguments)
    # Options that are not given may have their defaults from a file that is.
    if hasattr(module, "started") and (start := module.started(config)) is not None:
        config = _parsed(module, name, arguments, default=start)
    _check_output(module, config)
    module.run(config)
    return 0


def _check_output(module: Any, config: Any) -> None:
    """Refuse a place that cannot be written to before any work is done."""
    from dataclasses import fields
    from pathlib import Path

    from policrf.crf.io.outputs import (
        check_output_file,
        check_output_folder,
        refuse_replacing,
        remove_unfinished,
    )

    out = getattr(config, "out", None)
    if out is None:
        return
    if not hasattr(module, "OUT_IS_FILE"):
        check_output_folder(out)
        return
    file = check_output_file(out)
    others = [getattr(config, field.name) for field in fields(config) if field.name != "out"]
    refuse_replacing([file], [Path(v) for v in others if isinstance(v, str | Path) and str(v)])
    remove_unfinished(file.parent, f"{file.name}.", age=STALE)  # folders are cleared when claimed


def _parsed(module: Any, name: str, arguments: list[str], **more: Any) -> Any:
    """The arguments as the command's `Config`; `more` is for tyro."""
    import tyro

    said = io.StringIO()
    command = COMMANDS[name]
    described = f"{command.text}\n\nExample: {command.example}"
    more |= {"prog": f"policrf {name}", "description": described}
    parse: Any = tyro.cli
    try:
        with redirect_stderr(said):
            return parse(module.Config, args=arguments, **more)
    except SystemExit as ended:
        if isinstance(error := _first_cause(ended), PolicrfError):
            raise error from None  # without tyro's box, which names fields, not options
        print(said.getvalue(), end="", file=sys.stderr)
        raise


def help_of(arguments: list[str]) -> str:
    """What `policrf ARGUMENTS --help` says."""
    name, *rest = arguments
    said = io.StringIO()
    with redirect_stdout(said), suppress(SystemExit):
        _parsed(import_module(f"policrf.cli.{name}"), name, [*rest, "--help"])
    return said.getvalue()


def _first_cause(error: BaseException) -> BaseException:
    while error.__context__ is not None:
        error = error.__context__
    return error


def _overview() -> str:
    width = max(map(len, COMMANDS))
    lines = [
        "policrf: heuristics, classical solvers and proven optima for MAP inference in CRFs",
        "",
        "usage: policrf COMMAND [options]     (policrf COMMAND --help for the options)",
        "",
    ]
    lines += [f"  {name:{width}}  {text}" for name, (text, _) in COMMANDS.items()]
    return "\n".join(lines)
