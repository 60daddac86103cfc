"""Wrong calls of every public name: right ones, with one or two arguments replaced by junk."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

import policrf as pc
from policrf.errors import PolicrfError
from policrf.solvers.options import options_of
from policrf.solvers.spec import SOLVERS

SECONDS = 10.0  # of processor time; a call that takes longer hangs
PATIENCE = 120.0  # seconds by the clock, on a machine that has other things to do
ANSWERED, TYPED, THEIRS = "answered", "typed error", "the caller's own error"
UNTYPED, HANG = "untyped error", "hang"
CALLED = (ANSWERED, TYPED, THEIRS, UNTYPED, HANG)
EDGES = np.array([[0, 1], [1, 2], [2, 3]])
CLIQUES = [[0, 1, 2], [2, 3]]
PRICES = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])


class Call(NamedTuple):
    """A call that is right."""

    name: str
    function: Callable[..., Any]
    arguments: dict[str, Any]
    further: tuple[str, ...] = ()  # options that are not given, and may be
    positional: int = 0  # how many go before the keywords


def junk() -> list[Any]:
    """Values of wrong types, shapes and ranges."""
    floats = [float("nan"), float("inf"), float("-inf"), -1.0, 0.5, 1e300, -0.0]
    numbers = [-1, 0, 1, 3, 10**6, 2**63, -(2**63) - 1, True, *floats, 1 + 2j]
    texts = ["", "x", "many", "../x", "icm", "a:b=c", "\0", "ü" * 300, b"bytes"]
    nested: list[Any] = [[], [[]], [1, [2]], [None], ["a"], [[0, 1], [2]], (), {}, {"a": 1}, {1, 2}]
    arrays = [
        np.zeros(0), np.zeros((0, 2)), np.zeros((4, 0)), np.zeros((4, 3)), np.full((4, 3), np.nan),
        np.full((4, 3), -np.inf), np.full((4, 3), np.inf), np.zeros((2, 2, 2)), np.arange(4),
        np.array([0, 1, 2, 9]), np.array(["a", "b"]), np.array([object()]), np.array(5),
        np.zeros(4, complex), np.zeros(4, "datetime64[s]"), np.array([2**63], np.uint64),
        np.float32(2.0), np.int8(-3), np.bool_(True), np.longdouble(1.5), np.array(None),
        np.zeros((4, 6))[:, ::2], np.zeros((3, 4)).T, np.zeros((4, 3), object),
        np.zeros((4, 3), np.float16), np.zeros((4, 3), ">f8"), np.zeros((4, 3), "i4,f8"),
        np.ma.masked_array(np.zeros((4, 3)), mask=np.eye(4, 3)), np.ma.masked_array([0, 1], [0, 1]),
        np.asmatrix(np.zeros((4, 3))),
    ]  # fmt: skip
    more = [Decimal("1.5"), Fraction(1, 3), 10**400, bytearray(b"x"), memoryview(b"xy"), "٣", "1e3"]
    things = [None, object(), int, lambda: 1, lambda *a: "text", iter([1]), range(3), Ellipsis]
    ours = [pc.CRF(np.zeros((2, 2))), pc.make_scene(20, "A"), pc.Potts([[0, 1]])]
    return [*numbers, *more, *texts, *nested, *arrays, *things, *ours]


def _crf() -> pc.CRF:
    rng = np.random.default_rng(0)
    return pc.CRF(rng.normal(size=(4, 3)), pc.Potts(EDGES, 0.5))


def _groups() -> list[Call]:
    """The constructors of the groups, each as part of a CRF that is then asked for an energy."""
    found = {
        "Potts": {"edges": EDGES, "weights": [1.0, 1.0, 1.0]},
        "Pairwise": {"edges": EDGES, "table": PRICES, "weights": 1.0},
        "Tables": {"scopes": [[0, 1]], "tables": [PRICES], "partial": "complete"},
        "BoxAgreement": {"cliques": CLIQUES, "labels": [1, 2], "weights": [1.0, 2.0]},
        "BoxSupport": {
            "cliques": CLIQUES, "labels": [1, 2], "penalties": [1.0, 1.0], "counts": [1, 1],
        },
        "LabelCost": {"cliques": CLIQUES, "costs": [1.0, 2.0, 3.0]},
        "CountFunction": {
            "cliques": CLIQUES, "values": [[0.0, 1.0, 2.0, 3.0]] * 3, "labels": None, "which": None,
        },
        "CoOccurrence": {"cliques": CLIQUES, "prices": PRICES},
        "Connectivity": {
            "cliques": CLIQUES, "edges": EDGES, "penalties": [1.0, 1.0], "labels": None,
        },
        "RobustPotts": {
            "cliques": CLIQUES, "penalties": 1.0, "truncations": 1.0, "label_costs": 0.0,
        },
        "LabelOrder": {"sequences": CLIQUES, "prices": PRICES, "cap": 3.0},
        "Custom": {
            "cliques": CLIQUES, "function": lambda labels, parameters: 0.0,
            "parameters": [[1.0], [2.0]], "partial": "complete", "of": "labels", "name": "f",
        },
    }  # fmt: skip

    def energy(group: str) -> Callable[..., Any]:
        def made(**arguments: Any) -> float:
            crf = pc.CRF(np.zeros((4, 3)), getattr(pc, group)(**arguments))
            return crf.energy([0, 1, 2, 0])

        return made

    return [Call(name, energy(name), arguments) for name, arguments in found.items()]


def _solving() -> list[Call]:
    crf, scene = _crf(), pc.make_scene(20, "A", seed=0)
    policy = pc.Policy.untrained(n_labels=21, n_features=scene.features.shape[1], width=4, layers=1)
    calls = []
    for name in pc.list_solvers():
        given = {"problem": crf, "solver": name, "seconds": 0.05, "seed": 0, "initial": None}
        options = tuple(options_of(SOLVERS.get(name)))
        calls.append(Call(f"solve {name}", pc.solve, given | {"callback": None}, options))
    given = {"problem": scene, "solver": policy, "seconds": 0.05, "seed": 0}
    calls.append(Call("solve policy", pc.solve, given, tuple(options_of(policy))))
    many = {"instances": [crf], "solver": "icm", "executor": None, "seconds": 0.05, "seed": 0}
    calls.append(Call("solve_many", pc.solve_many, many))
    calls.append(Call("Processes", pc.Processes, {"jobs": 1}))
    calls.append(Call("RayCluster", pc.RayCluster, {"address": "local", "workers": 1}))
    return [*calls, Call("describe", pc.describe, {"solver": "icm"})]


def _models(folder: Any) -> list[Call]:
    crf, scene = _crf(), pc.make_scene(20, "A", seed=0)
    crf.save(folder / "model.npz")
    pc.write_uai(crf, folder / "model.uai")
    pc.write_wcsp(crf, folder / "model.wcsp")
    pc.write_cfn(crf, folder / "model.cfn")
    pc.write_mpe(crf, [0, 1, 2, 0], folder / "model.mpe")
    instance = {
        "crf": crf, "features": np.zeros((4, 2)), "edges": EDGES, "edge_weights": np.ones((3, 2)),
        "truth": None, "label_names": (), "feature_names": (), "positions": None,
    }  # fmt: skip
    labels = [0, 1, 2, 0]
    return [
        Call("CRF", pc.CRF, {"unary": np.zeros((4, 3)), "cardinalities": None}),
        Call("grid", pc.grid, {"unary": np.zeros((2, 2, 3)), "weights": 1.0, "connectivity": 4}),
        Call("CRF potentials", lambda group: pc.CRF(np.zeros((4, 3)), group), {"group": None}),
        *(
            Call(f"CRF.{name}", getattr(crf, name), {"labels": labels})
            for name in ("energy", "partial_energy", "terms", "labeling", "checked_labels")
        ),
        Call("CRF.label_costs", crf.label_costs, {"labels": labels, "node": 0}),
        Call("CRF.with_potentials", lambda group: crf.with_potentials(group), {"group": None}),
        Call("CRF.save", crf.save, {"path": folder / "out.npz"}),
        Call("CRF.load", pc.CRF.load, {"path": folder / "model.npz", "functions": None}),
        Call("Instance", pc.Instance, instance),
        Call(
            "Instance.from_crf", pc.Instance.from_crf,
            {"crf": crf, "truth": None, "label_names": (), "source": None},
        ),
        Call("Instance.save", scene.save, {"path": folder / "out.npz"}),
        Call("Summary", pc.Summary, {"size": 1, "update": lambda *a: None}),
        Call("read", pc.read, {"path": folder / "model.npz"}),
        Call("read_uai", pc.read_uai, {"path": folder / "model.uai"}),
        Call("write_uai", pc.write_uai, {"crf": crf, "path": folder / "out.uai"}),
        Call("write", pc.write, {"crf": crf, "path": folder / "out.wcsp"}),
        Call("read_wcsp", pc.read_wcsp, {"path": folder / "model.wcsp"}),
        Call("write_wcsp", pc.write_wcsp, {"crf": crf, "path": folder / "out.wcsp"}),
        Call("read_cfn", pc.read_cfn, {"path": folder / "model.cfn"}),
        Call("write_cfn", pc.write_cfn, {"crf": crf, "path": folder / "out.cfn"}),
        Call("read_mpe", pc.read_mpe, {"crf": crf, "path": folder / "model.mpe"}),
        Call(
            "write_mpe", pc.write_mpe, {"crf": crf, "labels": labels, "path": folder / "out.mpe"}
        ),
        Call(
            "plot_trace", pc.plot_trace,
            {"solutions": pc.solve(crf, "icm"), "path": folder / "out.png", "title": ""},
        ),
    ]  # fmt: skip


def _data(folder: Any) -> list[Call]:
    scenes = [pc.make_scene(20, "A", seed=seed) for seed in range(3)]
    energy = {name: getattr(pc.Energy(), name) for name in pc.Energy.__dataclass_fields__}
    return [
        Call(
            "make_scene", pc.make_scene,
            {"n_nodes": 20, "preset": "A", "seed": 0, "potentials": "u+p", "n_labels": 5,
             "recipe": None},
        ),
        Call(
            "render_scene", pc.render_scene,
            {"size": (24, 24), "preset": "A", "seed": 0, "n_labels": 5, "recipe": None},
        ),
        Call(
            "load_instances", pc.load_instances,
            {"source": "synthetic:A:20", "energy": None, "potentials": "u+p", "features": "paper",
             "count": 2, "seed": 0},
        ),
        Call(
            "evaluate", pc.evaluate,
            {"instances": scenes, "solvers": ["unary"], "out": None, "seconds": 0.1, "seed": 0,
             "pixels": True},
        ),
        Call("Energy", pc.Energy, energy),
        Call("Segmenter", pc.Segmenter, {
            "net": None, "detector": None, "energy": None, "recipe": None, "reduction": None,
            "potentials": "u+p", "features": "paper", "pixels": True, "superpixels": 50,
        }),
        Call("prepare", pc.prepare, {
            "dataset": "images", "root": folder / "nowhere", "out": folder / "prepared",
            "options": None, "jobs": 1, "scores": folder, "superpixels": 50,
        }),
        Call("calibrate", pc.calibrate, {
            "prepared": folder / "nowhere", "options": None, "start": None, "grids": None,
            "jobs": 1, "journal": None, "solver": "icm", "seed": 0,
        }),
    ]  # fmt: skip


def _learning(folder: Any) -> list[Call]:
    scenes = [pc.make_scene(20, "A", seed=seed) for seed in range(3)]
    policy = pc.Policy.untrained(n_labels=21, n_features=scenes[0].features.shape[1], width=4)
    policy.save(folder / "policy.safetensors")
    given = {
        "instances": scenes, "method": "dqn", "out": None, "resume": False, "validation": (),
        "name": None, "seed": 0, "report": None, "about": None, "start": None, "rounds": 1,
        "updates": 1, "batch": 4, "episodes": 1, "width": 4, "capacity": 50, "seconds": 1.0,
    }  # fmt: skip
    return [
        Call("train", pc.train, given, ("learning_rate", "epsilon", "share", "kind", "select")),
        Call("load_policy", pc.load_policy, {"source": folder / "policy.safetensors"}),
        Call(
            "Policy.untrained", pc.Policy.untrained,
            {"seed": 0, "name": "p", "n_labels": 3, "n_features": 2, "width": 4, "layers": 1},
        ),
        Call("Policy", pc.Policy, {"spec": policy.spec, "weights": policy.weights, "name": "p"}),
        Call("Policy.check", policy.check, {"instance": scenes[0]}),
        Call("Policy.save", policy.save, {"path": folder / "out.safetensors"}),
    ]  # fmt: skip


def right_calls(folder: Any) -> list[Call]:
    """One right call of every public name; files are below `folder`."""
    return [*_groups(), *_solving(), *_models(folder), *_data(folder), *_learning(folder)]


class Hang(BaseException):
    """A call took too long."""


@contextmanager
def at_most(seconds: float) -> Any:
    def alarm(number: int, frame: Any) -> None:
        raise Hang

    timers = {signal.ITIMER_PROF: signal.SIGPROF, signal.ITIMER_REAL: signal.SIGALRM}
    before = {number: signal.signal(number, alarm) for number in timers.values()}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        for timer, number in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])


def wrong_calls(calls: list[Call], count: int, seed: int) -> Any:
    """`count` calls with one or two arguments replaced: (call, arguments)."""
    draw, values = random.Random(seed), junk()
    for k in range(count):
        call = calls[k % len(calls)]
        names = [*call.arguments, *call.further]
        changed = draw.sample(names, min(len(names), draw.choice((1, 1, 2))))
        given = {name: draw.choice(values) for name in changed}
        if not any(_takes_long(call, name, value) for name, value in given.items()):
            yield call, call.arguments | given, changed


def _takes_long(call: Call, name: str, value: Any) -> bool:
    """What is no mistake: much time, or much work, that is asked for."""
    number = isinstance(value, int | float) and value >= 3
    return number and (name == "seconds" or call.name in ("train", "Policy.untrained"))


def outcome_of(call: Call, arguments: dict[str, Any]) -> tuple[str, BaseException | None]:
    """One of `CALLED`, and the exception that is no error of policrf's, if there was one."""
    try:
        with at_most(SECONDS):
            call.function(**arguments)
    except PolicrfError:
        return TYPED, None
    except (Exception, Hang) as error:
        if _theirs(arguments):
            return THEIRS, None
        return (HANG if isinstance(error, Hang) else UNTYPED), error
    return ANSWERED, None


def untyped(call: Call, arguments: dict[str, Any]) -> BaseException | None:
    """What a call raises that is no error of policrf's."""
    return outcome_of(call, arguments)[1]


def _theirs(arguments: dict[str, Any]) -> bool:
    """Whether the caller's own function may have raised: that is passed on as it is."""
    return any(callable(arguments.get(name)) for name in ("callback", "report", "solver")) and not (
        isinstance(arguments.get("solver"), pc.Policy)
    )
