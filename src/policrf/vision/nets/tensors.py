"""Choosing tensors of a net by name: exact, a part of a fused name, or an unambiguous beginning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from policrf.errors import InvalidOption
from policrf.types import Float32Array


class NetFile(Protocol):
    """A loaded net file, whatever its format."""

    path: str
    input_size: tuple[int, int] | None
    """Height and width of its input; None where it takes any."""
    takes_bytes: bool
    """Whether its input is unscaled 8-bit pixels."""

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """The maps `[h, w, C]` that can be read, by name, in the order they are computed."""
        ...

    def run(self, pixels: NDArray[np.generic], names: Sequence[str]) -> list[Float32Array]:
        """The named maps, `[h, w, C]` each, for an input `[H, W, 3]`."""
        ...


def find_tensor(net: NetFile, wanted: str) -> str:
    """The full name of a tensor; converters fuse names with ";", and any part will do.

    >>> from types import SimpleNamespace
    >>> shapes = {"a/Relu;a/add": (9, 9, 4), "b": (3, 3, 2)}
    >>> net = SimpleNamespace(path="net.tflite", tensors=lambda: shapes)
    >>> find_tensor(net, "a/Relu")
    'a/Relu;a/add'
    """
    names = list(net.tensors())
    for test in (
        lambda name: name == wanted,
        lambda name: wanted in name.split(";"),
        lambda name: name.startswith(wanted),
    ):
        found = [name for name in names if test(name)]
        if len(found) == 1:
            return found[0]
        if found:
            raise InvalidOption(
                f"{net.path}: tensor {wanted!r} could be any of {', '.join(map(_short, found))}; "
                "name one"
            )
    there = ", ".join(f"{_short(name)} {list(shape)}" for name, shape in net.tensors().items())
    raise InvalidOption(f"{net.path}: there is no tensor {wanted!r}; there are: {there}")


def _short(name: str) -> str:
    return name.split(";")[0]
