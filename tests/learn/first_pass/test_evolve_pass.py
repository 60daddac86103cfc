"""Evolution of first passes: it gets better, goes on from one, and stops in time."""

from __future__ import annotations

import numpy as np
from tests.timing import best_of_several

from policrf.learn.first_pass.evolve_pass import evolve_pass
from policrf.scenes import make_family

CRFS = [make_family("two_labels", 64, 4, seed=seed) for seed in range(12)]


@best_of_several
def test_evolution_lowers_the_energy_of_a_pass_and_goes_on_from_it() -> None:
    found = evolve_pass(CRFS, passes=1, seconds=1.5)
    assert found.steps > 0
    assert found.energy < found.start
    further = evolve_pass(CRFS, passes=2, seconds=0.1, begin=found.first_pass)
    assert further.start == found.energy
    assert further.energy <= found.energy
    assert further.first_pass.weights.shape == found.first_pass.weights.shape


def test_no_step_is_begun_that_takes_too_long() -> None:
    found = evolve_pass(CRFS, passes=1, seconds=1e-4)
    assert found.steps == 0
    assert found.energy == found.start
    again = evolve_pass(CRFS, passes=1, seconds=0.0)
    np.testing.assert_array_equal(found.first_pass.weights, again.first_pass.weights)
