"""TensorFlow Lite nets: the one place that touches ai-edge-litert.

Inner tensors can be read because every tensor is preserved and no delegate fuses layers away;
quantised ones are scaled back to real numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policrf.crf.io.text import parsing
from policrf.errors import InvalidFile
from policrf.optional import need
from policrf.types import Float32Array


class TFLiteNet:
    """A `.tflite` file with one image input `[1, H, W, 3]`."""

    def __init__(self, path: str | Path, threads: int = 1) -> None:
        litert = need("ai_edge_litert.interpreter", "ai-edge-litert")
        self.path = str(path)
        try:
            self._interpreter = litert.Interpreter(
                str(path),
                experimental_preserve_all_tensors=True,
                experimental_op_resolver_type=litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
                num_threads=threads,
            )
            self._interpreter.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            raise InvalidFile(f"{path}: not a TensorFlow Lite net ({error})") from None
        inputs = self._interpreter.get_input_details()
        if len(inputs) != 1:
            raise InvalidFile(f"{path}: the net has {len(inputs)} inputs; it must have one, images")
        self._input = inputs[0]
        shape = self._input["shape"]
        if len(shape) != 4 or shape[3] != 3:
            raise InvalidFile(f"{path}: the input has shape {shape.tolist()}, not [1, H, W, 3]")
        self.input_size: tuple[int, int] | None = (int(shape[1]), int(shape[2]))
        self.takes_bytes = self._input["dtype"] == np.uint8
        given = int(self._input["index"])
        operations = self._interpreter._get_ops_details()
        computed = {int(index) for operation in operations for index in operation["outputs"]}
        self._details: dict[str, dict[str, Any]] = {}
        for detail in self._interpreter.get_tensor_details():
            shape = detail["shape"]
            is_map = len(shape) == 4 and shape[0] == 1 and detail["index"] != given
            # Depthwise weights have four axes and a leading 1 too; they are no operation's output.
            if is_map and detail["name"] and int(detail["index"]) in computed:
                self._details.setdefault(detail["name"], detail)

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Every computed map `[h, w, C]`."""
        return {name: tuple(map(int, d["shape"][1:])) for name, d in self._details.items()}

    def run(self, pixels: NDArray[np.generic], names: Sequence[str]) -> list[Float32Array]:
        """Invoke the net once and read the named maps."""
        with parsing(self.path, "the net cannot be run"):
            self._interpreter.set_tensor(self._input["index"], self._as_input(pixels)[None])
            self._interpreter.invoke()
        maps = []
        for name in names:
            detail = self._details[name]
            values = self._interpreter.get_tensor(detail["index"])[0].astype(np.float32)
            scale, zero = detail["quantization"]
            maps.append((values - zero) * np.float32(scale) if scale else values)
        return maps

    def _as_input(self, pixels: NDArray[np.generic]) -> NDArray[np.generic]:
        kind = self._input["dtype"]
        if kind == np.int8:
            return (pixels.astype(np.int16) - 128).astype(np.int8)
        return np.ascontiguousarray(pixels, kind)
