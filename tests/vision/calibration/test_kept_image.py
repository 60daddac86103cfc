import itertools

import numpy as np
import pytest
from tests.vision.builders import record

from policrf.vision.calibration.kept_image import KeptImage
from policrf.vision.calibration.options import GATES, Grids
from policrf.vision.calibration.stages import Survey, all_stages, net_alone, terms_of
from policrf.vision.energy.build import to_instance
from policrf.vision.energy.weights import Energy


def test_the_kept_image_builds_what_to_instance_builds():
    """For energies of every stage, one after the other on the same kept image."""
    image = record(3)
    kept = KeptImage(image, "here")
    rng = np.random.default_rng(0)
    survey = Survey(quantiles=(0.3, 0.8), spread=0.2, boxes=True, pixels=True)
    base = Energy(unary="pixels", alpha=4.0, w=0.2, lambda_=1.0, support="all", long_range=1.0)
    energies = [
        energy
        for stage in all_stages(Grids(), GATES, survey)
        for energy in stage.energies([base, net_alone(base), Energy(band=2, unsure=0.4)])
    ]
    assert len(energies) > 200
    for energy in itertools.islice(energies, 0, None, 7):
        wanted = to_instance(image, energy).crf
        built = kept.crf(energy)
        free = wanted.unary.argmin(axis=1)
        for _ in range(3):
            labels = np.where(
                rng.random(image.n_nodes) < 0.5, free, rng.integers(0, image.n_labels)
            )
            assert built.energy(labels) == pytest.approx(wanted.energy(labels), rel=1e-9)


def test_terms_are_told_by_weights():
    assert terms_of(net_alone(Energy())) == ()
    assert terms_of(Energy(long_range=1.0, w=0.0)) == ("p", "far", "hop2", "pixels")
