"""One safetensors file holds a policy: its tensors, and everything else as JSON in the header.

The format is small enough to read and write here, without torch and without the safetensors
package: 8 bytes with the length of a JSON header (little-endian), the header (name -> dtype, shape,
offsets, and "__metadata__": strings), then the tensors' bytes. Other tools that know safetensors
can open the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from policrf._version import __version__
from policrf.crf.io.files import atomic_write
from policrf.errors import InvalidFile, PolicrfError, UnknownName
from policrf.policy.network import Spec, Weights
from policrf.policy.policy import Policy

FORMAT, SCHEMA = "policrf-policy", 1
_LARGEST_HEADER = 10_000_000
_PRETRAINED = Path(__file__).resolve().parent.parent / "pretrained"
_SUFFIX = ".safetensors"


def save_policy(policy: Policy, path: str | Path) -> None:
    """Write the file in one piece: a reader sees the old one or the new one, never a half."""
    metadata = {
        "format": FORMAT,
        "schema": str(SCHEMA),
        "version": __version__,
        "name": policy.name,
        "spec": json.dumps(policy.spec.as_dict()),
        "energy": json.dumps(policy.energy),
        "features": json.dumps(policy.features),
        "training": json.dumps(policy.training),
    }
    write_safetensors(Path(path), policy.weights, metadata)


def load_policy(source: str | Path) -> Policy:
    """The policy of that name that ships with the package, or in the file at that path."""
    path = Path(source)
    if not path.is_file():
        shipped = _PRETRAINED / f"{source}{_SUFFIX}"
        if path.suffix or len(path.parts) > 1:
            raise InvalidFile(f"there is no policy file {path}")
        if not shipped.is_file():
            names = ", ".join(list_policies()) or "none"
            raise UnknownName(
                f"no policy is called {str(source)!r}, and there is no file of that name; "
                f"policies that ship with policrf: {names}"
            )
        path = shipped
    weights, metadata = read_safetensors(path)
    if metadata.get("format") != FORMAT:
        raise InvalidFile(f"{path} is a safetensors file, but not of a policy")
    if int(metadata.get("schema", "0")) > SCHEMA:
        raise InvalidFile(
            f"{path} was written by a newer policrf (schema {metadata['schema']}, "
            f"this one reads up to {SCHEMA}); upgrade policrf to use it"
        )
    try:
        parts = {
            key: json.loads(metadata[key]) for key in ("spec", "energy", "features", "training")
        }
        spec = Spec.from_dict(parts.pop("spec"))
        return Policy(spec, weights, metadata.get("name", path.stem), **parts)
    except (KeyError, TypeError, ValueError, PolicrfError) as error:
        raise InvalidFile(f"{path}: the policy in it is damaged ({error})") from error


def list_policies() -> list[str]:
    """The names of the policies that ship with the package."""
    return sorted(path.stem for path in _PRETRAINED.glob(f"*{_SUFFIX}"))


def write_safetensors(path: Path, tensors: Weights, metadata: dict[str, str]) -> None:
    """float32 tensors and string metadata; the header is padded so that the data is aligned."""
    header: dict[str, Any] = {"__metadata__": metadata}
    offset = 0
    for name, array in tensors.items():
        header[name] = {
            "dtype": "F32",
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for array in tensors.values():
            file.write(np.ascontiguousarray(array, "<f4").tobytes())


def read_safetensors(path: Path) -> tuple[Weights, dict[str, str]]:
    """What `write_safetensors` wrote."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > min(_LARGEST_HEADER, len(data) - 8):
        raise InvalidFile(f"{path} is not a safetensors file, or it is cut off")
    try:
        header = json.loads(data[8 : 8 + size])
        metadata = header.pop("__metadata__", {})
        tensors = {}
        for name, entry in header.items():
            if entry["dtype"] != "F32":
                raise InvalidFile(f"{path}: tensor {name} is {entry['dtype']}; policies hold F32")
            start, stop = (8 + size + k for k in entry["data_offsets"])
            array = np.frombuffer(data[start:stop], "<f4").reshape(entry["shape"])
            tensors[name] = array.astype(np.float32)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidFile(
            f"{path} is not a safetensors file, or it is damaged ({error})"
        ) from error
    return tensors, metadata
