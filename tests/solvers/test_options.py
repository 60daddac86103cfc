"""Every solver documents every option in one form, with plain types; wrong values are explained."""

import inspect
import re
import types
import typing

import pytest

import policrf as pc
from policrf.errors import InvalidOption
from policrf.solvers.spec import SOLVERS

CRF = pc.CRF([[0.0, 1.0], [1.0, 0.0]], pc.Potts([[0, 1]], 0.5))
OURS = [
    name for name in SOLVERS.names() if SOLVERS.get(name).__module__.startswith("policrf.solvers.")
]


def options_of(name: str) -> list[inspect.Parameter]:
    parameters = inspect.signature(SOLVERS.get(name)).parameters.values()
    return [p for p in parameters if p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]


@pytest.mark.parametrize("name", OURS)
def test_every_option_has_its_own_lines_in_the_docstring(name):
    text = inspect.getdoc(SOLVERS.get(name))
    assert text.splitlines()[0].endswith(".")
    _, _, section = text.partition("Parameters\n----------\n")
    documented = re.findall(r"^(\w+)\n {4}\S", section, re.MULTILINE)
    assert documented == [option.name for option in options_of(name)]


@pytest.mark.parametrize("name", OURS)
def test_every_option_has_a_plain_type(name):
    hints = typing.get_type_hints(SOLVERS.get(name))
    for option in options_of(name):
        hint = hints[option.name]
        if option.kind is option.VAR_KEYWORD or hint in (int, float, bool, str):
            continue
        if isinstance(hint, types.UnionType):
            assert set(typing.get_args(hint)) == {float, type(None)}
        else:
            assert typing.get_origin(hint) is typing.Literal
            assert option.default in typing.get_args(hint)


@pytest.mark.parametrize(
    ("solver", "option", "value", "says"),
    [
        ("alpha_expansion", "sweeps", 0, "sweeps must be a whole number ≥ 1, not 0"),
        ("alpha_expansion", "iterations", 2.5, "iterations must be a whole number, not 2.5"),
        ("alpha_expansion", "orders", True, "orders must be a whole number, not True"),
        ("belief_propagation", "iterations", 0, "iterations must be a whole number ≥ 1"),
        ("belief_propagation", "warm_up", -1, "warm_up must be a whole number ≥ 0, not -1"),
        ("belief_propagation", "damping", 1.0, "damping must be at least 0 and below 1, not 1.0"),
        ("tree_reweighted", "iterations", -3, "iterations must be a whole number ≥ 1, not -3"),
        ("tree_reweighted", "schedule", "both", "one of sequential, parallel, not 'both'"),
        ("mean_field", "iterations", "many", "iterations must be a whole number, not 'many'"),
        ("mean_field", "cooling", 1.5, "cooling must be above 0 and not above 1, not 1.5"),
        ("dual_decomposition", "iterations", 0, "iterations must be a whole number ≥ 1, not 0"),
        ("brute_force", "limit", 0, "limit must be a whole number ≥ 1, not 0"),
        ("exact", "gap", 1.0, "gap must be at least 0 and below 1, not 1.0"),
        ("exact", "table_limit", 0, "table_limit must be a whole number ≥ 1, not 0"),
        ("lazy_flipper", "size", 5, "size must be 1 to 4, not 5"),
    ],
)
def test_a_value_out_of_range_is_explained(solver, option, value, says):
    with pytest.raises(InvalidOption, match=re.escape(says)):
        pc.solve(CRF, solver, **{option: value})
