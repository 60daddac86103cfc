import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from policrf.crf.io.json_text import as_json, read_json, to_json, write_json
from policrf.errors import InvalidFile


@dataclass(frozen=True)
class Inner:
    bound: float
    sizes: tuple[int, ...]


VALUES = {
    "nested": [Inner(-math.inf, (1, 2))],
    "weight": math.inf,
    "mean": np.float32(0.5),
    "count": np.int64(3),
    "missing": math.nan,
    "path": Path("a") / "b",
    4: True,
}


def test_what_json_has_no_number_for_is_null():
    assert as_json(VALUES) == {
        "nested": [{"bound": None, "sizes": [1, 2]}], "weight": None, "mean": 0.5, "count": 3,
        "missing": None, "path": str(Path("a/b")), "4": True,
    }  # fmt: skip
    assert "Infinity" not in to_json(VALUES)
    assert "NaN" not in to_json(VALUES)


def test_infinite_weights_may_be_text():
    found = as_json(VALUES, infinity="inf")
    assert found["weight"] == "inf"
    assert found["nested"][0]["bound"] is None


def test_terminals_get_ascii_and_files_the_letters(tmp_path):
    assert to_json("straße").isascii()
    write_json(tmp_path / "x.json", {"name": "straße"})
    assert "straße" in (tmp_path / "x.json").read_text(encoding="utf-8")
    assert read_json(tmp_path / "x.json") == {"name": "straße"}
    assert json.loads(to_json(VALUES)) == as_json(VALUES)


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "no such file"), (b"{", "not a readable JSON file"), (b"\xff", "byte 0 is no UTF-8")],
)
def test_a_missing_or_damaged_file_is_named(tmp_path, content, message):
    path = tmp_path / "x.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidFile, match=rf"x\.json: .*{message}"):
        read_json(path)
