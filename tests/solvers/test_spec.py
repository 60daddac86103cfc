"""One text for a solver with its options: names, types, policies, mistakes."""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from typing import Literal

import pytest

import policrf as pc
from policrf.errors import InvalidFile, InvalidInstance, InvalidOption, UnknownName
from policrf.solvers.spec import SOLVERS, SolverSpec


@pytest.fixture
def typed():
    def typed(
        run,
        *,
        count: int = 1,
        share: float | None = 0.5,
        quick: bool = True,
        way: Literal["up", "down"] = "up",
        steps: Sequence[int] = (),
        word: str = "",
        free=None,
    ):
        """Takes options of every type."""
        run.info.update(
            count=count, share=share, quick=quick, way=way, steps=steps, word=word, free=free
        )

    SOLVERS.register("typed", typed)
    yield typed
    SOLVERS._targets.pop("typed")


def test_a_name_alone():
    spec = SolverSpec.parse("icm")
    assert (spec.text, spec.name, spec.options) == ("icm", "icm", {})
    assert spec.solver.__name__ == "icm"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("typed:count=3", {"count": 3}),
        ("typed:share=0.25,quick=false", {"share": 0.25, "quick": False}),
        ("typed:quick=False", {"quick": False}),
        ("typed:quick=TRUE", {"quick": True}),
        ("typed:share=none", {"share": None}),
        ("typed:way=down,word=a b", {"way": "down", "word": "a b"}),
        ("typed:steps=[1,2],count=4", {"steps": [1, 2], "count": 4}),
        ("typed:free=[1, 2]", {"free": [1, 2]}),
        ("typed:free=text", {"free": "text"}),
    ],
)
def test_options_have_the_types_of_the_signature(typed, text, options):
    assert SolverSpec.parse(text).options == options
    info = pc.solve(pc.CRF([[0.0, 1.0]]), text).info
    assert {name: info[name] for name in options} == options


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("typed:count=2.5", "count is '2.5'; it must be a whole number"),
        ("typed:count=many", "a whole number"),
        ("typed:quick=1", "true or false"),
        ("typed:quick=", "NAME:option=value"),
        ("typed:share=nan", "share is 'nan'; it must be a number or none"),
        ("typed:way=left", "one of up, down"),
        ("typed:steps=3", "a JSON list"),
        ("typed:cuont=3", r"no option 'cuont' \(did you mean 'count'\?\)"),
        ("typed:count=1,,", "NAME:option=value"),
        ("typed:count", "NAME:option=value"),
        ("typed:", "NAME:option=value"),
    ],
)
def test_text_that_does_not_fit_is_an_error(typed, text, says):
    with pytest.raises(InvalidOption, match=says):
        SolverSpec.parse(text)


def test_a_name_that_there_is_not():
    with pytest.raises(
        UnknownName, match=r"no solver is called 'magic'.*icm.*policies: .*synthetic-50"
    ):
        SolverSpec.parse("magic")
    with pytest.raises(UnknownName, match="empty"):
        SolverSpec.parse("  ")


def test_policies_are_solvers_too(tmp_path):
    spec = SolverSpec.parse("synthetic-50:search=20,depth=3,refine=true")
    assert (spec.name, spec.options) == (
        "synthetic-50",
        {"search": 20, "depth": 3, "refine": True},
    )
    assert spec.solver.name == "synthetic-50"
    with pytest.raises(InvalidFile, match="no policy file"):
        SolverSpec.parse(f"{tmp_path}/best.safetensors")
    with pytest.raises(InvalidOption, match="no option 'simulations'"):
        SolverSpec.parse("synthetic-50:simulations=20")


def test_a_policy_file_that_changes_is_read_again(tmp_path):
    path = tmp_path / "odd:name.safetensors"
    for k, name in enumerate(("first", "second")):
        pc.Policy.untrained(n_labels=21, n_features=85, name=name).save(path)
        os.utime(path, (k, k))
        assert SolverSpec.parse(f"{path}:refine=true").solver.name == name


def test_every_way_to_say_it_is_the_same():
    scene = pc.make_scene(40, "B", seed=1)
    policy = pc.load_policy("synthetic-50")
    said = [
        pc.solve(scene, "synthetic-50:refine=true"),
        pc.solve(scene, "synthetic-50", refine=True),
        pc.solve(scene, policy, refine=True),
        pc.solve(scene, SolverSpec.parse("synthetic-50:refine=false"), refine=True),
    ]
    assert len({tuple(solution.labels) for solution in said}) == 1
    assert said[0].solver == "synthetic-50:refine=true"
    assert said[0].energy < pc.solve(scene, policy).energy


def test_a_spec_travels_to_other_processes():
    spec = SolverSpec.parse("synthetic-50:search=3")
    copy = pickle.loads(pickle.dumps(spec))
    assert copy == spec
    assert copy.solver is spec.solver


def test_a_keyword_overrides_the_text_and_the_solution_does_not_claim_it():
    scene = pc.make_scene(30, "B")
    plain = pc.solve(scene, "synthetic-50")
    overridden = pc.solve(scene, "synthetic-50:refine=true", refine=False)
    assert overridden.energy == plain.energy
    assert overridden.solver == "synthetic-50"
    assert pc.solve(scene, "synthetic-50:refine=true").solver == "synthetic-50:refine=true"


def test_what_is_no_problem_or_no_solver_is_named():
    with pytest.raises(InvalidInstance, match="the problem is a list; give a CRF"):
        pc.solve([[0.0, 1.0]], "icm")
    with pytest.raises(InvalidOption, match="solver is 3; give a name"):
        pc.solve(pc.make_scene(20, "A"), 3)


@pytest.mark.parametrize(
    ("called", "name"),
    [("trws", "tree_reweighted"), ("BP", "belief_propagation"), ("ilp:gap=0.1", "exact")],
)
def test_names_that_others_use(called, name):
    assert SolverSpec.parse(called).name == name


def test_a_slip_is_told_what_was_meant():
    with pytest.raises(UnknownName, match="did you mean alpha_expansion"):
        SolverSpec.parse("alpha_expansoin")
