"""OpenGM files: written here in OpenGM's layout, read back, and broken in every field."""

import itertools

import numpy as np
import pytest

import policrf as pc
from policrf.errors import InvalidFile

h5py = pytest.importorskip("h5py", reason="h5py is not installed")

CARDS = [2, 3, 3]
TABLE = np.arange(6.0).reshape(2, 3)  # over variables 0 and 1, by rows


def datasets():
    """Tables, truncated and plain differences, Potts of two and three, a constant."""
    cube = np.array([0.5, 2.0])
    return {
        "header": [2, 0, 3, 8, 5, 16000, 3, 16003, 1, 16006, 1, 16007, 1, 16005, 1, 1],
        "numbers-of-states": CARDS,
        "function-id-16000/indices": [1, 2, 2, 2, 3, 0],
        "function-id-16000/values": [0.25, 0.75, *TABLE.ravel(order="F"), 10.0],
        "function-id-16003/indices": [3, 3],
        "function-id-16003/values": [1.0, 3.0],
        "function-id-16006/indices": [3, 3],
        "function-id-16006/values": [-1.0, 2.0],
        "function-id-16007/indices": [3, 2, 3, 3],
        "function-id-16007/values": cube,
        "function-id-16005/indices": [3, 3],
        "function-id-16005/values": [2.0, 0.5],
        "factors": [
            0, 0, 1, 0,
            1, 0, 2, 0, 1,
            2, 0, 0,
            0, 1, 2, 1, 2,
            0, 2, 2, 2, 1,
            0, 3, 3, 0, 1, 2,
            0, 4, 2, 1, 2,
            0, 0, 1, 0,
        ],
    }  # fmt: skip


def energy_of(a, b, c):
    total = 2 * [0.25, 0.75][a] + TABLE[a, b] + 10.0
    total += 3.0 * min(abs(b - c), 1.0) + (-1.0 if b == c else 2.0)
    return total + (0.5 if a == b == c else 2.0) + 0.5 * min((b - c) ** 2, 2.0)


def write(path, fields, name="gm"):
    with h5py.File(path, "w") as file:
        for field, values in fields.items():
            array = np.asarray(values)
            kept = array.astype(np.uint64) if array.dtype.kind == "i" else array
            file[f"{name}/{field}"] = kept
    return path


@pytest.mark.parametrize("name", ["gm", "model"])
def test_every_labeling_has_the_energy_of_its_factors(tmp_path, name):
    crf = pc.read(write(tmp_path / "model.h5", datasets(), name))
    assert crf.cardinalities.tolist() == CARDS
    for labels in itertools.product(range(2), range(3), range(3)):
        assert crf.energy(list(labels)) == pytest.approx(energy_of(*labels), abs=1e-12)


def test_differences_without_truncation_and_old_headers(tmp_path):
    fields = {
        "header": [2, 0, 2, 3, 3, 16002, 1, 16004, 1, 16008, 1],
        "numbers-of-states": [4, 4],
        "function-id-16002/indices": [4, 4],
        "function-id-16002/values": [2.0],
        "function-id-16004/indices": [4, 4],
        "function-id-16004/values": [0.5],
        "function-id-16008/indices": [2, 4, 4],
        "function-id-16008/values": [7.0],
        "factors": [0, 0, 2, 0, 1, 0, 1, 2, 0, 1, 0, 2, 2, 0, 1],
    }
    crf = pc.read(write(tmp_path / "model.h5", fields))
    for a, b in itertools.product(range(4), repeat=2):
        assert crf.energy([a, b]) == pytest.approx(2 * abs(a - b) + 0.5 * (a - b) ** 2 + 7.0)


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("header", [3, 0, 3, 8, 0], "header starts with"),
        ("header", [2, 0, 3, 8, 7, 1], "function types"),
        ("header", [2, 0, 4, 8, 1, 16000, 3, 1], "numbers-of-states has 3"),
        ("header", [2, 0, 3, 8, 1, 16033, 3, 1], "id 16033, which cannot be read"),
        ("header", [2, 0, 3, 8, 1, 16000, 9, 1], "no valid shape"),
        ("function-id-16000/values", [0.25], "values that are missing"),
        ("function-id-16000/values", [float("nan")] * 9, "values that are missing, NaN"),
        ("function-id-16000/values", [[0.5]], "not a row of numbers"),
        ("function-id-16000/indices", [1, 2**40, 2, 2, 3, 0], "no valid shape"),
        ("factors", [0, 0, 1], "factor 0 names no valid variables"),
        ("factors", [0, 0, 1, 7], "factor 0 names no valid variables"),
        ("factors", [5, 0, 1, 0], "names a function that is not there"),
        ("factors", [0, 0, 1, 1], "has a function of shape"),
        ("factors", [0, 0, 1, 0], "factors end before factor 1 of 8"),
        ("factors", None, "gm/factors is missing"),
    ],
)
def test_broken_files_are_one_sentence(tmp_path, field, value, says):
    fields = datasets() | {field: value}
    kept = {name: given for name, given in fields.items() if given is not None}
    with pytest.raises(InvalidFile, match=says) as error:
        pc.read(write(tmp_path / "model.h5", kept))
    assert "model.h5" in str(error.value)


def test_what_is_no_hdf5_file(tmp_path):
    (tmp_path / "model.h5").write_text("MARKOV")
    with pytest.raises(InvalidFile, match="no HDF5 file"):
        pc.read(tmp_path / "model.h5")
    with pytest.raises(InvalidFile, match="no such file"):
        pc.read(tmp_path / "nowhere.h5")
    with pytest.raises(InvalidFile, match="0 groups with a model"):
        pc.read(write(tmp_path / "other.h5", {"something": [1]}))
