"""Large-neighbourhood search: a connected region is solved exactly, all other nodes held.

Regions start small and grow when all of them have been tried without a gain; one that takes too
long makes the next ones smaller. Labelings of equal energy are accepted, so that plateaus are
crossed. When several took too long without a gain, nothing more is found near these labels: from
the best ones, a few nodes are forced to change, the regions around them follow, and regions are
small again. toulbar2 solves them where it is installed and takes the terms, else HiGHS.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from policrf.crf.potentials import Connectivity, Custom, LabelOrder
from policrf.solvers.neighbourhoods.region_solvers import (
    Answer,
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
STUCK = 3  # regions that took too long since the last gain
KICKS = 4  # nodes that are forced to change then
REGION_TIME, REGION_SHARE = 0.2, 0.03  # seconds of one region at most, or that share of the time


@declares(tables=(Custom, Connectivity, LabelOrder), proves="nothing", goes_on=True)
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
        time, or 50 ms.
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
    labels = solved_start(run, start, go_on=True)  # a region takes a while to begin with
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
    with Toulbar2Service(run.remaining) as service:
        network = by_toulbar2(service, run) if backend != "highs" and has_toulbar2() else None
        search = Search(run, model, labels, network, size)
        drawn = Regions(crf.arrays, free, run.rng)
        most, count = int(free.sum()), 0
        while not (run.expired() or run.proven() or search.complete):
            if run.seconds is None and count >= regions:
                break
            if search.late >= STUCK:
                search.go_back(size)
                for _ in range(KICKS):
                    search.kick(drawn.draw(size))
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
        """Whether regions as large as there are have all been solved without a gain."""
        self.late = 0
        """Regions that took too long since the last gain or kick."""
        self._network, self._program = network, by_highs(run)
        self._tried = 0  # nodes in regions since the last gain or growth

    def improve(self, nodes: IntArray, most: int) -> None:
        """Solve the region; `most` is how many nodes have a choice in all."""
        region = Subproblem(self.model, self.labels, nodes)
        before = region.energy(self.labels[region.nodes])
        answer = self._solve(region, before)
        gained = self._take(region, answer.labels, before)
        if not answer.finished:
            self._tried, self.late = 0, 0 if gained else self.late + 1
            self.size = max(LEAST, int(SHRINKAGE * len(nodes)))
            return
        self._tried = 0 if gained else self._tried + len(nodes)
        if self._tried >= most:
            self.complete = self.size >= most
            self._tried, self.size = 0, min(int(GROWTH * self.size) + 1, most)

    def go_back(self, size: int) -> None:
        """To the best labels, and to regions of this size."""
        assert self.run.best is not None
        self.labels, self.size, self.late, self._tried = self.run.best.copy(), size, 0, 0

    def kick(self, nodes: IntArray) -> None:
        """Force one of the nodes to change, and let the others follow, at any price."""
        region = Subproblem(self.model, self.labels, nodes)
        node = int(self.run.rng.integers(region.free))
        region.alive[node, self.labels[region.nodes[node]]] = False
        answer = self._solve(region, np.inf)
        if answer.labels is not None and np.isfinite(region.energy(answer.labels)):
            self.labels[region.nodes] = answer.labels

    def _solve(self, region: Subproblem, upper: float) -> Answer:
        if not (region.alive.sum(axis=1) > 1).any():
            return Answer(np.argmax(region.alive, axis=1).astype(np.int64), True)
        run = self.run
        seconds = max(REGION_TIME, 0.0 if run.seconds is None else REGION_SHARE * run.seconds)
        solver = self._network if self._network and takes_toulbar2(region) else self._program
        own = self.labels[region.nodes]
        return solver(region, own, min(seconds, run.remaining()), upper=upper)

    def _take(self, region: Subproblem, labels: IntArray | None, before: float) -> bool:
        """Keep labels [K] that cost no more; whether they cost less."""
        if labels is None:
            return False
        after = region.energy(labels)
        if after <= before:
            self.labels[region.nodes] = labels
        return after < before and self.run.offer(self.labels)
