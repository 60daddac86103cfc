"""YAML files that people write: a mapping, or a clear error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from policrf.errors import InvalidFile


def read_mapping(path: str | Path, what: str, example: str) -> dict[Any, Any]:
    """The mapping that a YAML file holds.

    Parameters
    ----------
    path
        The file.
    what
        What it should be, for errors, such as "the energy".
    example
        A line that such a file holds.
    """
    import yaml

    try:
        loaded = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidFile(f"{path}: {what} cannot be read ({error})") from None
    if not isinstance(loaded, dict):
        raise InvalidFile(f"{path}: {what} is a YAML file of lines such as {example}")
    return loaded
