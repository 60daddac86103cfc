"""Progress bars for long jobs: on a terminal only, on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(title: str, total: int) -> Iterator[Callable[[str], None]]:
    """Yields `advance(text)`; quiet when stderr is not a terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[text]}"),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(title, total=total, text="")

        def advance(text: str = "") -> None:
            progress.update(task, advance=1, text=text)

        yield advance


@contextmanager
def share_bar(title: str) -> Iterator[Callable[[str, float], None]]:
    """Yields `show(text, share done)`; a line each where stderr is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (BarColumn(), TimeRemainingColumn(), TextColumn("{task.fields[text]}"))
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(title, total=1.0, text="")

        def show(text: str, share: float) -> None:
            progress.update(task, completed=min(1.0, share), text=text)
            if not console.is_terminal:
                console.print(text, soft_wrap=True)

        yield show
