"""A policy's file says the weights of the energy of its data, however it was learned."""

import pytest

import policrf as pc
from policrf.vision.energy.weights import Energy


class Prepared(list):
    """Instances under an energy, as prepared data has them."""

    energy = Energy(alpha=1.25)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "imitate", "goal": "labels", "rounds": 1, "updates": 1},
        {"goal": "energy", "budget": "5us", "seconds": 0.1, "table": False},
        {"method": "dqn", "rounds": 1, "updates": 1, "width": 8},
    ],
)
def test_weights_are_kept(options, tmp_path):
    scenes = [pc.make_scene(20, "A", seed=seed, n_labels=4) for seed in range(20)]
    policy = pc.train(Prepared(scenes), **options)
    policy.save(tmp_path / "policy.safetensors")
    found = pc.load_policy(tmp_path / "policy.safetensors").energy
    assert found["weights"]["alpha"] == 1.25
    assert "Potts" in found["terms"]
    assert "weights" not in pc.train(scenes, **options).energy
