"""YAML files that people write: a mapping, or a clear error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from policrf import limits
from policrf.crf.io.text import parsing, read_text
from policrf.errors import InvalidFile, TooLarge


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
    text = read_text(path, what, most=limits.YAML_BYTES)
    with parsing(path, f"{what} cannot be read"):
        loaded = _loaded(text, path)
    if not isinstance(loaded, dict):
        raise InvalidFile(f"{path}: {what} is a YAML file of lines such as {example}")
    return loaded


def _loaded(text: str, path: str | Path) -> Any:
    """As yaml.safe_load, but that aliases are counted before they are followed."""
    import yaml

    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        if _written_out(node, {}) > limits.YAML_NODES:
            raise TooLarge(
                f"{path}: more than {limits.YAML_NODES:,} values once its aliases are written out"
            )
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _written_out(node: Any, known: dict[int, int]) -> int:
    """How many values a node stands for; one that holds itself is endless, and refused."""
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = limits.YAML_NODES + 1  # until it is counted: an alias to itself finds this
    total = 1
    for part in node.value if isinstance(node.value, list) else ():
        for inner in part if isinstance(part, tuple) else (part,):
            total += _written_out(inner, known)
    known[id(node)] = total
    return total
