"""What the tests of this folder are run on: commands on tiny embedded data, as processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.shared_data import DATA
from tests.vision.builders import prepare_arguments

REPOSITORY = Path(__file__).parents[2]
PLAYING = ["--capacity", "500", "--episodes", "2"]
TRAIN = {
    "dqn": PLAYING,
    "mcts": [*PLAYING, "--simulations", "4", "--depth", "2"],
    "imitate": [],
}


def commands(root: Path, out: Path, *, rounds: int = 8) -> dict[str, list[str]]:
    """Every command that goes on after a kill, writing below `out`; `root` is prepared_scenes."""
    prepared = str(root / "prepared")
    found = {
        "prepare": prepare_arguments(root, out / "prepared"),
        "evaluate": [
            "evaluate", prepared, "--solvers", "icm", "highest_confidence_first", "refine",
            "belief_propagation", "--out", str(out / "evaluated"), "--jobs", "1",
        ],
        "calibrate": ["calibrate", prepared, "--out", str(out / "energy.yaml"), "--jobs", "1"],
    }  # fmt: skip
    for method, options in TRAIN.items():
        found[method] = [
            "train", method, "--data", "synthetic:A:20", "--count", "8", "--rounds", str(rounds),
            "--validate-rounds", "2", "--checkpoint-seconds", "0", "--updates", "3", "--batch", "8",
            *options, "--out", str(out / method),
        ]  # fmt: skip
    found["energy"] = [
        "train", "energy", "--data", "family:two_labels:36", "--count", "16", "--budget", "30us",
        "--seconds", "0.5", "--no-table", "--out", str(out / "energy"),
    ]  # fmt: skip
    return found


def voc_command(out: Path, images: int = 34) -> list[str]:
    """`prepare` of real images with a real net and detector, on two processes."""
    nets = DATA / "nets"
    return [
        "prepare", "voc", "--root", str(DATA / "voc" / "VOC2012"), "--limit", str(images),
        "--net", str(nets / "deeplabv3_mnv2_dm05_pascal_quant.tflite"),
        "--detector", str(nets / "MobileNetV2-YOLOv3-Nano-voc.cfg"), "--superpixels", "100",
        "--components", "0", "--jobs", "2", "--out", str(out / "prepared"),
    ]  # fmt: skip


def start(arguments: list[str]) -> subprocess.Popen[str]:
    """A command in a process group of its own."""
    path = os.pathsep.join([str(REPOSITORY / "src"), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-m", "policrf", *arguments],
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def handles_signals(process: subprocess.Popen[str]) -> bool:
    """Whether the process catches SIGTERM: the interpreter has come as far as the command."""
    try:
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    except OSError:
        return True
    caught = next((int(line.split()[1], 16) for line in lines if line.startswith("SigCgt")), 0)
    return bool(caught >> (signal.SIGTERM - 1) & 1)


def wait_until(condition, seconds: float = 60.0) -> None:
    """Poll until it holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)


def group_members(group: int) -> list[int]:
    """The living processes of a process group."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, owner = entry.joinpath("stat").read_text().rpartition(")")[2].split()[:3]
            except OSError:
                continue
            if int(owner) == group and state != "Z":
                found.append(int(entry.name))
    return found
