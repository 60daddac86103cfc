"""A run's checkpoint: everything comes back as it was, and damage is noticed."""

import numpy as np
import pytest
import torch

import policrf as pc
from policrf.errors import InvalidFile
from policrf.learn.run_checkpoint import load_state, save_state
from policrf.learn.train import train

STATE = {
    "theta": {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "none": np.zeros((0, 3))},
    "optimizer": {"state": {0: {"step": torch.tensor(3.0)}}, "groups": [{"betas": (0.9, 0.999)}]},
    "generator": {"state": 2**127 + 5, "name": "PCG64"},
    "labels": np.array([-1, 2], np.int16),
    "known": np.array([True, False]),
    "best": float("inf"),
    "rate": np.float64(0.1) / 3,
    "nothing": None,
}


def test_everything_comes_back(tmp_path):
    save_state(tmp_path / "state.safetensors", STATE)
    back = load_state(tmp_path / "state.safetensors")
    assert back["generator"] == STATE["generator"]
    assert back["optimizer"]["groups"] == STATE["optimizer"]["groups"]
    assert torch.equal(back["optimizer"]["state"][0]["step"], torch.tensor(3.0))
    assert (back["best"], back["nothing"]) == (float("inf"), None)
    assert back["rate"] == STATE["rate"]
    for one, other in (
        (back["theta"]["a"], STATE["theta"]["a"]),
        (back["theta"]["none"], STATE["theta"]["none"]),
        (back["labels"], STATE["labels"]),
        (back["known"], STATE["known"]),
    ):
        np.testing.assert_array_equal(one, other)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.flags.writeable


@pytest.mark.parametrize("where", [0.5, 0.999])
def test_a_flipped_bit_or_a_missing_end_is_noticed(tmp_path, where):
    path = tmp_path / "state.safetensors"
    save_state(path, STATE | {"many": np.zeros(1000)})
    whole = path.read_bytes()
    at = int(where * len(whole))
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    with pytest.raises(InvalidFile, match="damaged"):
        load_state(path)
    path.write_bytes(whole[:at])
    with pytest.raises(InvalidFile, match="damaged"):
        load_state(path)


def test_another_file_is_none(tmp_path):
    path = tmp_path / "policy.safetensors"
    pc.Policy.untrained(n_labels=3, n_features=4).save(path)
    with pytest.raises(InvalidFile, match="not the checkpoint of a run"):
        load_state(path)


def test_a_run_does_not_go_on_from_a_damaged_checkpoint(tmp_path):
    scenes = [pc.make_scene(20, "A", seed=seed) for seed in range(4)]
    options = {"rounds": 1, "updates": 1, "episodes": 1, "batch": 4, "capacity": 100}
    train(scenes, out=tmp_path, **options)
    path = tmp_path / "checkpoint.safetensors"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InvalidFile, match="damaged"):
        train(scenes, out=tmp_path, resume=True, **(options | {"rounds": 2}))
