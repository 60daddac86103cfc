"""toulbar2 as a peer, plain or with its variable neighbourhood search, in a process of its own.

Costs are whole numbers, in millionths. Its time limit is processor time of the search; building the
network comes on top, and is not counted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from policrf.crf.arrays import clique_table
from policrf.crf.model import CRF
from policrf.types import IntArray

SCALE = 1_000_000
PATIENCE = 12  # times its budget and a minute of wall time, after which it is stopped


def toulbar2(crf: CRF, seconds: float, seed: int, vns: bool = False) -> IntArray | None:
    """Its labels; None without an answer."""
    task = describe(crf) | {"seconds": max(1, int(seconds)), "seed": seed + 1, "vns": vns}
    worker = Path(__file__).with_name("toulbar2_worker.py")
    with tempfile.TemporaryFile() as question:
        question.write(json.dumps(task).encode())
        question.seek(0)
        try:
            done = subprocess.run(
                [sys.executable, str(worker)], stdin=question, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, timeout=60 + PATIENCE * seconds, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None
    if done.returncode != 0 or not done.stdout:
        return None
    values = json.loads(done.stdout)
    return None if values is None else np.asarray(values, np.int64)


def describe(crf: CRF) -> dict[str, Any]:
    """Domains and functions, each with its lowest entry at 0."""
    a = crf.arrays
    functions: list[tuple[list[int], list[int]]] = [
        ([i], _whole(row[: a.cardinalities[i]])) for i, row in enumerate(crf.unary)
    ]
    for (i, j), weight in zip(a.edges.tolist(), a.edge_weights, strict=True):
        shape = (a.cardinalities[i], a.cardinalities[j])
        functions.append(([i, j], _whole(weight * (1 - np.eye(*shape)))))
    for c in range(len(a.clique_kind)):
        scope = a.clique_nodes[a.clique_ptr[c] : a.clique_ptr[c + 1]].tolist()
        functions.append((scope, _whole(clique_table(a, c))))
    return {"domains": a.cardinalities.tolist(), "functions": functions}


def _whole(costs: Any) -> list[int]:
    whole = np.round(SCALE * (costs - costs.min())).astype(np.int64)
    return [int(cost) for cost in whole.reshape(-1)]
