"""open_dataset: a registered data set by name, with those of the options that it takes.

A data set's factory takes `root` and any of split, masks and labels by keyword; its signature says
which. One without a default is required. So a data set from outside the package needs no change
here: its factory is its declaration.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from policrf.datasets import DATASETS
from policrf.datasets.base import Dataset
from policrf.errors import InvalidOption

OPTIONS = ("split", "masks", "labels")


def open_dataset(
    name: str,
    root: str | Path,
    *,
    split: str | None = None,
    masks: str | Path | None = None,
    labels: str | Path | tuple[str, ...] | None = None,
) -> Dataset:
    """The data set of that name in a folder.

    Parameters
    ----------
    name
        One of `DATASETS.names()`; an unknown one is an error that lists them.
    root
        The data set's folder.
    split
        Which part of it; None leaves it to the data set, as with all options.
    masks
        Where its masks are, if they are elsewhere.
    labels
        The label names, background first, or a file with one a line.
    """
    from policrf.vision.classes import read_names

    factory = DATASETS.get(name)
    values: dict[str, Any] = {"split": split}
    values["masks"] = None if masks is None else Path(masks)
    values["labels"] = read_names(labels) if isinstance(labels, str | Path) else labels
    given = {option: value for option, value in values.items() if value is not None}
    _check(name, factory, given)
    made: Dataset = factory(Path(root), **given)
    return made


def takes(name: str) -> list[str]:
    """The options that the data set of that name takes."""
    parameters = inspect.signature(DATASETS.get(name)).parameters
    return [option for option in OPTIONS if option in parameters]


def _check(name: str, factory: Any, given: dict[str, Any]) -> None:
    taken = takes(name)
    for option in given:
        if option not in taken:
            known = _shown(taken) if taken else "none"
            raise InvalidOption(
                f"the data set {name!r} does not take {_shown([option])}; its options: {known}"
            )
    parameters = list(inspect.signature(factory).parameters.values())[1:]
    missing = [
        parameter.name
        for parameter in parameters
        if parameter.default is inspect.Parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        and parameter.name not in given
    ]
    if missing:
        raise InvalidOption(f"the data set {name!r} needs {_shown(missing)}")


def _shown(options: list[str]) -> str:
    return ", ".join(f"--{option}" for option in options)
