"""ICM ends, whatever the numbers are."""

from tests.solvers.proofs.adversarial_models import adversarial_model

import policrf as pc


def test_relabels_end_where_terms_cancel():
    """Costs of 1e18 that another term takes back left roundings that relabels followed forever."""
    crf = adversarial_model(2460)
    solution = pc.solve(crf, "icm")
    assert solution.info["converged"]
    assert crf.energy(solution.labels) == solution.energy
