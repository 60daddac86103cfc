"""The registry behind rewards, solvers and data sets."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.plugins.builders import write_plugin

from policrf.errors import MissingDependency, UnknownName
from policrf.registry import Registry


@pytest.fixture
def rewards(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(write_plugin(tmp_path)))
    return Registry("reward", {"sign": "math:copysign"})


def test_entry_points_join_the_built_in_names(rewards):
    assert rewards.names() == ["broken", "mine", "plain", "sign"]
    assert rewards.get("plain").__module__ == "policrf_mine"


def test_a_plugin_cannot_replace_a_built_in_name(rewards):
    import math

    rewards.names()
    assert rewards.get("sign") is math.copysign


def test_a_broken_plugin_is_named_when_it_is_used_and_not_before(rewards):
    rewards.names()
    with pytest.raises(MissingDependency, match=r"reward 'broken'.*policrf_mine:no_such_thing"):
        rewards.get("broken")


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("def (", "SyntaxError"),
        ("raise RuntimeError('no GPU')", "RuntimeError: no GPU"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_plugin_that_fails_when_it_is_imported_is_named(tmp_path, monkeypatch, code, says):
    name = f"policrf_broken_{says[:5].lower()}"
    (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = Registry("solver", {"theirs": f"{name}:solver"})
    with pytest.raises(MissingDependency, match=rf"'theirs' is said to be .*{says}"):
        registry.get("theirs")


def test_nested_attributes_and_extras():
    assert Registry("thing", {"of": "pathlib:Path.name [extra]"}).get("of") is Path.name


def test_damaged_entry_points_are_named_and_left_out(rewards, tmp_path, monkeypatch):
    broken = tmp_path / "other" / "theirs-1.0.dist-info"
    broken.mkdir(parents=True)
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (broken / "entry_points.txt").write_text("[policrf.rewards]\nthere is no equals sign\n")
    monkeypatch.syspath_prepend(str(broken.parent))
    with pytest.warns(UserWarning, match=r"theirs-1\.0\.dist-info cannot be read"):
        assert rewards.names() == ["broken", "mine", "plain", "sign"]


def test_an_unknown_name_lists_those_there_are(rewards):
    with pytest.raises(UnknownName, match="no reward is called 'x'; there are broken, mine, plain"):
        rewards.get("x")


def test_registering_takes_objects_and_strings():
    registry = Registry("thing", {})
    registry.register("number", 7)
    registry.register("pi", "math:pi")
    assert registry.get("number") == 7
    assert registry.get("pi") == pytest.approx(3.14159, abs=1e-5)
