"""A run's state on disk: arrays as safetensors, everything else as JSON beside them, a checksum.

No code is stored or run: a checkpoint of somebody else can do no harm.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from policrf.crf.io.text import parsing
from policrf.errors import InvalidFile
from policrf.policy.safetensors import Tensors, read_safetensors, write_safetensors

FORMAT = "policrf-training"
ARRAY, TENSOR, PAIRS, TUPLE = "__array__", "__tensor__", "__pairs__", "__tuple__"


def save_state(path: Path, state: dict[str, Any]) -> None:
    """Write nested dictionaries, lists and tuples of arrays, tensors and plain values."""
    arrays: dict[str, Any] = {}
    tree = json.dumps(_packed(state, arrays))
    write_safetensors(path, arrays, {"format": FORMAT, "state": tree})


def load_state(path: Path) -> dict[str, Any]:
    """What `save_state` wrote, or `InvalidFile`."""
    arrays, metadata = read_safetensors(path, sealed=True)
    if metadata.get("format") != FORMAT:
        raise InvalidFile(f"{path} is a safetensors file, but not the checkpoint of a run")
    with parsing(path, "the state in it is damaged; train again without --resume"):
        state: dict[str, Any] = _unpacked(json.loads(metadata["state"]), arrays)
    if not isinstance(state, dict):
        raise InvalidFile(f"{path}: the state in it is damaged; train again without --resume")
    return state


def _packed(value: Any, arrays: dict[str, Any]) -> Any:
    """The value as JSON, its arrays replaced by their names in `arrays`."""
    if isinstance(value, np.ndarray | torch.Tensor):
        name = str(len(arrays))
        tensor = isinstance(value, torch.Tensor)
        arrays[name] = value.detach().numpy() if isinstance(value, torch.Tensor) else value
        return {TENSOR if tensor else ARRAY: name}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: _packed(part, arrays) for key, part in value.items()}
        return {PAIRS: [[key, _packed(part, arrays)] for key, part in value.items()]}
    if isinstance(value, tuple):
        return {TUPLE: [_packed(part, arrays) for part in value]}
    if isinstance(value, list):
        return [_packed(part, arrays) for part in value]
    return value


def _unpacked(value: Any, arrays: Tensors) -> Any:
    """What `_packed` was given."""
    if isinstance(value, list):
        return [_unpacked(part, arrays) for part in value]
    if not isinstance(value, dict):
        return value
    if ARRAY in value:
        return arrays[value[ARRAY]]
    if TENSOR in value:
        return torch.from_numpy(arrays[value[TENSOR]])
    if PAIRS in value:
        return {key: _unpacked(part, arrays) for key, part in value[PAIRS]}
    if TUPLE in value:
        return tuple(_unpacked(part, arrays) for part in value[TUPLE])
    return {key: _unpacked(part, arrays) for key, part in value.items()}
