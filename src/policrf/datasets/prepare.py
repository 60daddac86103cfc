"""prepare: images, a net and a detector -> a folder of records that everything else reads.

from policrf.datasets.prepare import prepare
prepare("voc", root="VOC2012", split="val", net="deeplab.tflite", detector="yolo.cfg", out="val")
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from policrf.argument_types import typed
from policrf.datasets.base import Dataset
from policrf.datasets.options import PrepareOptions, changed
from policrf.datasets.plan import Summary, make_plan
from policrf.datasets.writer import write_prepared
from policrf.execution.executor import Advance, Executor


@typed()
def prepare(
    dataset: str | Dataset,
    *,
    out: str | Path,
    root: str | Path | None = None,
    options: PrepareOptions | None = None,
    jobs: int = 1,
    executor: Executor | None = None,
    advance: Advance = lambda name: None,
    **changes: Any,
) -> Summary:
    """Write a prepared folder; a run that was stopped goes on from what is there.

    Parameters
    ----------
    dataset
        The name of a registered data set (`policrf.datasets.DATASETS`), or one of your own.
    out
        Where the prepared data goes.
    root
        The folder of a named data set.
    options
        Everything else; the defaults without it.
    jobs
        Processes. A script that asks for more than one needs `if __name__ == "__main__":`.
    executor
        Who does the work instead of processes, such as a `RayCluster`; only this process writes.
    advance
        Called with the name of every image that is done.
    changes
        Fields of `PrepareOptions` by name, such as net="deeplab.tflite" or superpixels=500.
    """
    chosen = changed(options or PrepareOptions(), changes, "prepare")
    plan = make_plan(dataset, root, chosen)
    return write_prepared(plan, out, jobs=jobs, executor=executor, advance=advance)
