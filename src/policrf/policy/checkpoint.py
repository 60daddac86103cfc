"""One safetensors file holds a policy: its tensors, and everything else as JSON in the header."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from policrf._version import __version__
from policrf.argument_types import typed
from policrf.crf.io.text import parsing
from policrf.errors import InvalidFile, PolicrfError, UnknownName
from policrf.policy.first_pass.model import FirstPass
from policrf.policy.network import Spec
from policrf.policy.policy import Policy
from policrf.policy.safetensors import read_safetensors, write_safetensors
from policrf.policy.stand_in.model import StandIn
from policrf.policy.tuning import Tuning

FORMAT, SCHEMA = "policrf-policy", 1
_PRETRAINED = Path(__file__).resolve().parent.parent / "pretrained"
_SUFFIX = ".safetensors"
_FIRST_PASS = "first_pass"  # the tensor of its weights
_STAND_IN = "stand_in."  # before the names of a stand-in's tensors, with its number


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
    if policy.tuning is not None:
        metadata["tuning"] = json.dumps(policy.tuning.as_dict())
    tensors = dict(policy.weights)
    if policy.stand_ins:
        metadata["stand_ins"] = json.dumps([found.described() for found in policy.stand_ins])
        for place, found in enumerate(policy.stand_ins):
            tensors |= {f"{_STAND_IN}{place}.{name}": w for name, w in found.weights.items()}
    if policy.first_pass is not None:
        tensors[_FIRST_PASS] = policy.first_pass.weights.astype(np.float32)
    write_safetensors(Path(path), tensors, metadata)


@typed(InvalidFile)
def load_policy(source: str | Path) -> Policy:
    """Read a policy by its name or from its file.

    Parameters
    ----------
    source
        The name of a policy that ships with the package (`list_policies()`), or a file's path.
    """
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
    for name, array in weights.items():
        if array.dtype != np.float32:
            raise InvalidFile(f"{path}: tensor {name} is {array.dtype}; policies hold float32")
    if metadata.get("format") != FORMAT:
        raise InvalidFile(f"{path} is a safetensors file, but not of a policy")
    if metadata.get("schema", "0") not in [str(known) for known in range(SCHEMA + 1)]:
        raise InvalidFile(
            f"{path} was written by a newer policrf (schema {metadata.get('schema')!r:.20}, "
            f"this one reads up to {SCHEMA}); upgrade policrf to use it"
        )
    parts: dict[str, Any] = {}
    for key in ("spec", "energy", "features", "training"):
        with parsing(path, f"the policy in it is damaged, {key} cannot be read"):
            parts[key] = json.loads(metadata[key])
        if not isinstance(parts[key], dict):
            raise InvalidFile(f"{path}: the policy in it is damaged ({key} is no JSON object)")
    try:
        spec = Spec.from_dict(parts.pop("spec"))
        if "tuning" in metadata:
            parts["tuning"] = Tuning.from_dict(json.loads(metadata["tuning"]))
        if _FIRST_PASS in weights:
            parts["first_pass"] = FirstPass(weights.pop(_FIRST_PASS))
        if "stand_ins" in metadata:
            parts["stand_ins"] = _stand_ins(json.loads(metadata["stand_ins"]), weights)
            weights = {n: w for n, w in weights.items() if not n.startswith(_STAND_IN)}
        return Policy(spec, weights, metadata.get("name", path.stem), **parts)
    except PolicrfError as error:
        raise InvalidFile(f"{path}: the policy in it is damaged ({error})") from error


def _stand_ins(described: Any, tensors: Mapping[str, Any]) -> tuple[StandIn, ...]:
    if not isinstance(described, list):
        raise InvalidFile("stand_ins is no list")
    found = []
    for place, fields in enumerate(described):
        start = f"{_STAND_IN}{place}."
        own = {name[len(start) :]: w for name, w in tensors.items() if name.startswith(start)}
        found.append(StandIn.from_description(fields, own))
    return tuple(found)


def list_policies() -> list[str]:
    """The names of the policies that ship with the package."""
    return sorted(path.stem for path in _PRETRAINED.glob(f"*{_SUFFIX}"))
