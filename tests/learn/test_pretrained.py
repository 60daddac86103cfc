"""The policies that ship: small, loadable, and as good as their page says (with a margin)."""

from pathlib import Path

import pytest

import policrf as pc
from policrf.learn.validate import score, validate
from policrf.policy import checkpoint
from policrf.policy.checkpoint import list_policies

SCENES = [pc.make_scene(50, "B", seed=700_000_000 + seed) for seed in range(30)]


@pytest.mark.parametrize("name", list_policies())
def test_every_shipped_policy_is_small_and_says_how_it_was_made(name):
    policy = pc.load_policy(name)
    file = Path(checkpoint.__file__).parent.parent / "pretrained" / f"{name}.safetensors"
    assert file.stat().st_size < 100_000
    assert policy.name == name
    assert policy.training["method"] in ("DQN", "Imitate")
    assert "Potts" in policy.energy["terms"]
    assert str(Path.home()) not in str(policy.training)


def test_the_shipped_policies_beat_the_heuristic_they_start_from():
    hcf = [pc.solve(scene, "highest_confidence_first").labels for scene in SCENES]
    energy, iou, _ = score(SCENES, hcf)
    assert validate(pc.load_policy("synthetic-50"), SCENES).iou > iou + 3
    assert validate(pc.load_policy("synthetic-250"), SCENES).energy < energy
