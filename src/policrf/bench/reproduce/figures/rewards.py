"""Why R1 learns badly (appendix C1): rewards of good and wrong actions, and two nodes that show it.

A good action gives its node the label of lowest energy in that state, a wrong one any other. Under
R1 a wrong label of a sure node often earns more than the right label of an unsure one. Actions are
those of exploring episodes of the trained policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.jobs.calibrate_job import load_energy
from policrf.bench.reproduce.jobs.instances import load
from policrf.bench.reproduce.jobs.prepare_job import prepared_folder
from policrf.bench.reproduce.jobs.train_job import policy_file
from policrf.bench.reproduce.presets import FULL, TERMS
from policrf.bench.reproduce.store import Store
from policrf.crf.features import unary_distribution
from policrf.crf.instance import Instance
from policrf.learn.experience.acting import play
from policrf.mdp.rewards import load_reward
from policrf.optional import need
from policrf.plots.figures import PRINT_DPI, save_figure
from policrf.policy.checkpoint import load_policy
from policrf.policy.engine import Engine
from policrf.policy.policy import Policy
from policrf.types import FloatArray

EPSILON = 0.2  # of exploiting
SHOWN = 5  # labels of each of the two nodes


class TwoNodes(NamedTuple):
    """An unsure node whose right label earns less than a wrong label of a sure one."""

    unsure: FloatArray  # distribution of i, largest first
    sure: FloatArray  # distribution of j
    good: float  # reward of i's best label
    wrong: float  # reward of j's second


def draw_rewards(cell: Cell, store: Store) -> dict[str, Any]:
    """Histograms under U and all terms, and the two nodes."""
    policy = load_policy(policy_file(store, cell.needs["policy"]))
    figure = need("matplotlib.figure", "matplotlib").Figure(figsize=(9, 2.9), layout="constrained")
    axes = figure.subplots(1, 3)
    told = []
    nodes = None
    for axis, terms in zip(axes, (TERMS[0], FULL), strict=False):
        instances = _instances(cell, store, terms)
        nodes = nodes or two_nodes(instances)
        good, wrong = collect(policy, instances, cell.about["actions"])
        share = overlap(good, wrong)
        _histogram(axis, good, wrong, f"R1, {terms.upper()}: wrong > good in {100 * share:.2g} %")
        told.append(f"{100 * share:.2g} % under {terms.upper()}")
    axes[0].legend(fontsize=7, frameon=False)
    assert nodes is not None
    _two_nodes_panel(axes[2], nodes)
    save_figure(figure, store.folder(cell) / "rewards.png", dpi=PRINT_DPI)
    shows = (
        f"Rewards R1 of good and wrong actions of the trained policy, {cell.about['actions']:,} "
        f"each panel; a wrong action earns more than a good one in {' and '.join(told)} of the "
        "pairs. Right: two nodes of the data, i's right label earns less than j's wrong one"
    )
    return {"files": ["rewards.png"], "shows": shows}


def _instances(cell: Cell, store: Store, terms: str) -> Sequence[Instance]:
    energy = load_energy(store, cell.needs["energy"], terms)
    folder = prepared_folder(store, cell.needs["data"])
    return load(folder, energy, terms, cell.about["features"], {})


def collect(
    policy: Policy, instances: Sequence[Instance], actions: int
) -> tuple[FloatArray, FloatArray]:
    """R1 of good and of wrong actions among those taken; forbidden ones are left out."""
    good, wrong, total, episode = [], [], 0, 0
    while total < actions:
        instance = instances[episode % len(instances)]
        engine = Engine(policy, instance)
        trail = play(engine, epsilon=EPSILON, seed=episode, reward=load_reward("difference"))
        at = np.arange(len(trail.nodes)), trail.labels
        lowest = np.where(trail.known, trail.rewards, -np.inf).max(axis=1)
        taken, known = trail.rewards[at], trail.known[at]
        best = taken >= lowest
        good.append(taken[known & best])
        wrong.append(taken[known & ~best])
        total += len(taken)
        episode += 1
    return np.concatenate(good).astype(float), np.concatenate(wrong).astype(float)


def overlap(good: FloatArray, wrong: FloatArray) -> float:
    """The probability that a wrong action earns more than a good one; 0 without wrong ones."""
    if len(good) == 0 or len(wrong) == 0:
        return 0.0
    ordered = np.sort(good)
    return float(np.searchsorted(ordered, wrong, side="left").mean() / len(ordered))


def two_nodes(instances: Sequence[Instance]) -> TwoNodes:
    """The least sure node of the data, and the node whose two best labels have all the mass."""
    unsure = sure = None
    for k in range(min(50, len(instances))):
        sorted_rows = -np.sort(-unary_distribution(instances[k].crf.unary), axis=1)
        flat = sorted_rows[sorted_rows[:, 0].argmin()]
        pair = sorted_rows[sorted_rows[:, 1].argmax()]
        unsure = flat if unsure is None or flat[0] < unsure[0] else unsure
        sure = pair if sure is None or pair[1] > sure[1] else sure
    assert unsure is not None
    assert sure is not None
    return TwoNodes(unsure, sure, float(np.log(unsure[0])), float(np.log(sure[1])))


def _histogram(axis: Any, good: FloatArray, wrong: FloatArray, title: str) -> None:
    low, high = np.percentile(np.concatenate([good, wrong]), [1, 99.5])
    bins = np.linspace(low, high + 1e-6, 50)
    axis.hist(good, bins, density=True, alpha=0.65, color="tab:blue", label="good actions")
    axis.hist(wrong, bins, density=True, alpha=0.65, color="tab:orange", label="wrong actions")
    axis.set_title(title, fontsize=8)
    axis.set_xlabel("reward", fontsize=8)
    axis.set_ylabel("density, log scale", fontsize=8)
    axis.set_yscale("log")
    axis.tick_params(labelsize=7)


def _two_nodes_panel(axis: Any, nodes: TwoNodes) -> None:
    count = min(SHOWN, len(nodes.unsure))
    at = np.arange(count)
    axis.bar(at - 0.2, nodes.unsure[:count], 0.4, color="tab:blue", label="node i")
    axis.bar(at + 0.2, nodes.sure[:count], 0.4, color="tab:orange", label="node j")
    axis.set_xticks(at, [f"{k + 1}." for k in at])
    axis.set_xlabel("labels of a node, likeliest first", fontsize=8)
    axis.set_ylabel("probability", fontsize=8)
    title = f"right label of i earns {nodes.good:.2f},\nwrong label of j {nodes.wrong:.2f}"
    axis.set_title(title, fontsize=8)
    axis.tick_params(labelsize=7)
    axis.legend(fontsize=7, frameon=False)
