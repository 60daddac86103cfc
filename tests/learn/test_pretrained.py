"""The policies that ship: small, loadable, and as good as their page says (with a margin)."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import policrf as pc
from policrf.cli import _main
from policrf.errors import InvalidFile
from policrf.learn.validate import score, validate
from policrf.policy import checkpoint
from policrf.policy.card import card_of
from policrf.policy.checkpoint import list_policies

SCENES = [pc.make_scene(50, "B", seed=700_000_000 + seed) for seed in range(30)]


@pytest.mark.parametrize("name", list_policies())
def test_every_shipped_policy_is_small_and_says_how_it_was_made(name):
    policy = pc.load_policy(name)
    file = Path(checkpoint.__file__).parent.parent / "pretrained" / f"{name}.safetensors"
    assert file.stat().st_size < 100_000
    assert policy.name == name
    assert policy.training["method"] in ("DQN", "Evolve", "Imitate")
    assert "Potts" in policy.energy["terms"]
    assert str(Path.home()) not in str(policy.training)


@pytest.mark.parametrize("name", list_policies())
def test_every_shipped_policy_has_a_card_with_figures_and_limits(name):
    card = card_of(pc.load_policy(name))
    assert card.command.startswith(("policrf train ", "python benchmarks/recipes.py "))
    assert not name.startswith(("voc", "mots")) or '"alpha"' in card.energy
    assert card.limits
    assert len(card.figures) > 3
    assert "untrained" in card.figures[0] or "below in" in card.figures[0]


@pytest.mark.parametrize("name", ["labels", "synthetic-50", "synthetic-250"])
def test_policies_for_labels_have_better_ones_than_the_untrained_rule(name):
    plain = [pc.solve(scene, "untrained").labels for scene in SCENES]
    _, iou, _ = score(SCENES, plain)
    assert card_of(pc.load_policy(name)).goal == "labels"
    assert validate(pc.load_policy(name), SCENES).iou > iou + 3


def test_the_command_lists_policies_and_shows_a_card(capsys):
    assert _main(["policies"]) == 0
    shown = capsys.readouterr().out
    assert all(f"Policy({name}:" in shown for name in list_policies())
    assert _main(["policies", "labels", "--json"]) == 0
    card = json.loads(capsys.readouterr().out)["labels"]
    assert card["goal"] == "labels"
    assert _main(["policies", "labels"]) == 0
    assert card["command"] in capsys.readouterr().out
    assert _main(["policies", "no-such"]) == 2


def test_a_damaged_card_is_named():
    policy = pc.Policy.untrained(kind="shared")
    assert card_of(policy) is None
    with pytest.raises(InvalidFile, match="its card is damaged"):
        card_of(replace(policy, training={"card": {"goal": "labels"}}))
