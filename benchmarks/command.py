"""policrf commands from a benchmark: in this process, printed first."""

from __future__ import annotations

from policrf.cli import main as policrf


def run(*arguments: object) -> None:
    """One command; a user's mistake ends the benchmark."""
    print("policrf", *arguments, flush=True)
    try:
        policrf([str(argument) for argument in arguments])
    except SystemExit as stopped:
        if stopped.code:
            raise
