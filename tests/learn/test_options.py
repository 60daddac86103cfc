"""The options of learning: one default each, one name each."""

import re
from collections import Counter
from dataclasses import fields, is_dataclass

import pytest
import tyro

from policrf.cli.train import Config
from policrf.errors import InvalidOption
from policrf.learn.options import DQN, METHODS, Evolve, Memory
from policrf.learn.options.flat_fields import flat, groups, with_fields
from policrf.policy.network import Network, Spec


def parsed(*arguments: str):
    return tyro.cli(Config, args=list(arguments))


def all_names(options) -> list[str]:
    names = []
    for field in fields(options):
        names.append(field.name)
        value = getattr(options, field.name)
        names += all_names(value) if is_dataclass(value) else []
    return names


@pytest.mark.parametrize("method", METHODS)
def test_no_two_options_of_a_command_share_a_name(method: str) -> None:
    shared = [name for name, count in Counter(all_names(parsed(method))).items() if count > 1]
    assert shared == []


@pytest.mark.parametrize("method", METHODS)
def test_the_commands_defaults_are_the_librarys(method: str) -> None:
    assert parsed(method).method == METHODS[method]()


@pytest.mark.parametrize("method", METHODS)
def test_the_help_shows_a_dozen_options_and_the_rest_under_headings(method: str, capsys) -> None:
    with pytest.raises(SystemExit):
        parsed(method, "--help")
    shown = capsys.readouterr().out
    options = METHODS[method]()
    for name in flat(options):
        assert re.search(rf"--{name.replace('_', '-')}[ ,]", shown)
    for name in groups(options):
        assert f" {name} options " in shown
    top = [field.name for field in fields(parsed(method)) if field.name != "method"]
    top += [field.name for field in fields(options) if field.name not in groups(options)]
    assert len(top) <= 17


def test_a_flat_name_means_the_same_everywhere() -> None:
    flags = ("--width", "16", "--epsilon", "0.9", "--discount", "0.5", "--backup", "taken")
    values = {"width": 16, "epsilon": 0.9, "discount": 0.5, "backup": "taken"}
    assert parsed("dqn", *flags).method == with_fields(DQN(), values, "dqn")


def test_groups_are_replaced_before_their_fields() -> None:
    found = with_fields(DQN(), {"memory": Memory(capacity=7, keep=3), "keep": 5}, "dqn")
    assert (found.memory.capacity, found.memory.keep) == (7, 5)
    assert found.network == Network()


def test_names_that_are_none_are_answered_with_those_that_are() -> None:
    with pytest.raises(InvalidOption, match="no option 'learning_rates'; did you mean learning_ra"):
        with_fields(DQN(), {"learning_rates": 1e-3}, "dqn")
    with pytest.raises(InvalidOption, match="memory is 7; give Memory"):
        with_fields(DQN(), {"memory": 7}, "dqn")


def test_a_policys_spec_has_the_sizes_that_learning_gives_it() -> None:
    spec = Spec(n_labels=3, n_features=4)
    assert spec.network == Network()
    assert spec.kind == "residual"
    old = spec.as_dict()
    old["rounds"] = old.pop("layers") + 1
    assert Spec.from_dict(old).layers == spec.layers + 1


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"width": "16"}, "width is '16'; it must be a whole number"),
        ({"rounds": 2.5}, "a whole number"),
        ({"epsilon": "high"}, "a number"),
        ({"updates": True}, "a whole number"),
        ({"reward": 3}, "text"),
        ({"seconds": "60"}, "seconds is '60'; it must be a number"),
        ({"seconds": -1}, "seconds is -1; it must be 0 or more"),
    ],
)
def test_a_value_of_another_type_is_an_error(changes, says):
    with pytest.raises(InvalidOption, match=says):
        with_fields(DQN(), changes, "dqn")


def test_none_and_lists_are_values_of_their_options():
    assert with_fields(DQN(seconds=3.0), {"seconds": None}, "dqn").seconds is None
    with pytest.raises(InvalidOption, match="tensors is 'scale'; it must be a list of names"):
        with_fields(Evolve(), {"tensors": "scale"}, "evolve")
