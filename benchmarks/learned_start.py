"""A learned start for frustrated fields: what does it add to beliefs, and to annealing alone?

    python benchmarks/learned_start.py

A policy that shares its weights across labels gives every label of every node a score: a linear
function of its unary, its mean-field belief, what it costs among the likeliest labels of the
neighbours, and what it is expected to cost. It is trained by logistic regression on small fields of
a family, towards the best labels that a long search finds, and used on large ones: the highest
score of every node is where thermal cycles start. All rows go on by the same cycles at the same
temperatures, and pay for their start; CPU time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

from policrf.compiled import kernel
from policrf.crf.arrays import Arrays
from policrf.crf.model import CRF
from policrf.evaluation.cpu_time import cpu_budgets
from policrf.evaluation.tables import Table, write_tables
from policrf.scenes import make_frustrated
from policrf.solvers import solve
from policrf.solvers.run import Run
from policrf.solvers.thermal.cycles import cycle_on
from policrf.solvers.thermal.kept_costs import new_kept
from policrf.types import FloatArray, IntArray

TRAINED_FROM, JUDGED_FROM = 1_000, 0  # seeds of small and of large fields
TEMPERATURE = 0.5  # of mean field, in units of the terms
SWEEPS = 8  # of mean field
STEPS, RATE = 300, 1.0  # of the regression


@dataclass(frozen=True)
class Config:
    """Sizes, and where the table goes."""

    families: tuple[str, ...] = ("random", "glass")
    small: int = 300
    """Nodes of fields to train on."""
    small_count: int = 6
    small_seconds: float = 0.4
    """Of the search whose labels are learned."""
    large: int = 5_000
    """Nodes of fields to judge on."""
    count: int = 2
    budgets: tuple[float, ...] = (0.1, 1.0)
    out: Path = Path("benchmarks/results/large")


@kernel
def expected_costs(a: Arrays, share: FloatArray, sweeps: int, temperature: float) -> FloatArray:
    """Mean field, node by node, of edges and tables of two nodes; `share` [N, L] is changed.

    Returns what each label of each node is expected to cost in the end `[N, L]`.
    """
    costs = a.unary.copy()
    for _ in range(sweeps):
        for i in range(len(costs)):
            for label in range(costs.shape[1]):
                costs[i, label] = a.unary[i, label]
            for e in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
                for label in range(costs.shape[1]):
                    costs[i, label] -= a.adj_weight[e] * share[a.adj_node[e], label]
            for e in range(a.node_ptr[i], a.node_ptr[i + 1]):
                c, own = a.node_clique[e], a.node_entry[e]
                first = a.clique_ptr[c]
                other = first + 1 if own == first else first
                j = a.clique_nodes[other]
                for label in range(costs.shape[1]):
                    at = a.data_start[c] + a.clique_stride[own] * label
                    for theirs in range(costs.shape[1]):
                        value = a.data[at + a.clique_stride[other] * theirs]
                        costs[i, label] += a.clique_weight[c] * share[j, theirs] * value
            least, total = costs[i].min(), 0.0
            for label in range(costs.shape[1]):
                share[i, label] = np.exp((least - costs[i, label]) / temperature)
                total += share[i, label]
            for label in range(costs.shape[1]):
                share[i, label] /= total
    return costs


def features(crf: CRF) -> FloatArray:
    """Of every label of every node `[N, L, 4]`, each relative to the node's mean."""
    share = np.full(crf.unary.shape, 1.0 / crf.n_labels)
    expected = expected_costs(crf.arrays, share, SWEEPS, TEMPERATURE)
    among_likeliest = new_kept(crf.arrays, np.argmax(share, axis=1)).costs
    all_of_them = np.stack([crf.unary, share, expected, among_likeliest], axis=2)
    return np.asarray(all_of_them - all_of_them.mean(axis=1, keepdims=True))


def train(family: str, config: Config) -> FloatArray:
    """Weights [4] that make the labels of a long search likely on small fields."""
    inputs, targets = [], []
    for k in range(config.small_count):
        crf = make_frustrated(family, config.small, seed=TRAINED_FROM + k)
        with cpu_budgets(100):
            found = solve(crf, "annealing", seconds=config.small_seconds)
        inputs.append(features(crf))
        targets.append(found.labels)
    seen, wanted = np.concatenate(inputs), np.concatenate(targets)
    scale = seen.std(axis=(0, 1))
    weights = np.zeros(len(scale))
    for _ in range(STEPS):
        score = (seen / scale) @ weights
        share = np.exp(score - score.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        share[np.arange(len(wanted)), wanted] -= 1
        weights -= RATE * np.einsum("nl,nlf->f", share, seen / scale) / len(wanted)
    return np.asarray(weights / scale)


def starts(weights: FloatArray) -> dict[str, Callable[[CRF], IntArray]]:
    """Where each row starts."""
    return {
        "annealing alone": lambda crf: np.argmin(crf.unary, axis=1),
        "beliefs": lambda crf: np.argmax(features(crf)[:, :, 1], axis=1),
        "learned": lambda crf: np.argmax(features(crf) @ weights, axis=1),
    }


def measure(config: Config) -> Table:
    """Energies at the start and after each budget, and the learned weights."""
    rows = []
    for family in config.families:
        weights = train(family, config)
        for name, start in starts(weights).items():
            start(make_frustrated(family, 100, degree=4))  # kernels
            rows.append((family, name, *_energies(config, family, start)))
        print(family, "weights", np.round(weights, 2))
    columns = ("family", "start", "at the start", *(f"{b:g} s" for b in config.budgets))
    note = (
        f"Mean energies of {config.count} fields of {config.large} nodes, degree 8, 4 labels. The "
        f"policy has seen {config.small_count} fields of {config.small} nodes. Lower is better."
    )
    return Table("A learned start", columns, tuple(rows), note)


def _energies(config: Config, family: str, start: Callable[[CRF], IntArray]) -> list[float]:
    def solver(run: Run) -> None:
        labels = np.asarray(start(run.crf), np.int64)
        cycle_on(run, labels)

    found = []
    for k in range(config.count):
        crf = make_frustrated(family, config.large, seed=JUDGED_FROM + k)
        energies = [crf.energy(np.asarray(start(crf), np.int64))]
        for budget in config.budgets:
            with cpu_budgets(100):
                energies.append(solve(crf, solver, seconds=budget).energy)
        found.append(energies)
    return [float(energy) for energy in np.mean(found, axis=0)]


def main(config: Config) -> None:
    """Print and write the table."""
    table = measure(config)
    table.show()
    write_tables(config.out, "learned-start", [table], config)


if __name__ == "__main__":
    main(tyro.cli(Config))
