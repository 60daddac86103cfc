"""Goal "labels": truth in what is learned, never in what is seen; judged by IoU and energy."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import policrf as pc
from policrf.errors import InvalidInstance, InvalidOption
from policrf.learn.cross_fitting import FOLDS, TRUSTS
from policrf.learn.labels_goal import with_truth

SCENES = [pc.make_scene(20, "C", seed=seed) for seed in range(24)]
SMALL = {"goal": "labels", "rounds": 2, "updates": 2, "batch": 8}
QUICK = SMALL | {"method": "dqn", "episodes": 2, "capacity": 500}


def test_truth_moves_the_energy_towards_true_labels_and_leaves_features_alone():
    scene = SCENES[0]
    mixed = with_truth(scene, 0.5)
    np.testing.assert_array_equal(mixed.features, scene.features)
    true = np.maximum(scene.true_labels, 0)
    wrong = (true + 1) % scene.crf.n_labels
    plain = scene.crf.energy(true) - scene.crf.energy(wrong)
    assert mixed.crf.energy(true) - mixed.crf.energy(wrong) < plain
    strong = with_truth(scene, 1.0).crf
    np.testing.assert_array_equal(pc.solve(strong, "unary").labels, true)
    assert with_truth(scene, 0.0) is scene


def test_what_does_not_win_is_the_untrained_rule(tmp_path):
    lines = []
    policy = pc.train(SCENES, **QUICK, truth=0.3, out=tmp_path, report=lines.append)
    assert policy.training["won"] is False
    assert "the untrained rule is returned" in lines[-1]["verdict"]
    assert "on 10 instances not seen" in lines[-1]["verdict"]
    assert policy.spec.kind == "residual"
    rows = {row[0]: row for row in lines[-1]["table"].rows}
    assert {"untrained", "trained", "alpha_expansion", "refine"} <= set(rows)
    assert all(0 <= row[3] <= 100 for row in rows.values())
    stored = pc.load_policy(tmp_path / "best.safetensors")
    assert stored.training["goal"] == "labels"
    assert pc.solve(SCENES[0], stored).labels.shape == (20,)


def test_true_labels_are_imitated_unless_told_otherwise(tmp_path):
    policy = pc.train(SCENES, **SMALL, width=8, out=tmp_path)
    assert policy.training["method"] == "Imitate"
    assert policy.training["truth"] == policy.training["config"]["truth"] == 1.0
    assert policy.spec.any_labels
    assert pc.load_policy(tmp_path / "learned.safetensors").spec.any_labels
    mixed = pc.train(SCENES, **SMALL, width=8, truth=0.3)
    assert mixed.training["config"]["truth"] == 0.3
    known = pc.train(SCENES, "supervised", goal="labels", rounds=1, updates=2)
    assert known.training["method"] == "Supervised"


def test_few_instances_are_cross_fitted(tmp_path):
    """All are judged, folds and trust are on disk, and a stopped run goes on to the same end."""
    lines = []
    quick = SMALL | {"width": 8, "seed": 3}
    policy = pc.train(SCENES, **quick, out=tmp_path / "one", report=lines.append)
    assert "on 24 instances not seen" in lines[-1]["verdict"]
    learned = pc.load_policy(tmp_path / "one" / "learned.safetensors")
    assert learned.spec.trust == policy.training["trust"]
    assert learned.spec.trust in TRUSTS
    assert learned.training["instances"] == 24  # nothing is held out in the end
    folds = [
        pc.load_policy(tmp_path / "one" / f"fold-{k}" / "last.safetensors") for k in range(FOLDS)
    ]
    assert sum(24 - fold.training["instances"] for fold in folds) == 24
    assert {line["fold"] for line in lines if "fold" in line} == set(range(FOLDS + 1))
    # A run that was stopped in its second fold.
    stopped = tmp_path / "two"
    shutil.copytree(tmp_path / "one" / "fold-0", stopped / "fold-0")
    again = pc.train(SCENES, **quick, out=stopped, resume=True)
    assert again.training["verdict"] == policy.training["verdict"]


def test_many_instances_are_judged_by_a_part_that_is_held_out(monkeypatch):
    monkeypatch.setattr("policrf.learn.labels_goal.MANY", len(SCENES))
    policy = pc.train(SCENES, **SMALL, width=8)
    assert "on 10 instances not seen" in policy.training["verdict"]
    assert policy.training["trust"] == 1.0


def test_without_truth_the_energy_is_judged():
    bare = [pc.Instance(s.crf, s.features, s.edges, s.edge_weights) for s in SCENES]
    lines = []
    policy = pc.train(bare, goal="labels", rounds=1, pairs=2, trials=4, report=lines.append)
    assert policy.training["method"] == "Shared"
    assert "energy" in lines[-1]["verdict"]
    assert lines[-1]["table"].rows[0][3] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"truth": 1.5}, "truth is 1.5"),
        ({"truth": "all"}, "truth is 'all'"),
        ({"kind": "residual"}, "would see the truth"),
        ({"luck": 1}, "no option 'luck'"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InvalidOption, match=message):
        pc.train(SCENES, **(QUICK | options))


def test_too_few_instances_are_refused():
    with pytest.raises(InvalidInstance, match="needs 20 or more"):
        pc.train(SCENES[:19], goal="labels")
