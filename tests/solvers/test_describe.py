"""Descriptions come from the code: every option documented, defaults as in the signature."""

from __future__ import annotations

import inspect
import json

import pytest

import policrf as pc
from policrf.cli import main
from policrf.solvers.describe import default_text, describe, describe_all
from policrf.solvers.numbers import DEFAULT, NAMES
from policrf.solvers.options import options_of
from policrf.solvers.spec import SOLVERS, SolverSpec


@pytest.mark.parametrize("name", pc.list_solvers())
def test_every_option_is_documented_and_typed(name):
    found = describe(name)
    assert found.summary.endswith(".")
    signature = inspect.signature(SOLVERS.get(name)).parameters
    numbers = {option: getattr(DEFAULT, option) for option in NAMES}
    own = {key: p.default for key, p in signature.items() if p.kind is p.KEYWORD_ONLY}
    further = {option.name for option in found.options} - set(own)
    assert further <= set(numbers)
    assert bool(further) == any(p.kind is p.VAR_KEYWORD for p in signature.values())
    for option in found.options:
        assert option.text, f"{name}: {option.name} is not in its docstring"
        assert option.type is not None, f"{name}: {option.name} has no type"
        assert option.default == (numbers | own)[option.name]
        assert f"{option.name}: " in str(found)


@pytest.mark.parametrize("name", pc.list_solvers())
def test_defaults_can_be_given_as_text(name):
    for option in describe(name).options:
        text = f"{name}:{option.name}={default_text(option.default)}"
        default = option.default
        if default_text(default):
            expected = list(default) if isinstance(default, tuple) else default  # as in JSON
            assert SolverSpec.parse(text).options == {option.name: expected}


def test_a_policy_shows_its_search_options():
    found = describe("labels")
    names = [option.name for option in found.options]
    assert names[:2] == ["search", "refine"]
    assert "depth" in names
    assert "simulations" not in names
    assert all(option.text for option in found.options)
    assert options_of(pc.load_policy("labels")).keys() == set(names)


def test_what_a_solver_does_not_take_is_refused_before_it_starts():
    for found in describe_all():
        takes = found.traits.takes
        if takes is not None and pc.Custom not in takes:
            crf = pc.CRF([[0.0, 1.0]] * 3, pc.Custom([[0, 1, 2]], lambda y, p: 0.0, [[0.0]]))
            with pytest.raises(pc.errors.UnsupportedPotential, match=found.name):
                pc.solve(crf, found.name)


def test_what_proves_a_minimum_proves_it():
    crf = pc.make_scene(20, "A").crf
    for found in describe_all():
        if found.traits.proves == "the minimum" and found.name != "brute_force":
            assert pc.solve(crf, found.name, seconds=60).optimal


def test_the_command_lists_them(capsys):
    with pytest.raises(SystemExit):
        main(["solve", "--list"])
    shown = capsys.readouterr().out
    assert all(f"{name}: " in shown for name in pc.list_solvers())
    assert "hop2: repair | lagrangian | ignore = repair" in shown
    with pytest.raises(SystemExit):
        main(["solve", "--list", "--json"])
    listed = json.loads(capsys.readouterr().out)
    assert listed["solvers"]["alpha_expansion"]["hop2"] == "repair"
    assert "labels" in listed["policies"]
