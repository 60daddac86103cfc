"""The usual surrogate, to compare with: a network on label shares, fitted to random questions.

One hidden layer on the shares of all labels, which of them are there, and the clique's own
parameters. It is asked about counts in the place of the function, as a stand-in is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from policrf.compiled import kernel
from policrf.crf.potentials import Custom
from policrf.learn.calls.questions import Answers
from policrf.policy.stand_in.model import own_parameters
from policrf.types import FloatArray, IntArray

UNITS, STEPS, BATCH, RATE = 48, 3000, 512, 1e-2
MOST_PARAMETERS = 64  # of a clique, that are inputs
SAME = 1e9  # scale of an input that never differs


@kernel
def plain_network(counts: IntArray, row: FloatArray) -> float:
    """`row`: size, number of parameters and of units, the parameters, then the weights."""
    n_labels, n_own, units = len(counts), int(row[1]), int(row[2])
    n_inputs = 2 * n_labels + n_own
    x = np.empty(n_inputs)
    mean = 3 + n_own
    scale, first = mean + n_inputs, mean + 2 * n_inputs
    bias = first + units * n_inputs
    second = bias + units
    for label in range(n_labels):
        x[label] = counts[label] / row[0]
        x[n_labels + label] = 1.0 if counts[label] > 0 else 0.0
    for q in range(n_own):
        x[2 * n_labels + q] = row[3 + q]
    for q in range(n_inputs):
        x[q] = (x[q] - row[mean + q]) / row[scale + q]
    energy = row[second + units]
    for j in range(units):
        unit = row[bias + j]
        for q in range(n_inputs):
            unit += row[first + j * n_inputs + q] * x[q]
        energy += row[second + j] * max(0.0, unit)
    return float(energy)


@dataclass(frozen=True, eq=False)
class Surrogate:
    """A fitted network for one function."""

    function: str
    weights: FloatArray  # flat, as `plain_network` reads them

    @property
    def asked(self) -> Any:
        """What a clique is asked instead; compiled."""
        return plain_network

    def rows(self, group: Custom, n_labels: int) -> list[FloatArray]:
        """One for every clique."""
        found = []
        for size, own in zip(group.cliques.sizes, own_parameters(group), strict=True):
            kept = own if len(own) <= MOST_PARAMETERS else own[:0]
            found.append(np.concatenate([[size, len(kept), UNITS], kept, self.weights]))
        return found


def fit_surrogate(function: str, answers: Answers, seed: int = 0) -> Surrogate:
    """Least squares to all answers, by Adam."""
    generator = torch.Generator().manual_seed(seed)
    counts = np.stack(answers.counts)
    shares = counts / np.array(answers.sizes)[:, None]
    own = np.stack(answers.parameters)
    own = own if own.shape[1] <= MOST_PARAMETERS else own[:, :0]
    inputs = np.concatenate([shares, counts > 0, own], axis=1)
    wide = inputs.std(0)
    mean, scale = inputs.mean(0), np.where(wide > 1e-6, wide, SAME)
    energies = np.array(answers.energies)
    finite = np.isfinite(energies)
    energies = np.where(finite, energies, 2 * np.abs(energies[finite]).max(initial=1.0))
    centre, spread = float(energies.mean()), float(energies.std()) + 1e-6
    x = torch.tensor((inputs - mean) / scale, dtype=torch.float32)
    y = torch.tensor((energies - centre) / spread, dtype=torch.float32)
    net = nn.Sequential(nn.Linear(x.shape[1], UNITS), nn.ReLU(), nn.Linear(UNITS, 1))
    with torch.no_grad():
        for tensor in net.parameters():
            noise = torch.randn(tensor.shape, generator=generator)
            tensor.copy_(noise / max(1, tensor.shape[-1]) ** 0.5)
    optimiser = torch.optim.Adam(net.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, STEPS, eta_min=RATE / 100)
    for _ in range(STEPS):
        rows = torch.randint(len(y), (min(BATCH, len(y)),), generator=generator)
        loss = nn.functional.mse_loss(net(x[rows])[:, 0], y[rows])
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
    first, bias, second, constant = (p.detach().numpy().astype(float) for p in net.parameters())
    parts = (mean, scale, first, bias, second * spread, constant * spread + centre)
    return Surrogate(function, np.concatenate([part.reshape(-1) for part in parts]))
