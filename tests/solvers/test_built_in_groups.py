"""Every solver on every built-in group: the energy it reports is the reference's, and no lower."""

import numpy as np
import pytest

import policrf as pc
from policrf.errors import UnsupportedPotential
from policrf.solvers.proofs import exact_forms, exact_part
from policrf.testing import random_crf, reference_energy, reference_minimum
from policrf.testing.random_groups import BUILT_IN

GENERIC = (
    "brute_force", "exact", "icm", "highest_confidence_first", "lazy_flipper", "annealing",
    "refine", "untrained", "untrained:refine=true", "auto",
)  # fmt: skip
PROVE = ("brute_force", "exact")


def random_problems(group):
    """Alone, beside the paper's groups, with forbidden labels, unequal cardinalities, scales."""
    for seed in range(6):
        groups = (group,) if seed % 2 else ("potts", "hop1", "hop2", group)
        yield random_crf(
            seed, groups=groups, n_nodes=5, forbidden=0.15 * (seed % 3), ragged=seed == 4,
            scale=10.0 ** (-6, 0, 6)[seed % 3],
        )  # fmt: skip


@pytest.mark.parametrize("group", BUILT_IN)
@pytest.mark.parametrize("solver", GENERIC)
def test_energies_are_true_and_never_below_the_minimum(solver, group, monkeypatch):
    if solver == "exact":
        monkeypatch.setattr(exact_part, "ENUMERATED", -1.0)
        monkeypatch.setattr(exact_forms, "SMALL_TABLE", 20)
    for crf in random_problems(group):
        lowest = reference_minimum(crf)
        scale = np.abs(crf.unary[np.isfinite(crf.unary)]).max()
        seconds = 0.05 if solver in ("annealing", "auto") else None
        solution = pc.solve(crf, solver, seconds=seconds, seed=1)
        energy = reference_energy(crf, solution.labels)
        assert solution.energy == pytest.approx(energy, rel=1e-9, abs=1e-9 * scale)
        assert solution.energy >= lowest - 1e-9 * scale
        assert solution.lower_bound <= lowest + 1e-9 * scale
        if solver in PROVE:
            assert solution.optimal
            assert solution.energy == pytest.approx(lowest, rel=1e-9, abs=1e-9 * scale)


def refusal(crf):
    try:
        pc.solve(crf, "alpha_expansion")
    except UnsupportedPotential as error:
        return str(error)
    return ""


@pytest.mark.parametrize("group", BUILT_IN)
def test_alpha_expansion_is_true_or_refuses_by_name(group):
    for crf in random_problems(group):
        lowest = reference_minimum(crf)
        scale = np.abs(crf.unary[np.isfinite(crf.unary)]).max()
        refused = refusal(crf)
        if refused:
            assert any(potential.name in refused for potential in crf.potentials)
            continue
        solution = pc.solve(crf, "alpha_expansion")
        energy = reference_energy(crf, solution.labels)
        assert solution.energy == pytest.approx(energy, rel=1e-9, abs=1e-9 * scale)
        assert solution.energy >= lowest - 1e-9 * scale
        assert solution.lower_bound <= lowest + 1e-9 * scale


def test_alpha_expansion_takes_what_it_says():
    unary = np.random.default_rng(0).normal(size=(6, 3))
    taken = {
        pc.LabelCost: pc.LabelCost([range(6)], 0.5),
        pc.RobustPotts: pc.RobustPotts([range(6)], 1.0, 3.0),
        pc.Pairwise: pc.Pairwise.truncated_linear([[0, 1], [1, 2]], 3, 1.5),
    }
    for group in taken.values():
        crf = pc.CRF(unary, group)
        assert pc.solve(crf, "alpha_expansion").energy >= reference_minimum(crf) - 1e-9
    described = pc.describe("alpha_expansion")
    assert all(kind.__name__ in str(described) for kind in taken)
