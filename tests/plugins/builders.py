"""A distribution as an installer would leave it on sys.path: one module, and its entry points."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

MODULE = '''
"""A reward, a solver and a data set that policrf knows nothing of."""

import numba
import numpy as np

from policrf.datasets.layouts.folder import Folder
from policrf.mdp.rewards import Reward


@numba.njit
def last_label(costs, changes, ties, out):
    """Whatever the energy says: −½ for the last label, −¾ for the others."""
    out[:] = -0.75
    out[-1] = -0.5


MEANT_AS_A_SOLVER = 7
reward = Reward(last_label, bounded=True, forbidden=-1.0)


def plain_reward(costs, changes, ties, out):
    """A bare Python function, without traits."""
    out[:] = -2.0 * costs


def constant(run, *, label=0):
    """Every node gets the same label."""
    run.offer(np.full(run.crf.n_nodes, label))


def dataset(root, *, labels=("background", "person")):
    """Images and masks side by side."""
    return Folder(root / "images", labels, root / "masks")
'''

ENTRY_POINTS = """
[policrf.rewards]
mine = policrf_mine:reward
plain = policrf_mine:plain_reward
broken = policrf_mine:no_such_thing
sign = policrf_mine:plain_reward

[policrf.solvers]
mine = policrf_mine:constant
gone = policrf_gone:solver
number = policrf_mine:MEANT_AS_A_SOLVER

[policrf.datasets]
mine = policrf_mine:dataset
"""


def write_plugin(folder: Path) -> Path:
    """The distribution in `folder`, which is returned."""
    (folder / "policrf_mine.py").write_text(MODULE)
    info = folder / "policrf_mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: policrf-mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


def run_python(plugin: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Python with the distribution on its path."""
    paths = [str(plugin), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
    )


def run_command(plugin: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """`policrf …` with the distribution on its path."""
    return run_python(plugin, "-c", "from policrf.cli import main; main()", *arguments)
