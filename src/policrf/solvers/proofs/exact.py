"""Exact minimisation with a proof: cheap methods first, HiGHS and toulbar2 on what is left.

1. Groups get a form that proofs know, tables where they are small (`exact_forms`).
2. Labels that some optimum does without are removed (`dead_end_elimination`).
3. What is left falls into connected components; if all are small, they are enumerated.
4. Else messages find a bound and a labeling, cuts and local search a better one (`exact_start`).
5. The other components go to toulbar2 or HiGHS, whichever suits them, then to the other one, the
   smallest first (`exact_part`).

If every labeling is forbidden the answer has energy +inf, `optimal` is set and `info["infeasible"]`
too.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import Connectivity, Custom, LabelOrder
from policrf.solvers.option_checks import (
    require_choice,
    require_share_below_one,
    require_whole_numbers,
)
from policrf.solvers.pace import model_size
from policrf.solvers.proofs.dead_end_elimination import allowed_labels, eliminate
from policrf.solvers.proofs.exact_forms import in_known_forms
from policrf.solvers.proofs.exact_part import is_beyond_search, is_enumerated
from policrf.solvers.proofs.exact_parts import Parts, free_components
from policrf.solvers.proofs.exact_start import first_labels, search_first, search_last
from policrf.solvers.proofs.exact_toulbar2 import require_toulbar2
from policrf.solvers.proofs.priced_out import forbid_priced_out
from policrf.solvers.run import Run
from policrf.solvers.traits import declares
from policrf.types import BoolArray

Backend = Literal["auto", "highs", "toulbar2"]
BEGIN = 1.5e-6  # seconds a node, an edge or a clique's member, without which no proof is begun


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
        "highs", "toulbar2" (an extra: `pip install 'policrf[toulbar2]'`), or "auto", which starts
        with toulbar2 where it is installed and stronger, and takes both in turn.
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
    alive, lost = allowed_labels(crf.unary), np.zeros(1)
    forbid_priced_out(crf.arrays, alive)
    feasible = bool(alive.any(axis=1).all()) and eliminate(run, crf.arrays, alive, lost)
    if feasible and not _has_time(run, crf, alive):
        search_last(run)
    elif feasible:
        reduced = CRF(
            np.where(alive, crf.unary, np.inf), *crf.potentials, cardinalities=crf.cardinalities
        )
        labels = first_labels(run, reduced)
        run.offer(labels)
        components = free_components(reduced.arrays, alive)
        run.info["free_nodes"] = sum(len(nodes) for nodes in components)
        run.info["components"] = len(components)
        if components and not is_enumerated(alive[components[-1]]):
            left = alive[components[-1]]
            alone = is_beyond_search(reduced.arrays, left, 0.5 * run.remaining())
            choices = sum(int(alive[nodes].sum()) for nodes in components)
            labels = search_first(run, reduced, labels, float(lost[0]), left=choices, alone=alone)
        if not run.proven():
            parts = Parts(run, reduced, alive, float(lost[0]))
            feasible = parts.solve(labels, components, backend, gap)
        if feasible and gap == 0.0:
            search_last(run)
    if not feasible and not np.isfinite(run.energy):
        run.info["infeasible"] = True
        run.offer(run.start_labels())
        run.bound(np.inf)
        run.optimal = True


def _has_time(run: Run, crf: CRF, alive: BoolArray) -> bool:
    """Whether there is time to look at what is left: the share of nodes with a choice counts."""
    choices = int((alive.sum(axis=1) > 1).sum())
    return run.remaining() > BEGIN * model_size(crf.arrays) * choices / crf.n_nodes
