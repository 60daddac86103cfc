"""Kernels that others compile: who takes what, and that nothing hangs if a helper does not work."""

import inspect
import os
import threading
from importlib import import_module
from pathlib import Path

import pytest

from policrf.ahead import announcement, foreman
from policrf.ahead import plan as plan_module
from policrf.ahead.foreman import Foreman, alone, expecting, jobs
from policrf.ahead.plan import Kernel, Plans, plans, shape_of, types_of
from policrf.crf.model import CRF
from policrf.crf.potentials import Potts

SMALL = "policrf.mdp.tournament:rebuild"
CRF_OF_TWO = CRF([[0.0, 1.0], [1.0, 0.0]], Potts([[0, 1]], 1.0))


def test_the_plan_is_of_kernels_that_are_there() -> None:
    assert {"auto", "untrained", "refine", "policy shared"} <= plans().orders.keys()
    for kernel in plans().kernels:
        module, _, name = kernel.name.partition(":")
        function = getattr(import_module(module), name)
        assert len(types_of(kernel)) == len(inspect.signature(function.py_func).parameters), name


@pytest.mark.parametrize("content", [None, "{", "{}", '{"kernels": [1]}'])
def test_without_a_plan_everything_works(content, tmp_path: Path, monkeypatch) -> None:
    if content is not None:
        (tmp_path / plan_module.FILE).write_text(content)
    monkeypatch.setattr(plan_module, "files", lambda package: tmp_path)
    empty = plan_module.plans.__wrapped__()
    assert empty.of("auto", "Potts") == []


def test_shapes_are_names_of_potentials() -> None:
    assert shape_of(CRF_OF_TWO) == "Potts"
    known = plans().of("auto", "Potts")
    assert known
    first = next(iter(plans().orders["auto"]))
    assert plans().of("auto", "NoSuchPotential") == plans().of("auto", first)
    assert plans().of("no such solver", "Potts") == []


@pytest.fixture
def two_kernels(monkeypatch: pytest.MonkeyPatch) -> tuple[Kernel, Kernel]:
    """A plan of two kernels that nobody can compile, and as many processes as there may be."""
    made = Kernel("no.module:first", ("int64",), 1.0), Kernel("no.module:last", ("int64",), 1.0)
    plan = Plans({}, made, {"any": {"Potts": [0, 1]}})
    monkeypatch.setattr(foreman, "plans", lambda: plan)
    monkeypatch.setattr(announcement, "_said", [])
    monkeypatch.setenv(foreman.JOBS, "1")
    return made


def test_alone_nothing_is_started(two_kernels, capsys) -> None:
    first, _ = two_kernels
    before = threading.active_count()
    one = Foreman("any", CRF_OF_TWO)
    assert not one.needs(first.key)
    assert threading.active_count() == before
    one.end()
    said = capsys.readouterr().err
    assert said.count("compiling kernels for this machine, once, about") == 1


def test_helpers_take_from_the_back_and_are_waited_for(two_kernels, monkeypatch) -> None:
    first, last = two_kernels
    monkeypatch.setenv(foreman.JOBS, "2")
    taken, go_on = threading.Event(), threading.Event()

    def employ(self: Foreman) -> None:
        key = self._take()
        assert key == last.key
        taken.set()
        assert go_on.wait(10)
        self._give_back(key)

    monkeypatch.setattr(Foreman, "_employ", employ)
    one = Foreman("any", CRF_OF_TWO)
    assert taken.wait(10)
    assert not one.needs(first.key)
    threading.Timer(0.05, go_on.set).start()
    assert one.needs(last.key)
    one.end()


def test_a_helper_that_cannot_compile_is_passed_over(two_kernels, monkeypatch) -> None:
    first, last = two_kernels
    monkeypatch.setenv(foreman.JOBS, "2")
    one = Foreman("any", CRF_OF_TWO)
    assert not one.needs(first.key) or not one.needs(last.key)
    one.end()


def test_a_helper_compiles_into_the_cache(tmp_path: Path, monkeypatch) -> None:
    place = next(k for k, kernel in enumerate(plans().kernels) if kernel.name == SMALL)
    monkeypatch.setattr(
        foreman, "plans", lambda: Plans({}, plans().kernels, {"any": {"Potts": [place, place]}})
    )
    monkeypatch.setenv(foreman.JOBS, "3")
    monkeypatch.setenv("NUMBA_CACHE_DIR", os.fspath(tmp_path))
    one = Foreman("any", CRF_OF_TWO)
    with one._changed:
        assert one._changed.wait_for(lambda: not one._left and not one._in_work, timeout=60)
    assert list(tmp_path.rglob("*rebuild*.nbc"))
    one.end()


def test_policies_have_a_plan_by_their_kind() -> None:
    from policrf.policy.checkpoint import load_policy

    for name in ("labels", "synthetic-50"):
        assert Foreman(load_policy(name).kernel_plan, CRF_OF_TWO)._left


def test_workers_and_budgets_compile_by_themselves(monkeypatch) -> None:
    monkeypatch.setenv(foreman.JOBS, "7")
    assert jobs() == 7
    with alone():
        assert jobs() == 1
    assert jobs() == 7
    monkeypatch.setenv(foreman.JOBS, "many")
    assert 1 <= jobs() <= foreman.MOST_JOBS


def test_calls_inside_a_solver_belong_to_it() -> None:
    with expecting("outer", CRF_OF_TWO):
        with expecting("inner", CRF_OF_TWO):
            assert foreman._site.solver == "outer"
        assert foreman._site.solver == "outer"
    assert foreman._site.solver is None
