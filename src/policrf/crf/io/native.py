"""Native `.npz` files of CRFs and Instances: plain arrays and one JSON header, never pickles.

Functions of `Custom` groups are code and are not written: a file keeps their names, and who loads
it passes them by name. Nothing in a file is ever executed.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policrf.crf.instance import Instance
from policrf.crf.io.checksums import KEY, array_digest, require_same
from policrf.crf.io.compressed import PACKED, packed_write, read_bytes
from policrf.crf.io.native_header import SCHEMA, read_header
from policrf.crf.io.npy import read_arrays
from policrf.crf.model import CRF
from policrf.crf.potentials import POTENTIALS, Custom, Potential
from policrf.errors import InvalidFile, PolicrfError

Functions = Mapping[str, Callable[..., Any]]
ArrayMap = dict[str, NDArray[Any]]


def save_crf(crf: CRF, path: str | Path) -> None:
    """Write a CRF."""
    _write(path, {"kind": "crf", **_crf_header(crf)}, _crf_arrays(crf))


def save_instance(instance: Instance, path: str | Path) -> None:
    """Write an Instance."""
    header = {
        "kind": "instance",
        **_crf_header(instance.crf),
        "label_names": list(instance.label_names),
        "feature_names": list(instance.feature_names),
        "source": instance.source,
    }
    arrays = _crf_arrays(instance.crf)
    arrays |= {
        "features": instance.features,
        "graph_edges": instance.edges,
        "graph_weights": instance.edge_weights,
    }
    if instance.truth is not None:
        arrays["truth"] = instance.truth
    if instance.positions is not None:
        arrays["positions"] = instance.positions
    _write(path, header, arrays)


def load_any(path: str | Path, *, functions: Functions | None = None) -> CRF | Instance:
    """Read a CRF or an Instance, whichever the file holds."""
    header, arrays = _read(path)
    try:
        crf = _crf_from(header, arrays, functions or {}, path)
        if header["kind"] == "crf":
            return crf
        return Instance(
            crf=crf,
            features=arrays["features"],
            edges=arrays["graph_edges"],
            edge_weights=arrays["graph_weights"],
            truth=arrays.get("truth"),
            label_names=tuple(header["label_names"]),
            feature_names=tuple(header["feature_names"]),
            source=header["source"],
            positions=arrays.get("positions"),
        )
    except KeyError as error:
        raise InvalidFile(f"{path}: the field {error} is missing; save the model again") from None
    except InvalidFile:
        raise
    except PolicrfError as error:
        raise InvalidFile(f"{path}: {error}") from error


def load_crf(path: str | Path, *, functions: Functions | None = None) -> CRF:
    """Read a CRF (of an Instance file, its CRF)."""
    loaded = load_any(path, functions=functions)
    return loaded.crf if isinstance(loaded, Instance) else loaded


def load_instance(path: str | Path, *, functions: Functions | None = None) -> Instance:
    """Read an Instance."""
    loaded = load_any(path, functions=functions)
    if isinstance(loaded, CRF):
        raise InvalidFile(
            f"{path}: holds a CRF without features; load it with CRF.load and use Instance.from_crf"
        )
    return loaded


def _crf_header(crf: CRF) -> dict[str, Any]:
    """What each group is, and which fields it has: one that is missing is no optional one."""
    groups = [
        {
            "class": p.name,
            "fields": sorted(p.fields()),
            **(p.described() if type(p) is Custom else {}),
        }
        for p in crf.potentials
    ]
    return {"groups": groups}


def _crf_arrays(crf: CRF) -> ArrayMap:
    arrays: ArrayMap = {"unary": crf.unary, "cardinalities": crf.cardinalities}
    for g, group in enumerate(crf.potentials):
        for field, array in group.fields().items():
            arrays[f"group{g}_{field}"] = array
    return arrays


def _crf_from(
    header: dict[str, Any], arrays: ArrayMap, functions: Functions, path: str | Path
) -> CRF:
    groups = []
    for g, described in enumerate(header["groups"]):
        prefix = f"group{g}_"
        own = {key[len(prefix) :]: value for key, value in arrays.items() if key.startswith(prefix)}
        _check_fields(described, prefix, own, path)
        try:
            groups.append(_group_from(described, own, functions, path))
        except PolicrfError:
            raise
        except KeyError as error:
            raise KeyError(prefix + error.args[0]) from None
        except (TypeError, ValueError, IndexError) as error:
            raise InvalidFile(
                f"{path}: the fields {prefix}{{{','.join(sorted(own))}}} do not make a "
                f"{described['class']} ({error}); save the model again"
            ) from None
    return CRF(arrays["unary"], *groups, cardinalities=arrays["cardinalities"])


def _check_fields(described: dict[str, Any], prefix: str, own: ArrayMap, path: str | Path) -> None:
    """Refuse a group without one of the fields it was written with, and cliques of no integers."""
    for field in described.get("fields", ()):
        if field not in own:
            raise KeyError(prefix + field)
    for field in ("ptr", "nodes"):
        array = own.get(field)
        if array is not None and (array.ndim != 1 or array.dtype.kind not in "iu"):
            raise InvalidFile(
                f"{path}: the field {prefix + field!r} of a {described['class']} must be a list of "
                f"integers, not {array.dtype} of shape {array.shape}; save the model again"
            )


def _group_from(
    described: dict[str, Any], own: ArrayMap, functions: Functions, path: str | Path
) -> Potential:
    classes = {known.__name__: known for known in POTENTIALS}
    if described["class"] not in classes:
        raise InvalidFile(
            f"{path}: unknown group {described['class']!r}; the file is from a newer policrf"
        )
    if "function" not in described:
        return classes[described["class"]].from_fields(own)
    for name in filter(None, map(described.get, ("function", "marked", "update"))):
        if name not in functions:
            raise InvalidFile(
                f"{path}: it uses the custom function {name!r}, which files do not hold; "
                f"pass it as functions={{{name!r}: ...}}"
            )
    return Custom.from_description(own, described, functions)


def _write(path: str | Path, header: dict[str, Any], arrays: ArrayMap) -> None:
    # As it will be read: JSON has texts only for keys, and no tuples.
    header = json.loads(json.dumps({"format": "policrf", "schema": SCHEMA, **header}))
    header[KEY] = array_digest(arrays, header)
    text = json.dumps(header)
    with packed_write(path) as file:
        whole = io.BytesIO() if Path(path).suffix.lower() in PACKED else file
        np.savez_compressed(whole, header=np.array(text), **arrays)  # type: ignore[arg-type]
        if isinstance(whole, io.BytesIO):  # an archive is written back and forth, packers go on
            file.write(whole.getbuffer())


def _read(path: str | Path) -> tuple[dict[str, Any], ArrayMap]:
    unpacked = read_bytes(path) if Path(path).suffix.lower() in PACKED else None
    arrays = read_arrays(path, "a policrf model", content=unpacked)
    header = read_header(arrays.pop("header", None), path)
    if KEY in header:
        plain = {key: value for key, value in header.items() if key != KEY}
        require_same(header[KEY], array_digest(arrays, plain), path, "save the model again")
    return header, arrays
