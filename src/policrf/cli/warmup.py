"""`policrf warmup`: compile the kernels ahead, so that no first call has to wait."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    """Compile the kernels of all solvers, or of some, and keep them on disk."""

    solvers: tuple[str, ...] = ()
    """Solvers by name; all without it."""
    jobs: int | None = None
    """Processes at a time; one a core by default."""


def run(config: Config) -> None:
    """Compile, with a bar, and say what it took."""
    import os

    from policrf.bench.warmup import tasks, warm_up
    from policrf.cli.progress import progress_bar
    from policrf.errors import InvalidOption
    from policrf.solvers.spec import SOLVERS

    for name in config.solvers:
        SOLVERS.get(name)
    jobs = config.jobs if config.jobs is not None else os.cpu_count() or 1
    if jobs < 1:
        raise InvalidOption(f"--jobs is {jobs}; it must be at least 1")
    with progress_bar("compiling", len(tasks(config.solvers))) as advance:
        wall, compiled = warm_up(config.solvers, jobs, lambda solver, seconds: advance(solver))
    print(f"kernels are compiled: {wall:.0f} s, {compiled:.0f} s of compiling in {jobs} processes")
