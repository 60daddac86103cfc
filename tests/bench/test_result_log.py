"""Results of a benchmark on disk: cut lines are left out, damaged ones are named."""

from __future__ import annotations

import json

import pytest

from policrf.bench.result_log import ResultLog
from policrf.errors import InvalidFile

RESULTS = [{"row": "icm", "n": k, "energy": float("inf") if k else 1.5} for k in range(3)]


@pytest.fixture
def log(tmp_path):
    made = ResultLog(tmp_path, {"seed": 3})
    for result in RESULTS:
        made.append(result)
    return made.path


def again(path):
    return ResultLog(path.parent, {"seed": 3}).results


def test_what_was_cut_short_is_left_out(log):
    assert again(log) == RESULTS
    log.write_bytes(log.read_bytes()[:-5])
    assert again(log) == RESULTS[:2]
    assert log.read_bytes().endswith(b"\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"n": 1', b'"n": 7'), (b"sha256", b"sha255"), (b"{", b"["), (b"icm", b"\xff")],
)
def test_a_damaged_line_is_named(log, old, new):
    first, rest = log.read_bytes().split(b"\n", 1)
    log.write_bytes(first + b"\n" + rest.replace(old, new, 1))
    with pytest.raises(InvalidFile, match=r"line 2: .*delete this line"):
        again(log)


def test_lines_of_older_versions_are_read(log):
    old = "".join(json.dumps(result) + "\n" for result in RESULTS)
    log.write_text(old + log.read_text())
    assert again(log) == RESULTS + RESULTS
