"""The command line: `policrf COMMAND ...`, one module a command.

A command module exposes `Config`, a frozen dataclass whose field docstrings are the help (or a
union of such, for subcommands), and `run(config)`; it may have `started(config)`, which gives the
defaults of a second reading, or None. It is imported only when its command is called, so
`policrf --help` answers at once.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr
from importlib import import_module
from typing import Any

from policrf._version import __version__
from policrf.errors import PolicrfError, UnknownName

COMMANDS = {
    "demo": "solve scenes that come with the package; a table and a page to open",
    "solve": "a labeling of least energy for a .uai or .npz model",
    "bench": "measure: the energy core, the solvers, the run times",
    "prepare": "images, a net and a detector -> CRFs on disk",
    "calibrate": "choose the weights of the energy on training data",
    "train": "learn a policy: dqn, mcts, evolve, or the supervised baseline",
    "segment": "segment one photo or a folder of them",
    "evaluate": "solvers on prepared data: IoU, energies, gaps, seconds",
}

USAGE_ERROR, INTERRUPTED = 2, 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the `policrf` script."""
    sys.exit(_main(list(sys.argv[1:] if arguments is None else arguments)))


def _main(arguments: list[str]) -> int:
    try:
        if not arguments or arguments[0] in ("-h", "--help", "help"):
            print(_overview(), flush=True)
            return 0
        if arguments[0] in ("-V", "--version"):
            print(f"policrf {__version__}")
            return 0
        return _run(arguments[0], arguments[1:])
    except PolicrfError as error:
        print(f"policrf: {error}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        print("policrf: stopped", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # such as `policrf ... | head`
        sys.stdout = None  # nothing more to flush at exit
        return 0


def _run(name: str, arguments: list[str]) -> int:
    if name not in COMMANDS:
        raise UnknownName(f"there is no command {name!r}; there are {', '.join(COMMANDS)}")
    module = import_module(f"policrf.cli.{name}")
    config = _parsed(module, name, arguments)
    # Options that are not given may have their defaults from a file that is.
    if hasattr(module, "started") and (start := module.started(config)) is not None:
        config = _parsed(module, name, arguments, default=start)
    module.run(config)
    return 0


def _parsed(module: Any, name: str, arguments: list[str], **more: Any) -> Any:
    """The arguments as the command's `Config`; `more` is for tyro."""
    import tyro

    said = io.StringIO()
    more |= {"prog": f"policrf {name}", "description": COMMANDS[name]}
    parse: Any = tyro.cli
    try:
        with redirect_stderr(said):
            return parse(module.Config, args=arguments, **more)
    except SystemExit as ended:
        if isinstance(error := _first_cause(ended), PolicrfError):
            raise error from None  # without tyro's box, which names fields, not options
        print(said.getvalue(), end="", file=sys.stderr)
        raise


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
    lines += [f"  {name:{width}}  {text}" for name, text in COMMANDS.items()]
    return "\n".join(lines)
