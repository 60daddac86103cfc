"""`.wcsp` and `.cfn` both ways, by hand, at random, and against toulbar2's own reading of them."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import policrf as pc
from policrf.errors import InvalidFile, TooLarge
from policrf.testing import random_crf
from policrf.testing.reference import all_labelings

AT_RANDOM = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@AT_RANDOM
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["", ".gz", ".xz", ".bz2"]))
def test_cfn_round_trip_keeps_every_energy(tmp_path, seed, ragged, packed):
    crf = random_crf(seed, n_nodes=4, ragged=ragged, forbidden=0.15)
    path = tmp_path / f"model.cfn{packed}"
    pc.write(crf, path)
    again = pc.read(path)
    assert again.cardinalities.tolist() == crf.cardinalities.tolist()
    for labels in all_labelings(crf):
        assert again.energy(labels) == pytest.approx(crf.energy(labels), rel=1e-12, abs=1e-12)


@AT_RANDOM
@given(st.integers(0, 10**6), st.booleans())
def test_wcsp_round_trip_keeps_energies_up_to_rounding(tmp_path, seed, ragged):
    crf = random_crf(seed, n_nodes=4, ragged=ragged, forbidden=0.15)
    path = tmp_path / "model.wcsp.xz"
    pc.write(crf, path)
    again = pc.read(path)
    terms = crf.n_nodes + len(crf.arrays.edges) + len(crf.arrays.clique_kind)
    for labels in all_labelings(crf):
        energy = crf.energy(labels)
        assert again.energy(labels) == pytest.approx(energy, rel=1e-9, abs=0.6e-6 * terms)


def test_whole_numbered_energies_are_the_costs_of_a_wcsp(tmp_path):
    table = [[0.0, 3.0, np.inf], [2.0, 0.0, 1.0]]
    crf = pc.CRF([[0.0, 1.0, np.inf], [4.0, 0.0, 2.0]], pc.Tables([[0, 1]], [table]),
                 cardinalities=[2, 3])  # fmt: skip
    pc.write_wcsp(crf, tmp_path / "x.wcsp")
    assert (tmp_path / "x.wcsp").read_text().startswith("policrf 2 3 3 ")
    again = pc.read_wcsp(tmp_path / "x.wcsp")
    for labels in itertools.product(range(2), range(3)):
        assert again.energy(labels) == crf.energy(labels)


def test_wcsp_by_hand(tmp_path):
    """A constant, a shared function, costs that reach the top, relations of two numbers."""
    path = tmp_path / "hand.wcsp"
    path.write_text(
        "hand 3 4 6 100\n3 4 4\n0 7 0\n1 0 5 1\n2 0\n-2 0 1 0 2\n0 0 100\n1 3 250\n"
        "2 0 2 1 -1\n2 1 2 -1 >= 1 2\n2 0 1 -1 disj 2 1 30\n"
    )
    crf = pc.read_wcsp(path)
    for x, y, z in itertools.product(range(3), range(4), range(4)):
        cost = 7 + (0 if x == 2 else 5)
        cost += np.inf if (x, y) in ((0, 0), (1, 3)) else 0
        cost += np.inf if (x, z) in ((0, 0), (1, 3)) else 1
        short = max(z + 1 - y, 0)
        cost += short if short <= 2 else np.inf
        cost += 0 if x >= y + 1 or y >= x + 2 else 30
        assert crf.energy([x, y, z]) == cost


def test_cfn_by_hand(tmp_path):
    """Labels by name and number, tuples beside a default, shared and negative costs, the top."""
    path = tmp_path / "hand.cfn"
    network = {
        "problem": {"name": "hand", "mustbe": "<10.5"},
        "variables": {"x": ["red", "green"], "y": 3},
        "functions": {
            "constant": {"scope": [], "costs": [-2.5]},
            "own": {"scope": ["x"], "costs": [0.25, -1e-3]},
            "pairs": {
                "scope": ["x", "y"], "defaultcost": 1.5, "costs": ["green", 2, 10.5, 0, 1, -3]
            },
            "same": {"scope": [0, 1], "costs": "pairs"},
        },
    }  # fmt: skip
    path.write_text(json.dumps(network))
    crf = pc.read_cfn(path)
    pairs = {(1, 2): np.inf, (0, 1): -3.0}
    for x, y in itertools.product(range(2), range(3)):
        wanted = -2.5 + (0.25, -1e-3)[x] + 2 * pairs.get((x, y), 1.5)
        assert crf.energy([x, y]) == pytest.approx(wanted)
    network["problem"]["mustbe"] = ">-99"
    path.write_text(json.dumps(network))
    assert pc.read_cfn(path).energy([0, 0]) == pytest.approx(-(-2.5 + 0.25 + 3.0))


HEAD = "g 4 3 2 1000\n3 3 3 3\n1 0 0 2\n1 3\n2 7\n"
NAMED = [
    "4 0 1 2 3 -1 salldiff var 5",
    "4 3 1 0 2 -1 salldiff dec 5",
    "4 0 1 2 3 -1 sgcc var 4 2 0 1 1 2 2 4",
    "4 0 1 2 3 -1 sgcc dec 4 2 0 1 1 2 2 4",
    "4 0 1 2 3 -1 samong var 6 2 3 1 1",
    "4 0 1 2 3 -1 samong var 6 3 3 2 0 1",
    "4 0 1 2 3 -1 knapsack 5 1 2 1 2",
    "4 0 1 2 3 -1 knapsackp 4 1 1 3 2 0 1 2 2 1 2 2 0",
    "2 0 1 -1 >= 1 3",
    "2 0 1 -1 > 0 1",
    "2 1 0 -1 <= -1 2",
    "2 1 0 -1 < 1 2",
    "2 1 2 -1 = 1 1",
    "2 1 2 -1 disj 2 1 9",
]


@pytest.mark.parametrize("function", NAMED)
def test_named_cost_functions_cost_what_toulbar2_says(tmp_path, function):
    """Every labeling, fixed by unary costs, has the cost that toulbar2 finds for it."""
    pytoulbar2 = pytest.importorskip("pytoulbar2", reason="toulbar2 is not installed")
    path = tmp_path / "g.wcsp"
    path.write_text(HEAD + function + "\n")
    crf = pc.read_wcsp(path)
    labelings = list(itertools.product(range(3), repeat=4))
    for labels in labelings[:: max(1, len(labelings) // 16)]:
        fixed = "".join(f"1 {i} 1000 1\n{label} 0\n" for i, label in enumerate(labels))
        path.write_text(HEAD.replace(" 2 1000", " 6 1000") + function + "\n" + fixed)
        problem = pytoulbar2.CFN(1000, vac=0, configuration=False, verbose=-1)
        try:
            problem.Read(str(path))
            found = problem.Solve()
        except Exception as error:  # its own class is of the compiled module
            if "contradiction" not in str(error):
                raise
            found = None
        assert crf.energy(labels) == (np.inf if found is None else found[1]), labels


def test_global_functions_of_a_cfn_are_those_of_a_wcsp(tmp_path):
    network = {
        "problem": {"name": "g", "mustbe": "<1000"},
        "variables": {"a": 3, "b": 3, "c": 3, "d": 3},
        "functions": {
            "own": {"scope": ["a"], "costs": [0, 3, 7]},
            "f": {"scope": ["a", "b", "c", "d"]},
        },
    }
    written = {
        "salldiff var 5": ("salldiff", {"metric": "var", "cost": 5}),
        "sgcc dec 4 2 0 1 1 2 2 4": (
            "sgcc", {"metric": "dec", "cost": 4, "bounds": [[0, 1, 1], [2, 2, 4]]}
        ),
        "samong var 6 3 3 2 0 1": (
            "samong", {"metric": "var", "cost": 6, "min": 3, "max": 3, "values": [0, 1]}
        ),
        "knapsack 5 1 2 1 2": ("knapsack", {"capacity": 5, "weights": [1, 2, 1, 2]}),
        "clique 1 1 1 1 1 1 1 1 1": ("clique", {"values": [[1], [1], [1], [1]]}),
    }  # fmt: skip
    for text, (kind, params) in written.items():
        (tmp_path / "g.wcsp").write_text(HEAD + f"4 0 1 2 3 -1 {text}\n")
        network["functions"]["f"] |= {"type": kind, "params": params}
        (tmp_path / "g.cfn").write_text(json.dumps(network))
        first, second = pc.read(tmp_path / "g.wcsp"), pc.read(tmp_path / "g.cfn")
        for labels in itertools.product(range(3), repeat=4):
            assert second.energy(labels) == first.energy(labels), (text, labels)


WCSP = "w 2 2 1 10\n2 2\n2 0 1 0 1\n0 1 5\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1: ends inside the name"),
        (WCSP.replace("2 2 1 10", "2 2 1 0"), "line 1: the upper bound is 0"),
        (WCSP.replace("\n2 2\n", "\n2 0\n"), "line 2: variable 1 has 0 labels"),
        (WCSP.replace("2 0 1 0 1", "2 0 7 0 1"), "line 3: the scope of cost function 0 names"),
        (WCSP.replace("0 1 5", "0 2 5"), "line 4: the tuples .* tuple 0 gives variable 1 label 2"),
        (WCSP.replace("0 1 5", "0 1 -5"), "line 4: .* costs are not negative"),
        (WCSP.replace("0 1 5", "0 1"), "ends inside the tuples of cost function 0"),
        (WCSP.replace("0 1 5", "0 1 x"), "line 4: .* holds 'x', not a number"),
        (WCSP.replace("2 0 1 0 1", "2 0 1 0 -3"), "shared function 3, which there is not"),
        (WCSP.replace("2 0 1 0 1", "2 0 1 -1 sregular"), "'sregular' .* does not read"),
        (WCSP + "1", "line 5: 1 values after the last cost function"),
    ],
)
def test_a_damaged_wcsp_file_is_explained(tmp_path, text, says):
    path = tmp_path / "bad.wcsp"
    path.write_text(text)
    with pytest.raises(InvalidFile, match=says):
        pc.read(path)


CFN = {
    "problem": {"mustbe": "<9"},
    "variables": {"x": 2, "y": ["a", "b"]},
    "functions": {"f": {"scope": ["x", "y"], "costs": [0, 1, 2, 3]}},
}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"problem": {"mustbe": "10"}}, "problem.mustbe is '10'"),
        ({"variables": {}}, "variables is empty"),
        ({"variables": {"x": 0}}, "variables.x must be"),
        ({"variables": {"x": ["a", "a"], "y": 2}}, "variables.x has a label twice"),
        ({"functions": []}, "functions must be an object"),
        ({"functions": {"f": {"scope": ["z"], "costs": []}}}, "functions.f.scope names .* \"z\""),
        ({"functions": {"f": {"scope": ["x", "x"], "costs": []}}}, "functions.f.scope repeats"),
        ({"functions": {"f": {"scope": ["x"], "costs": [1]}}}, "functions.f.costs has 1 numbers"),
        ({"functions": {"f": {"scope": ["x"], "costs": [1, None]}}}, "f.costs holds null"),
        ({"functions": {"f": {"scope": ["y"], "defaultcost": 0, "costs": ["c", 1]}}}, 'label "c"'),
        ({"functions": {"f": {"scope": ["x"], "type": "wregular"}}}, "'wregular', which policrf"),
    ],
)  # fmt: skip
def test_a_damaged_cfn_file_is_explained(tmp_path, change, says):
    path = tmp_path / "bad.cfn"
    path.write_text(json.dumps(CFN | change))
    with pytest.raises(InvalidFile, match=says):
        pc.read(path)


def test_a_cfn_that_is_no_json_names_the_line(tmp_path):
    path = tmp_path / "bad.cfn"
    path.write_text('{"problem": {},\n "variables": {"x" 2}}')
    with pytest.raises(InvalidFile, match="line 2"):
        pc.read(path)


def test_huge_tables_are_refused_before_they_are_made(tmp_path):
    path = tmp_path / "huge.wcsp"
    nodes = " ".join(map(str, range(60)))
    path.write_text("huge 60 10 1 9\n" + "10 " * 60 + f"\n60 {nodes} 0 0\n")
    with pytest.raises(TooLarge, match=r"1e\+60"):
        pc.read(path)
    variables = {f"x{i}": 10 for i in range(60)}
    functions = {"f": {"scope": list(variables), "defaultcost": 0, "costs": []}}
    path = tmp_path / "huge.cfn"
    path.write_text(json.dumps({"variables": variables, "functions": functions}))
    with pytest.raises(TooLarge, match=r"1e\+60"):
        pc.read(path)
