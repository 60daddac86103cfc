"""A cell of kind figure: its picture in the cell's folder, and a sentence on what it shows."""

from __future__ import annotations

from typing import Any

from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.figures.cases import draw_cases, draw_potentials
from policrf.bench.reproduce.figures.embeddings import draw_embeddings
from policrf.bench.reproduce.figures.lines import draw_curves, draw_robustness
from policrf.bench.reproduce.figures.policy_maps import draw_policy
from policrf.bench.reproduce.figures.rewards import draw_rewards
from policrf.bench.reproduce.store import Store, Tell

DRAWN = {
    "rewards": draw_rewards,
    "embeddings": draw_embeddings,
    "policy": draw_policy,
    "potentials": draw_potentials,
    "cases": draw_cases,
    "learners": draw_cases,
    "curves-dqn": draw_curves,
    "curves-mcts": draw_curves,
    "robustness": draw_robustness,
}


def run_figure(cell: Cell, store: Store, tell: Tell) -> Any:
    """Draw it: {"files": [...], "shows": "..."}."""
    tell(0.0, str(cell.about["figure"]))
    return DRAWN[cell.about["figure"]](cell, store)
