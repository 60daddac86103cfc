"""What a training run shows of itself while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class TrainingBar:
    """A progress bar on a terminal; on anything else a line for every validation."""

    def __init__(self, rounds: int, seconds: float | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self.rounds, self.seconds = rounds, seconds
        self.console = Console(stderr=True)
        columns = (BarColumn(), TimeRemainingColumn(), TextColumn("{task.fields[text]}"))
        self.progress = Progress(
            *columns, console=self.console, disable=not self.console.is_terminal
        )
        self.task = self.progress.add_task("training", total=1.0, text="")
        self.figures: dict[str, Any] = {}

    def __enter__(self) -> Callable[[dict[str, Any]], None]:
        self.progress.start()
        return self.show

    def __exit__(self, *exception: object) -> None:
        self.progress.stop()

    def show(self, line: dict[str, Any]) -> None:
        """Advance; remembers the last validation's figures."""
        validated = "energy" in line
        names = ("energy", "iou", "refined", "val_energy", "val_iou")
        self.figures |= {name: line[name] for name in names if name in line}
        shown = {k: line[k] for k in ("loss", "reward") if k in line} | self.figures
        rates = ("episodes_per_second", "transitions_per_second", "updates_per_second")
        shown |= {name.replace("_per_second", "/s"): line[name] for name in rates if name in line}
        text = "  ".join(f"{name} {value:.4g}" for name, value in shown.items())
        done = line["round"] / max(1, self.rounds)
        if self.seconds:
            done = max(done, line["seconds"] / self.seconds)
        self.progress.update(self.task, completed=min(1.0, done), text=text)
        if validated and not self.console.is_terminal:
            self.console.print(
                f"round {line['round']}  {line['seconds']:.0f} s  {text}", soft_wrap=True
            )
