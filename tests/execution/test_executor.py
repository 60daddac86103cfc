"""Work that is spread on this machine, and what is said where Ray cannot be had."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import policrf as pc
from policrf.cli import main
from policrf.errors import InvalidInstance, InvalidOption, TooLarge, UnknownName
from policrf.execution.executor import each

ROOT = Path(__file__).resolve().parents[2]


def doubled(shared, item, cache):
    cache["calls"] = cache.get("calls", 0) + 1
    return shared + 2 * item


def too_large(shared, item, cache):
    raise TooLarge(f"item {item} is too large")


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_order_and_errors_as_themselves(jobs):
    executor = pc.Processes(jobs)
    assert list(each(doubled, 1, range(20), executor)) == [1 + 2 * k for k in range(20)]
    with pytest.raises(TooLarge, match="item 3 is too large"):
        list(each(too_large, None, [3], executor))


def test_solve_many_is_solve_in_order():
    scenes = [pc.make_scene(20 + k, "A", seed=k) for k in range(5)]
    alone = [pc.solve(scene, "icm", seed=3) for scene in scenes]
    seen = []
    for executor in (None, pc.Processes(2)):
        found = pc.solve_many(scenes, "icm", executor=executor, seed=3, advance=seen.append)
        assert [one.energy for one in found] == [one.energy for one in alone]
        for one, other in zip(found, alone, strict=True):
            np.testing.assert_array_equal(one.labels, other.labels)
    assert len(seen) == 10


def test_solve_many_refuses_in_one_sentence():
    with pytest.raises(UnknownName):
        pc.solve_many([], "no such solver")
    with pytest.raises(InvalidInstance, match=r"instances\[0\] is a int"):
        pc.solve_many([3], "icm")


def test_functions_that_processes_cannot_import_are_named():
    crf = pc.CRF(np.zeros((3, 2)), pc.Custom([[0, 1]], lambda labels, parameters: 0.0, [[1.0]]))
    with pytest.raises(InvalidOption, match="cannot be sent to another process"):
        pc.solve_many([crf, crf], "icm", executor=pc.Processes(2))


def test_without_the_flag_ray_is_not_imported():
    code = (
        "import sys\nfrom policrf.cli import main\n"
        "try:\n    main(['evaluate', 'synthetic:A:20', '--limit', '2'])\n"
        "except SystemExit as ended:\n    assert ended.code == 0\n"
        "import policrf as pc\npc.RayCluster('local'), pc.solve_many\n"
        "assert 'ray' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_without_ray_the_extra_is_named():
    code = (
        "import sys; sys.modules['ray'] = None\nfrom policrf.cli import main\n"
        "main(['evaluate', 'synthetic:A:20', '--limit', '2', '--ray', 'local'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("policrf: Ray is needed here")
    assert "pip install 'policrf[ray]'" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:1", "nobody answers there (Connection refused)"),
        ("ray://127.0.0.1:1", "nobody answers there (Connection refused)"),
        ("a b:c", "give local, auto, HOST:6379 or ray://HOST:10001"),
    ],
)
def test_a_wrong_address_is_one_sentence(address, said, capsys):
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'policrf[ray]'")
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", "synthetic:A:20", "--limit", "2", "--ray", address])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith(f"policrf: --ray {address}: {said}")
    assert error.count("\n") == 1


@pytest.mark.slow
def test_an_address_of_something_else_is_left_in_time():
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'policrf[ray]'")
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        done = subprocess.run(
            [sys.executable, "-m", "policrf", "evaluate", "synthetic:A:20", "--ray", address],
            capture_output=True, text=True, timeout=60,
            env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        )  # fmt: skip
    assert done.returncode == 2
    assert "no Ray cluster of ours" in done.stderr
