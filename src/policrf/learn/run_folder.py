"""The folder of a run: the names of its files, and that no new run takes an earlier one's place."""

from __future__ import annotations

import shutil
from pathlib import Path

from policrf.crf.io.files import make_folder
from policrf.errors import InvalidOption

CHECKPOINT, BEST = "checkpoint.safetensors", "best.safetensors"
LAST, LOG, CURVES = "last.safetensors", "log.jsonl", "tensorboard"
JOURNAL = "journal.jsonl"  # of tuned numbers; it is what a checkpoint is to learning
RESULTS = "results.jsonl"  # of an evaluation, or of a benchmark: its config.json would be replaced


def refuse_results(folder: Path) -> None:
    """Refuse a folder that holds results of another command; these are never erased."""
    if (folder / RESULTS).exists():
        raise InvalidOption(f"{folder} holds results ({RESULTS}), not a run; choose another --out")


def refuse_run(folder: Path) -> None:
    """Refuse a folder that holds a run: something that a new one would erase."""
    refuse_results(folder)
    if any((folder / name).exists() for name in (CHECKPOINT, JOURNAL, BEST, LAST)):
        raise InvalidOption(
            f"{folder} holds a run already; go on with it (--resume, resume=True), choose another "
            "--out, or erase it (--overwrite, overwrite=True)"
        )


def erase_run(folder: Path) -> None:
    """Remove what an earlier run left; the checkpoint first, so that nobody resumes a part."""
    refuse_results(folder)
    for name in (CHECKPOINT, JOURNAL, BEST, LAST, LOG):
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / CURVES, ignore_errors=True)


def begin_run(out: str | Path | None, *, overwrite: bool) -> Path | None:
    """The folder of a run that keeps no state to go on from; None without one."""
    if out is None:
        return None
    folder = make_folder(out)
    if overwrite:
        erase_run(folder)
    refuse_run(folder)
    return folder
