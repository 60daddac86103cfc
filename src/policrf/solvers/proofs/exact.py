"""Exact minimisation with a proof: dead-end elimination, then HiGHS or toulbar2 on what is left.

1. Groups get a form that proofs know, tables where they are small (`exact_forms`).
2. Labels that some optimum does without are removed (`dead_end_elimination`).
3. A good labeling of the rest is found by a heuristic; it bounds the optimum from above.
4. What is left falls into connected components. Small ones are enumerated, the others are solved as
   mixed-integer programs (`exact_model`), the smallest first.

If every labeling is forbidden the answer has energy +inf, `optimal` is set and `info["infeasible"]`
too.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from policrf.crf.arrays import Arrays, clique_table
from policrf.crf.model import CRF
from policrf.crf.potentials import SUPPORT, TABLE, Connectivity, Custom, LabelOrder
from policrf.errors import UnsupportedPotential
from policrf.solvers import solve
from policrf.solvers.option_checks import (
    require_choice,
    require_share_below_one,
    require_whole_numbers,
)
from policrf.solvers.proofs.dead_end_elimination import allowed_labels, eliminate
from policrf.solvers.proofs.exact_forms import in_known_forms
from policrf.solvers.proofs.exact_groups import lowest_group_energy
from policrf.solvers.proofs.exact_parts import LABELS, free_components, solve_parts
from policrf.solvers.proofs.exact_toulbar2 import require_toulbar2
from policrf.solvers.run import Run
from policrf.solvers.traits import declares
from policrf.types import BoolArray, IntArray

Backend = Literal["auto", "highs", "toulbar2"]
BOUND_SHARE, BOUND_SECONDS = 0.2, 10.0  # what a first bound of a huge problem may take


@declares(
    tables=(Custom, Connectivity, LabelOrder),
    proves="the minimum",
)
def exact(
    run: Run, *, backend: Backend = "auto", gap: float = 0.0, table_limit: int = 1 << 16
) -> None:
    """Find a labeling of lowest energy and prove that there is no lower one.

    Parameters
    ----------
    backend
        "highs", "toulbar2" (an extra: `pip install 'policrf[toulbar2]'`), or "auto", which takes
        toulbar2 where it is installed and stronger.
    gap
        Stop when the best labeling is within this relative distance of the bound.
    table_limit
        Largest number of entries that the table of one clique may have, where a table is the only
        form: `Custom`, `Connectivity`, `LabelOrder` with a cap.
    """
    require_choice("backend", backend, Backend)
    require_share_below_one(gap=gap)
    require_whole_numbers(table_limit=table_limit)
    if backend == "toulbar2":
        require_toulbar2()
    crf = in_known_forms(run, table_limit)
    if run.expired():
        return
    alive = allowed_labels(crf.unary)
    feasible = eliminate(run, crf.arrays, alive)
    if feasible and not run.expired():
        reduced = CRF(
            np.where(alive, crf.unary, np.inf), *crf.potentials, cardinalities=crf.cardinalities
        )
        run.bound(first_bound(reduced.arrays))
        labels = first_labels(run, reduced)
        run.offer(labels)
        components = free_components(reduced.arrays, alive)
        if components and is_huge(reduced.arrays, alive, components[-1]):
            run.bound(message_bound(run, reduced))
        run.info["free_nodes"] = sum(len(nodes) for nodes in components)
        run.info["components"] = len(components)
        feasible = solve_parts(run, reduced, alive, labels, components, backend, gap)
    if not feasible:
        run.info["infeasible"] = True
        run.offer(run.start_labels())
        run.bound(np.inf)
        run.optimal = True


def first_bound(a: Arrays) -> float:
    """Every term at its lowest."""
    tables = np.flatnonzero(a.clique_kind == TABLE)
    lowest = sum(float(clique_table(a, int(c)).min()) for c in tables)
    pairs = float(np.minimum(a.edge_weights, 0.0).sum())
    return float(a.unary.min(axis=1).sum()) + pairs + lowest + lowest_group_energy(a)


def is_huge(a: Arrays, alive: BoolArray, nodes: IntArray) -> bool:
    """Whether quotas bind more labels than HiGHS finds a first bound for in seconds."""
    return bool((a.clique_kind == SUPPORT).any() and alive[nodes].sum() > LABELS[1])


def message_bound(run: Run, crf: CRF) -> float:
    """The bound of reweighted messages: there long before that of the root program."""
    seconds = min(BOUND_SHARE * run.remaining(), BOUND_SECONDS)
    try:
        return solve(crf, "tree_reweighted", seconds=seconds, seed=run.seed).lower_bound
    except UnsupportedPotential:
        return -np.inf


def first_labels(run: Run, crf: CRF) -> IntArray:
    """The best of a heuristic's labeling and the caller's, within the labels that are left."""
    labels = [np.argmin(crf.unary, axis=1).astype(np.int64)]
    if run.initial is not None:
        allowed = np.isfinite(crf.unary[np.arange(crf.n_nodes), run.initial])
        labels.append(np.where(allowed, run.initial, labels[0]))
    # Random moves would take all the time there is.
    found = solve(
        crf, "refine", seconds=run.remaining(), seed=run.seed, cliques=False, halfway=False
    )
    labels.append(found.labels)
    return min(labels, key=crf.energy)
