"""Large-neighbourhood search: a connected region is solved exactly, all other nodes held.

Regions start small and grow when all of them have been tried without a gain; one that takes too
long makes the next ones smaller. Labelings of equal energy are accepted, so that plateaus are
crossed. Regions are solved by toulbar2 where it is installed and takes the terms, else by HiGHS.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from policrf.crf.potentials import Connectivity, Custom, LabelOrder
from policrf.solvers.neighbourhoods.region_solvers import (
    RegionSolver,
    by_highs,
    by_toulbar2,
    takes_toulbar2,
)
from policrf.solvers.neighbourhoods.regions import Regions
from policrf.solvers.neighbourhoods.toulbar2_service import Toulbar2Service
from policrf.solvers.option_checks import require_choice, require_whole_numbers
from policrf.solvers.proofs.exact_forms import in_known_forms
from policrf.solvers.proofs.exact_subproblem import Subproblem, Whole, whole
from policrf.solvers.proofs.exact_toulbar2 import has_toulbar2, require_toulbar2
from policrf.solvers.proofs.priced_out import forbid_priced_out
from policrf.solvers.run import Run
from policrf.solvers.solved_start import solved_start
from policrf.solvers.traits import declares
from policrf.types import IntArray

Backend = Literal["auto", "highs", "toulbar2"]
GROWTH, SHRINKAGE = 1.5, 0.75  # of regions, after a round without gain and after one too long
LEAST = 2  # nodes of a region
REGION_TIME, REGION_SHARE = 0.2, 0.03  # seconds of one region at most, or that share of the time


@declares(tables=(Custom, Connectivity, LabelOrder), proves="nothing")
def lns(
    run: Run,
    *,
    start: str = "refine",
    backend: Backend = "auto",
    size: int = 12,
    regions: int = 200,
    table_limit: int = 1 << 12,
) -> None:
    """Solve one connected region after another exactly, all other nodes held, while time is left.

    Parameters
    ----------
    start
        The solver to start with, unless labels are given, as in `solve`; it gets a fifth of the
        time.
    backend
        What solves a region: "toulbar2" (an extra: `pip install 'policrf[toulbar2]'`), "highs", or
        "auto", which takes toulbar2 where it is installed and has a form of the terms.
    size
        Nodes of the first regions.
    regions
        How many regions are solved without `seconds`.
    table_limit
        Largest number of entries of the table of a clique that has no other form.
    """
    require_choice("backend", backend, Backend)
    require_whole_numbers(size=size, regions=regions, table_limit=table_limit)
    if backend == "toulbar2":
        require_toulbar2()
    labels = solved_start(run, start)
    if run.expired() or run.proven():
        return
    search_regions(run, labels, backend=backend, size=size, regions=regions, limit=table_limit)


def search_regions(
    run: Run, labels: IntArray, *, backend: str = "auto", size: int = 12, regions: int = 200,
    limit: int = 1 << 12,
) -> None:  # fmt: skip
    """Improve `labels` [N] region by region and offer what is found; without time, `regions`."""
    crf = in_known_forms(run, limit)
    alive = np.isfinite(crf.unary)
    forbid_priced_out(crf.arrays, alive)
    free = alive.sum(axis=1) > 1
    if run.expired() or not free.any() or not np.isfinite(crf.energy(labels)):
        return
    model = whole(crf.arrays, alive)
    with Toulbar2Service(run.expired) as service:
        network = by_toulbar2(service) if backend != "highs" and has_toulbar2() else None
        search = Search(run, model, labels, network, size)
        drawn = Regions(crf.arrays, free, run.rng)
        most, count = int(free.sum()), 0
        while not (run.expired() or run.proven() or search.complete):
            if run.seconds is None and count >= regions:
                break
            search.improve(drawn.draw(min(search.size, most)), most)
            count += 1
    run.info["regions"] = run.info.get("regions", 0) + count
    run.info["region_size"] = search.size


class Search:
    """The labels of a search over regions, and how large the next region is to be."""

    def __init__(
        self, run: Run, model: Whole, labels: IntArray, network: RegionSolver | None, size: int
    ) -> None:
        self.run, self.model, self.labels, self.size = run, model, labels.copy(), size
        self.complete = False
        """Whether a region was the whole model, and finished."""
        self._network, self._program = network, by_highs(run.expired)
        self._tried = 0  # nodes in regions since the last gain or growth

    def improve(self, nodes: IntArray, most: int) -> None:
        """Solve the region; `most` is how many nodes have a choice in all."""
        run = self.run
        region = Subproblem(self.model, self.labels, nodes)
        seconds = max(REGION_TIME, 0.0 if run.seconds is None else REGION_SHARE * run.seconds)
        own = self.labels[region.nodes]
        solver = self._network if self._network and takes_toulbar2(region) else self._program
        answer = solver(region, own, min(seconds, run.remaining()))
        gained = self._take(region, answer.labels, region.energy(own))
        if not answer.finished:
            self._tried = 0
            self.size = max(LEAST, int(SHRINKAGE * len(nodes)))
            return
        self.complete = len(nodes) == most
        self._tried = 0 if gained else self._tried + len(nodes)
        if self._tried >= most:
            self._tried, self.size = 0, int(GROWTH * self.size) + 1

    def _take(self, region: Subproblem, labels: IntArray | None, before: float) -> bool:
        """Keep labels [K] that cost no more; whether they cost less."""
        if labels is None:
            return False
        after = region.energy(labels)
        if after <= before:
            self.labels[region.nodes] = labels
        return after < before and self.run.offer(self.labels)
