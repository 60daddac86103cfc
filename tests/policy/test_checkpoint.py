"""One file a policy: written, read back, opened by others, and refused when damaged."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.policy.builders import KINDS, random_instance, random_policy

import policrf as pc
from policrf.errors import InvalidFile, InvalidOption, PolicyMismatch, UnknownName
from policrf.policy.safetensors import write_safetensors


@pytest.mark.parametrize(("kind", "costs"), KINDS)
def test_what_is_saved_comes_back(kind: str, costs: str, tmp_path: Path) -> None:
    instance = random_instance(30, 0)
    policy = random_policy(instance, kind, costs, 1)
    policy = pc.Policy(
        policy.spec,
        policy.weights,
        "seven",
        energy={"terms": "u+p", "alpha": 0.5},
        features={"recipe": "paper"},
        training={"steps": 7, "seed": 0},
    )
    policy.save(tmp_path / "deep" / "policy.safetensors")
    back = pc.load_policy(tmp_path / "deep" / "policy.safetensors")
    assert (back.spec, back.name) == (policy.spec, "seven")
    assert back.energy == policy.energy
    assert back.features == policy.features
    assert back.training == policy.training
    for name, array in policy.weights.items():
        assert np.array_equal(back.weights[name], array)
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["policy.safetensors"]
    one, other = pc.solve(instance, policy), pc.solve(instance, back)
    assert one.order.tolist() == other.order.tolist()
    assert one.labels.tolist() == other.labels.tolist()


def test_other_tools_can_open_it(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    policy = pc.Policy.untrained(n_labels=3, n_features=4, label_names=("a", "b", "c"))
    policy.save(tmp_path / "p.safetensors")
    tensors = safetensors.load_file(tmp_path / "p.safetensors")
    assert {name: array.shape for name, array in tensors.items()} == policy.spec.shapes()
    assert np.array_equal(tensors["theta3"], policy.weights["theta3"])


def damage(path: Path, change: str) -> None:
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    if change == "cut":
        path.write_bytes(data[:-5])
        return
    if change == "text":
        path.write_bytes(b"hello")
        return
    del header["__metadata__"]["sha256"]  # what is behind the checksum is checked too
    if change == "newer":
        header["__metadata__"]["schema"] = "99"
    elif change == "other":
        header["__metadata__"]["format"] = "weights of a cat detector"
    elif change == "tensor":
        del header["theta4"]
    elif change == "name":
        header["theta9"] = header.pop("theta4")
    elif change == "overlap":
        header["theta1"]["data_offsets"] = [s + 4 for s in header["theta1"]["data_offsets"]]
    elif change == "shape":
        header["theta1"]["shape"] = [10**9]
    elif change == "foresight":
        spec = json.loads(header["__metadata__"]["spec"]) | {"foresight": 10**15}
        header["__metadata__"]["spec"] = json.dumps(spec)
    elif change == "deep":
        header["__metadata__"]["energy"] = "[" * 100_000
    elif change == "dtype":
        header["theta1"]["dtype"] = "F16"
    elif change == "spec":
        header["__metadata__"]["spec"] = '{"n_labels": 3, "n_features": 4, "kind": "deep"}'
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + size :])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("cut", "damaged"),
        ("text", "not a safetensors file"),
        ("newer", "newer policrf"),
        ("other", "not of a policy"),
        ("tensor", "leaves a gap"),
        ("name", r"missing \['theta4'\]"),
        ("overlap", "overlaps"),
        ("shape", "bytes for a shape"),
        ("foresight", "foresight is 1000000000000000"),
        ("deep", "nested too deeply"),
        ("dtype", "F16"),
        ("spec", "deep"),
    ],
)
def test_a_damaged_file_is_refused_with_the_reason(
    change: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "p.safetensors"
    pc.Policy.untrained(n_labels=3, n_features=4).save(path)
    damage(path, change)
    with pytest.raises(InvalidFile, match=message):
        pc.load_policy(path)


def test_names_and_paths_that_do_not_exist() -> None:
    with pytest.raises(UnknownName, match="no policy is called 'nobody'"):
        pc.load_policy("nobody")
    with pytest.raises(InvalidFile, match="there is no policy file"):
        pc.load_policy("some/where.safetensors")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "p.safetensors"
    pc.Policy.untrained(n_labels=3, n_features=4).save(path)
    before = path.read_bytes()

    class Broken(dict):  # type: ignore[type-arg]
        def values(self) -> object:
            raise OSError("disk full")

    with pytest.raises(InvalidFile, match="disk full"):
        write_safetensors(path, Broken(), {})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_labels": 3}, "made for 3 labels, the instance has 5"),
        ({"n_features": 9}, "made for 9 features, the instance has 7"),
        ({"label_names": ("sky", "sea", "cat", "dog", "car")}, "lacks 'car'; it has 'cow'"),
        ({"label_names": ("sea", "sky", "cat", "dog", "cow")}, "number 0 is 'sea' for the policy"),
    ],
)
def test_another_kind_of_instance_is_refused_with_the_difference(
    change: dict[str, object], message: str
) -> None:
    given = random_instance(20, 0)
    instance = pc.Instance(
        given.crf,
        given.features,
        given.edges,
        given.edge_weights,
        label_names=("sky", "sea", "cat", "dog", "cow"),
    )
    fields = {"n_labels": 5, "n_features": 7} | change
    with pytest.raises(PolicyMismatch, match=message):
        pc.solve(instance, pc.Policy.untrained(**fields))


def test_names_are_compared_only_where_both_have_them() -> None:
    instance = random_instance(20, 0)
    policy = pc.Policy.untrained(n_labels=5, n_features=7, label_names=tuple("abcde"))
    assert pc.solve(instance, policy).info["complete"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "deep"}, "kind is 'deep'"),
        ({"costs": "none"}, "costs is 'none'"),
        ({"layers": 0}, "layers is 0"),
        ({"label_names": ("a",)}, "1 names for 3"),
    ],
)
def test_a_spec_that_cannot_be_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        pc.Policy.untrained(**({"n_labels": 3, "n_features": 4} | fields))


def test_weights_of_the_wrong_shape_or_not_finite_are_refused() -> None:
    policy = pc.Policy.untrained(n_labels=3, n_features=4)
    for name, array, message in (
        ("theta5", np.zeros((2, 2)), "theta5 has shape"),
        ("scale", np.array([np.nan]), "not finite"),
    ):
        with pytest.raises(InvalidOption, match=message):
            pc.Policy(policy.spec, policy.weights | {name: array})


def test_a_flipped_bit_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    path = tmp_path / "p.safetensors"
    pc.Policy.untrained(n_labels=3, n_features=4).save(path)
    whole = path.read_bytes()
    for at in np.linspace(0, len(whole) - 1, 60).astype(int):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        with pytest.raises(InvalidFile):
            pc.load_policy(path)
