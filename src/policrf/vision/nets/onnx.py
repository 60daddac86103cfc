"""ONNX nets: the one place that touches onnxruntime.

onnxruntime gives a graph's declared outputs only. Protocol buffers merge when they are
concatenated, so an inner tensor becomes an output by appending a few bytes to the model:
ModelProto.graph (field 7) holding GraphProto.output (field 12) holding ValueInfoProto.name (field
1). No other package is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policrf.crf.io.text import parsing, read_bytes
from policrf.errors import InvalidFile, InvalidOption
from policrf.optional import need
from policrf.types import Float32Array

_GRAPH, _NODE, _NODE_OUTPUT, _GRAPH_OUTPUT, _VALUE_NAME = 7, 1, 2, 12, 1


class OnnxNet:
    """An `.onnx` file with one image input, `[1, 3, H, W]` or `[1, H, W, 3]`."""

    def __init__(self, path: str | Path, threads: int = 1) -> None:
        self._runtime = need("onnxruntime", "onnxruntime")
        self.path = str(path)
        self._bytes = read_bytes(path, "the net")
        self._threads = threads
        try:
            self._inner = list(dict.fromkeys(_node_outputs(self._bytes)))
        except (IndexError, ValueError, UnicodeDecodeError):
            raise InvalidFile(f"{path}: not an ONNX net") from None
        self._session = self._start([])
        self._outputs: tuple[str, ...] = ()
        inputs = self._session.get_inputs()
        if len(inputs) != 1:
            raise InvalidFile(f"{path}: the net has {len(inputs)} inputs; it must have one, images")
        entry, shape = inputs[0], inputs[0].shape
        if len(shape) != 4 or 3 not in (shape[1], shape[3]):
            raise InvalidFile(
                f"{path}: the input has shape {shape}, not [1, 3, H, W] or [1, H, W, 3]"
            )
        self._input = entry.name
        self._channels_first = shape[1] == 3
        size = shape[2:] if self._channels_first else shape[1:3]
        fixed = all(isinstance(side, int) for side in size)
        self.input_size: tuple[int, int] | None = (int(size[0]), int(size[1])) if fixed else None
        self.takes_bytes = entry.type == "tensor(uint8)"

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Every computed tensor; shapes are known only once the net has run."""
        return dict.fromkeys(self._inner, ())

    def run(self, pixels: NDArray[np.generic], names: Sequence[str]) -> list[Float32Array]:
        """Run the net once and read the named maps as `[h, w, C]`."""
        if tuple(names) != self._outputs:
            self._session = self._start(names)
            self._outputs = tuple(names)
        kind = np.uint8 if self.takes_bytes else np.float32
        batch = np.ascontiguousarray(pixels, kind)[None]
        if self._channels_first:
            batch = np.ascontiguousarray(batch.transpose(0, 3, 1, 2))
        maps = []
        for name, values in zip(names, self._answers(list(names), batch), strict=True):
            if values.ndim != 4 or values.shape[0] != 1:
                raise InvalidOption(
                    f"{self.path}: tensor {name!r} has shape {list(values.shape)}; "
                    "a map has shape [1, C, h, w]"
                )
            mapped = values[0].transpose(1, 2, 0) if self._channels_first else values[0]
            with parsing(self.path, f"tensor {name!r} holds no numbers"):
                maps.append(np.ascontiguousarray(mapped, np.float32))
        return maps

    def run_raw(self, pixels: NDArray[np.generic]) -> dict[str, NDArray[np.generic]]:
        """The graph's own outputs by name, of any shape (for detectors)."""
        if self._outputs:
            self._session, self._outputs = self._start([]), ()
        kind = np.uint8 if self.takes_bytes else np.float32
        batch = np.ascontiguousarray(pixels, kind)[None]
        if self._channels_first:
            batch = np.ascontiguousarray(batch.transpose(0, 3, 1, 2))
        names = [output.name for output in self._session.get_outputs()]
        return dict(zip(names, self._answers(names, batch), strict=True))

    def _answers(self, names: list[str], batch: NDArray[np.generic]) -> list[NDArray[Any]]:
        with parsing(self.path, "the net cannot be run"):
            return [np.asarray(value) for value in self._session.run(names, {self._input: batch})]

    def _start(self, extra: Sequence[str]) -> Any:
        options = self._runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = self._threads
        options.log_severity_level = 4
        declared: set[str] = set()
        if extra:
            declared = {output.name for output in self._session.get_outputs()}
        model = self._bytes + b"".join(_as_output(name) for name in extra if name not in declared)
        try:
            return self._runtime.InferenceSession(
                model, options, providers=["CPUExecutionProvider"], enable_fallback=0
            )
        except Exception as error:  # onnxruntime's exceptions share no base class
            raise InvalidFile(f"{self.path}: not an ONNX net ({error})") from None


def _as_output(name: str) -> bytes:
    """A ModelProto that holds nothing but one more graph output."""
    value = _field(_VALUE_NAME, name.encode())
    return _field(_GRAPH, _field(_GRAPH_OUTPUT, value))


def _field(number: int, payload: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _node_outputs(model: bytes) -> Iterator[str]:
    """The names of all tensors that the graph computes, in order."""
    for number, graph in _messages(memoryview(model)):
        if number == _GRAPH:
            for part, node in _messages(graph):
                if part == _NODE:
                    yield from (bytes(x).decode() for k, x in _messages(node) if k == _NODE_OUTPUT)


def _messages(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """The length-delimited fields of a message; others are stepped over."""
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        kind = tag & 7
        if kind == 2:
            size, at = _read_varint(data, at)
            if at + size > len(data):
                raise ValueError("truncated")
            yield tag >> 3, data[at : at + size]
            at += size
        elif kind == 0:
            _, at = _read_varint(data, at)
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise ValueError("not a protocol buffer")


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
