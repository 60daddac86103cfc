"""Models and what is learned: UAI, .npz, policies, checkpoints of training."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from tests.robustness.kinds import Kind
from tests.robustness.mutations import (
    mutated_archive,
    mutated_model,
    mutated_policy,
    mutated_safetensors,
)

import policrf as pc
from policrf.cli.solve import _read_labels
from policrf.learn.run_checkpoint import load_state, save_state
from policrf.testing import random_crf
from policrf.testing.random_groups import BUILT_IN

GROUPS = ("potts", "hop1", "hop2", "tables", *BUILT_IN)


def _crf() -> pc.CRF:
    return random_crf(3, n_nodes=5, groups=GROUPS, forbidden=0.1)


def _arrays(crf: pc.CRF) -> dict[str, Any]:
    found = {name: value for name, value in crf.arrays._asdict().items() if name != "calls"}
    return found | {"groups": [repr(group) for group in crf.potentials]}


def _make_uai(folder: Path) -> Path:
    pc.write_uai(random_crf(3, n_nodes=4, groups=("potts", "tables")), folder / "model.uai")
    return folder / "model.uai"


def _make_evidence(folder: Path) -> Path:
    _make_uai(folder)
    (folder / "model.uai.evid").write_text("1 2 0 1 3 0\n")
    return folder / "model.uai.evid"


def _make_small(ending: str) -> Any:
    def make(folder: Path) -> Path:
        path = folder / f"model{ending}"
        pc.write(random_crf(3, n_nodes=4, groups=("potts", "tables"), forbidden=0.1), path)
        return path

    return make


def _make_mpe(folder: Path) -> Path:
    pc.write_mpe(random_crf(3, n_nodes=4), [0, 1, 0, 1], folder / "model.mpe")
    return folder / "model.mpe"


def _read_mpe(path: Path) -> Any:
    return pc.read_mpe(random_crf(3, n_nodes=4), path)


def _make_labels(folder: Path) -> Path:
    np.save(folder / "labels.npy", np.array([0, 1, 0, 1]))
    return folder / "labels.npy"


def _read_initial(path: Path) -> Any:
    return pc.solve(random_crf(3, n_nodes=4), "icm", initial=_read_labels(path)).labels


def _make_crf(folder: Path) -> Path:
    _crf().save(folder / "model.npz")
    return folder / "model.npz"


def _make_instance(folder: Path) -> Path:
    crf = random_crf(3, n_nodes=6, n_labels=3, groups=("potts", "hop2"))
    truth = np.ones((crf.n_nodes, crf.n_labels), np.int64)
    source = {"from": "a test", "seed": 3}
    pc.Instance.from_crf(crf, truth=truth, source=source).save(folder / "model.npz")
    return folder / "model.npz"


def _without_checksum(path: Path) -> Path:
    """The archive with the checksum taken out of its header, as an older version wrote it."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(str(arrays["header"]))
    del header["sha256"]
    arrays["header"] = np.array(json.dumps(header))
    out = io.BytesIO()
    np.savez(out, **arrays)
    path.write_bytes(out.getvalue())
    assert zipfile.is_zipfile(path)
    return path


def _read_model(path: Path) -> Any:
    found = pc.read(path)
    crf = found.crf if isinstance(found, pc.Instance) else found
    pc.solve(crf, "icm", seconds=0.1)
    if isinstance(found, pc.CRF):
        return _arrays(crf)
    fields = (
        "features",
        "edges",
        "edge_weights",
        "truth",
        "label_names",
        "feature_names",
        "source",
    )
    return _arrays(crf) | {name: getattr(found, name) for name in fields}


def _make_policy(folder: Path) -> Path:
    policy = pc.Policy.untrained(n_labels=3, n_features=8, width=8, layers=2)
    policy = pc.Policy(policy.spec, policy.weights, "own", {"alpha": 0.5}, {}, {"rounds": 3})
    policy.save(folder / "policy.safetensors")
    return folder / "policy.safetensors"


def _unsealed_policy(folder: Path) -> Path:
    path = _make_policy(folder)
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    del header["__metadata__"]["sha256"]
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])
    return path


def _read_policy(path: Path) -> Any:
    policy = pc.load_policy(path)
    crf = random_crf(3, n_nodes=6, n_labels=3, groups=("potts", "hop2"))
    rng = np.random.default_rng(0)
    instance = pc.Instance(
        crf, rng.normal(size=(6, 8)), np.array([[0, 1], [1, 2]]), np.ones((2, 2))
    )
    pc.solve(instance, policy, seconds=1.0)
    about = (policy.name, policy.energy, policy.features, policy.training)
    return {"spec": policy.spec.as_dict(), "weights": policy.weights, "about": about}


def _make_checkpoint(folder: Path) -> Path:
    import torch

    state = {
        "theta": {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.zeros((0, 3))},
        "optimizer": {"state": {0: {"step": torch.tensor(3.0)}}, "betas": (0.9, 0.999)},
        "generator": {"state": 2**127 + 5},
        "best": float("inf"),
        "round": 7,
    }
    save_state(folder / "checkpoint.safetensors", state)
    return folder / "checkpoint.safetensors"


MODEL_KINDS = [
    Kind("UAI model", _make_uai, _read_model),
    Kind("UAI evidence", _make_evidence, lambda path: _read_model(path.with_suffix(""))),
    *(Kind(f"UAI model {packed}", _make_small(f".uai{packed}"), _read_model)
      for packed in (".gz", ".xz", ".bz2")),
    Kind("toulbar2 .wcsp", _make_small(".wcsp"), _read_model),
    Kind("toulbar2 .cfn", _make_small(".cfn"), _read_model),
    Kind("toulbar2 .cfn.xz", _make_small(".cfn.xz"), _read_model),
    Kind("labeling .mpe", _make_mpe, _read_mpe),
    Kind("initial labels .npy", _make_labels, _read_initial),
    Kind("CRF .npz", _make_crf, _read_model, sealed=True, mutate=mutated_archive),
    Kind("CRF .npz, no checksum", lambda folder: _without_checksum(_make_crf(folder)), _read_model,
         mutate=mutated_model),
    Kind("instance .npz", _make_instance, _read_model, sealed=True, mutate=mutated_archive),
    Kind("instance .npz, no checksum", lambda folder: _without_checksum(_make_instance(folder)),
         _read_model, mutate=mutated_model),
    Kind("policy", _make_policy, _read_policy, sealed=True, mutate=mutated_safetensors),
    Kind("policy, no checksum", _unsealed_policy, _read_policy, mutate=mutated_policy),
    Kind("training checkpoint", _make_checkpoint, load_state, sealed=True,
         mutate=mutated_safetensors),
]  # fmt: skip
