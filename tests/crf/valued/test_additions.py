"""What a counting clique adds to its unlabeled members, noticed where it changes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.policy.builders import halfway_crf

from policrf.crf.arrays import COUNTS
from policrf.crf.changes import assign, unassign
from policrf.crf.state import new_state
from policrf.crf.valued.additions import additions_change
from policrf.testing import reference_energy


@pytest.mark.parametrize("form", ["counts", "parity"])
def test_a_change_is_a_change_of_what_a_label_costs(form: str) -> None:
    """Against the differences of the energy of a part, at a member that stays unlabeled."""
    crf = halfway_crf(1, size=9, forms=(form,))
    a = crf.arrays
    c = 0
    first = int(a.custom[c, COUNTS])
    members = a.clique_nodes[a.clique_ptr[c] : a.clique_ptr[c + 1]]
    watched, others = int(members[0]), members[1:]
    state, scratch = new_state(a), np.zeros(4)
    seen = np.full_like(state.added, np.nan)
    rng = np.random.default_rng(2)
    before, noticed = None, []
    for _ in range(60):
        k = int(rng.integers(1, len(members)))
        i = int(members[k])
        if state.labels[i] < 0:
            assign(a, state, i, int(rng.integers(3)))
        else:
            unassign(a, state, i)
        changed = additions_change(a, state, seen, i, c, int(a.clique_ptr[c]) + k, scratch)
        now = added_by_clique(crf, c, state.labels, watched)
        np.testing.assert_allclose(seen[first : first + 4], now, atol=1e-12)
        if before is not None:
            assert changed == (not np.array_equal(np.round(now, 9), np.round(before, 9)))
            noticed.append(changed)
        before = now
    assert len(others)
    assert any(noticed)
    assert all(noticed) == (form == "parity")


def added_by_clique(crf, c: int, labels: np.ndarray, i: int) -> np.ndarray:
    """f_c with each label at node i minus f_c without, all other terms left out."""
    a = crf.arrays
    inside = np.isin(np.arange(crf.n_nodes), a.clique_nodes[a.clique_ptr[c] : a.clique_ptr[c + 1]])
    group = crf.potentials[1]
    alone = type(crf)(
        np.zeros_like(crf.unary),
        type(group)([group.cliques[c]], group.function, [group.parameters[:1]], of="counts"),
    )
    given = np.where(inside, labels, -1)
    without = reference_energy(alone, given.tolist())
    out = []
    for label in range(crf.n_labels):
        given[i] = label
        out.append(reference_energy(alone, given.tolist()) - without)
    return np.array(out)


def test_a_clique_whose_members_are_all_labeled_is_not_asked() -> None:
    crf = halfway_crf(0, forms=("counts",))
    a = crf.arrays
    state, seen = new_state(a), np.full(8, np.nan)
    members = a.clique_nodes[a.clique_ptr[0] : a.clique_ptr[1]]
    for i in members:
        assign(a, state, int(i), 0)
    asked = int(a.calls[0])
    assert not additions_change(a, state, seen, int(members[0]), 0, 0, np.zeros(4))
    assert int(a.calls[0]) == asked
    assert np.isnan(seen).all()
