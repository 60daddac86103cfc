"""Is a policy better than the untrained rule on data that it was not trained on?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import shipped_policies

from policrf.crf.instance import Instance
from policrf.metrics import FREQUENT, mean_iou, pixel_confusion
from policrf.policy.policy import Policy
from policrf.solvers import solve

OPPONENTS = ("untrained", "unary", "alpha_expansion", "refine")
DRAWS = 2000
LINES = "lines"  # of the card


def judged_on_images(policy: Policy, images: Sequence[Instance], block: int) -> dict[str, Any]:
    """Pixel IoU of the set over the frequent classes, less that of others, by bootstrap.

    Parameters
    ----------
    policy
        What is judged.
    images
        With truth; none of them was trained on.
    block
        Images that are drawn together.
    """
    confusions, energies = {}, {}
    for row in ("policy", *OPPONENTS):
        solved = [solve(image, policy if row == "policy" else row) for image in images]
        pairs = zip(images, solved, strict=True)
        confusions[row] = np.array([pixel_confusion(i.truth, s.labels) for i, s in pairs])
        energies[row] = float(np.mean([solution.energy for solution in solved]))
    true = confusions["unary"].sum(axis=2)  # [images, L]
    classes = (true > 0).sum(axis=0) >= FREQUENT
    draws = _draws(len(images), block)
    iou = {row: 100 * mean_iou(counts.sum(axis=0), classes) for row, counts in confusions.items()}
    differences = {}
    for row in OPPONENTS:
        spread = [
            _iou(confusions["policy"], d, classes) - _iou(confusions[row], d, classes)
            for d in draws
        ]
        low, high = np.percentile(spread, [2.5, 97.5])
        differences[row] = [iou["policy"] - iou[row], float(low), float(high)]
    worse = 100 * (energies["policy"] / energies["untrained"] - 1)
    lines = [
        f"better than the untrained rule on {len(images)} images not trained on"
        if differences["untrained"][1] > 0
        else f"not surely better than the untrained rule on {len(images)} images",
        f"IoU (p), frequent classes: {iou['policy']:.2f}",
        *(f"− {row}: {_shown(found)}" for row, found in differences.items()),
        f"energy {worse:+.1f} % of the untrained rule's",
    ]
    below = any(high < 0 for _, _, high in differences.values())
    return {
        "ships": differences["untrained"][1] > 0 and not below,
        "judged on": f"{len(images)} images",
        "IoU": round(iou["policy"], 2), "− untrained": _shown(differences["untrained"]),
        "− best solver": _shown(min((differences[r] for r in OPPONENTS[1:]), key=lambda d: d[0])),
        "energy, %": f"{worse:+.1f}", LINES: lines,
    }  # fmt: skip


def judged_on_scenes(policy: Policy) -> dict[str, Any]:
    """IoU of single scenes less the untrained rule's, by regime and number of nodes."""
    lines, verdicts, gains, energies = [], [], [], []
    for cell, instances in shipped_policies.cells(shipped_policies.Config()):
        plain_iou, plain_energy = shipped_policies.measured(instances, "untrained")
        iou, energy = shipped_policies.measured(instances, policy)
        judged = shipped_policies.Judged(iou, energy, iou - plain_iou, energy - plain_energy)
        verdicts.append(judged.better("labels"))
        gains.append(judged.gain.mean())
        energies.append(100 * (energy.mean() / plain_energy.mean() - 1))
        gain, lower = (shipped_policies.shown(v) for v in (judged.gain, judged.lower))
        lines.append(f"{cell}: IoU {gain}, energy {lower}")
    better, level, worse = (verdicts.count(k) for k in (1, 0, -1))
    told = f"better than the untrained rule in {better} kinds of scenes, level in {level}"
    return {
        "ships": better > 0 and worse == 0, "judged on": f"{len(verdicts)} kinds of fresh scenes",
        "IoU": None, "− untrained": f"{np.mean(gains):+.2f}; better in {better}, worse in {worse}",
        "− best solver": None, "energy, %": f"{np.mean(energies):+.1f}",
        LINES: [f"{told}, worse in {worse}", *lines],
    }  # fmt: skip


def _draws(count: int, block: int) -> list[np.ndarray]:
    """Positions of images, drawn with replacement in blocks of neighbours."""
    generator = np.random.default_rng(0)
    blocks = np.array_split(np.arange(count), max(1, round(count / block)))
    return [
        np.concatenate([blocks[k] for k in generator.integers(len(blocks), size=len(blocks))])
        for _ in range(DRAWS)
    ]


def _iou(counts: np.ndarray, drawn: np.ndarray, classes: np.ndarray) -> float:
    return float(100 * mean_iou(counts[drawn].sum(axis=0), classes))


def _shown(found: list[float]) -> str:
    mean, low, high = found
    return f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]"
