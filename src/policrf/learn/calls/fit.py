"""Fitting stand-ins to answers: least squares with a robust end, by Adam."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from policrf.learn.calls.questions import KEPT, Answers
from policrf.policy.stand_in.function import KNOTS, NO_INPUTS, SCALARS, global_inputs, n_globals
from policrf.policy.stand_in.model import StandIn, parameter_form
from policrf.types import Float32Array

POOLED, UNITS = 6, 24
BATCH, RATE = 512, 1e-2
FIRST_STEPS, STEPS = 1200, 400  # of the first fit, and of every later one
SMOOTH = 1e-4  # weight of the tables' second differences, which fills knots that were never seen
TESTED = 0.15  # of the answers, by which one table for all labels or one each is chosen
FAIR = 0.01  # error, in standard deviations of the answers, with which one table is good enough
CLEARLY = 0.7  # of its error: so much better must tables of their own be


@dataclass(frozen=True, eq=False)
class _Data:
    """Of S questions, float32: where shares fall in a table, and what is to be told."""

    knots: Tensor  # [S, L] int64
    parts: Tensor  # [S, L]; between a knot and the next
    there: Tensor  # [S, L]; 1 where the label is
    further: Tensor  # [S, U]; globals
    energies: Tensor  # [S]


class _Net(nn.Module):
    """`function.stand_in` in torch; energies in units of `spread`, around `centre`."""

    def __init__(self, data: _Data, own: bool, generator: torch.Generator) -> None:
        super().__init__()
        n_labels, n_further = data.knots.shape[1], data.further.shape[1]
        steps = torch.linspace(0, 1, KNOTS + 1)[:, None]
        slopes = torch.randn(1, POOLED, generator=generator)
        table = 0.3 + slopes * steps + 0.1 * torch.randn(KNOTS + 1, POOLED, generator=generator)
        self.tables = nn.Parameter(table.repeat(n_labels if own else 1, 1, 1))
        inputs = POOLED + n_further
        self.own, self.n_labels = own, n_labels
        self.linear = nn.Parameter(torch.zeros(inputs))
        self.first = nn.Parameter(torch.randn(UNITS, inputs, generator=generator) / inputs**0.5)
        self.bias = nn.Parameter(0.5 * torch.randn(UNITS, generator=generator))
        self.second = nn.Parameter(torch.zeros(UNITS))
        self.constant = nn.Parameter(torch.zeros(1))
        self.mean, self.scale = torch.zeros(inputs), torch.ones(inputs)
        further = data.further
        self.mean[POOLED:] = further.mean(0)
        wide = further.std(0) if len(further) > 1 else torch.zeros(n_further)
        # What never differs tells nothing: it must not speak where it does.
        self.scale[POOLED:] = torch.where(wide > 1e-6, wide, torch.tensor(1e9))
        self.centre, self.spread = 0.0, 1.0

    def forward(self, data: _Data, rows: Tensor) -> Tensor:
        knots, parts = data.knots[rows], data.parts[rows][..., None]
        labels = torch.arange(self.n_labels) if self.own else torch.zeros(1, dtype=torch.int64)
        low, high = self.tables[labels, knots], self.tables[labels, knots + 1]
        pooled = (((1 - parts) * low + parts * high) * data.there[rows][..., None]).sum(1)
        z = (torch.cat([pooled, data.further[rows]], 1) - self.mean) / self.scale
        hidden = torch.relu(z @ self.first.T + self.bias)
        return z @ self.linear + hidden @ self.second + self.constant


class Fitter:
    """One function's stand-in, fitted again and again as answers come.

    Parameters
    ----------
    function
        Its name.
    seed
        Of weights and batches.
    """

    def __init__(self, function: str, seed: int) -> None:
        self.function = function
        self.generator = torch.Generator().manual_seed(seed)
        self.nets: dict[bool, _Net] = {}
        self.errors: dict[bool, float] = {}

    def fit(self, answers: Answers, steps: int) -> StandIn:
        """Go on fitting to the answers; tables of their own only where they are clearly better."""
        data = _data(answers)
        count = len(data.energies)
        order = torch.randperm(count, generator=self.generator)
        tested = order[: int(TESTED * count)]
        learned = order[len(tested) :]
        if not self.nets:
            self.nets = {own: _Net(data, own, self.generator) for own in (False, True)}
        for own, net in self.nets.items():
            self.errors[own] = self._fit(net, data, learned, tested, steps)
        own = self._own()
        if len(self.nets) == 2 and (own or self.errors[False] < FAIR):
            del self.nets[not own]  # it is clear: the other one needs no more time
        return _stand_in(self.function, self.nets[own], answers)

    def _own(self) -> bool:
        """Whether labels need tables of their own."""
        if len(self.nets) == 1:
            return next(iter(self.nets))
        shared, own = self.errors[False], self.errors[True]
        return shared >= FAIR and own < CLEARLY * shared

    def _fit(self, net: _Net, data: _Data, learned: Tensor, tested: Tensor, steps: int) -> float:
        net.centre, net.spread = float(data.energies.mean()), float(data.energies.std()) + 1e-6
        rate = RATE if steps >= FIRST_STEPS else RATE / 3
        optimiser = torch.optim.Adam(net.parameters(), lr=rate)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps, eta_min=rate / 30)
        target = (data.energies - net.centre) / net.spread
        for _ in range(steps):
            chosen = torch.randint(len(learned), (BATCH,), generator=self.generator)
            rows = learned[chosen]
            loss = nn.functional.smooth_l1_loss(net(data, rows), target[rows], beta=0.1)
            bend = net.tables[:, 2:] - 2 * net.tables[:, 1:-1] + net.tables[:, :-2]
            optimiser.zero_grad()
            (loss + SMOOTH * bend.square().mean()).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
        with torch.no_grad():
            return float((net(data, tested) - target[tested]).abs().mean())


def _data(answers: Answers) -> _Data:
    counts = np.stack(answers.counts[-KEPT:])
    sizes = np.array(answers.sizes[-KEPT:], float)
    energies = np.array(answers.energies[-KEPT:])
    places = np.minimum(1.0, counts / sizes[:, None]) * KNOTS
    knots = np.minimum(places.astype(np.int64), KNOTS - 1)
    own = answers.parameters[-KEPT:]
    form = parameter_form(len(own[0]), counts.shape[1])
    further = np.zeros((len(counts), n_globals(form, len(own[0]))))
    for s, (row, size, parameters) in enumerate(zip(counts, sizes, own, strict=True)):
        global_inputs(row, size, form, parameters, further[s])
    # What is forbidden has no price that could be learned: it counts as the dearest answer twice.
    finite = np.isfinite(energies)
    dearest = 2 * np.abs(energies[finite]).max(initial=1.0)
    numbers = (places - knots, counts > 0, further, np.where(finite, energies, dearest))
    parts, there, u, f = (torch.tensor(x, dtype=torch.float32) for x in numbers)
    return _Data(torch.tensor(knots), parts, there, u, f)


def _stand_in(function: str, net: _Net, answers: Answers) -> StandIn:
    """The net with energies in their own units."""
    n_labels, n_own = len(answers.counts[-1]), len(answers.parameters[-1])
    form = parameter_form(n_own, n_labels)
    found = {
        "tables": net.tables, "mean": net.mean, "scale": net.scale,
        "linear": net.linear * net.spread, "first": net.first, "bias": net.bias,
        "second": net.second * net.spread, "constant": net.constant * net.spread + net.centre,
    }  # fmt: skip
    weights = {name: _array(tensor) for name, tensor in found.items()}
    scalars = n_own if form == SCALARS else 0
    assert form != NO_INPUTS or scalars == 0
    return StandIn(function, form, scalars, n_labels if net.own else 0, weights)


def _array(tensor: Tensor) -> Float32Array:
    return np.ascontiguousarray(tensor.detach().numpy(), np.float32)
