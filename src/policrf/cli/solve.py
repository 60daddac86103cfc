"""`policrf solve MODEL --solver NAME`: one model, one solver, one labeling."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from policrf.errors import InvalidOption
from policrf.solvers import DEFAULT_SOLVER

if TYPE_CHECKING:
    from policrf.crf.instance import Instance
    from policrf.crf.model import CRF
    from policrf.types import Solution

OUT_IS_FILE = True


@dataclass(frozen=True)
class Config:
    """Find a labeling of least energy for one model."""

    model: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="[MODEL]")] = None
    """A model: UAI (.uai), toulbar2's .wcsp or .cfn, OpenGM's .h5, policrf's own (.npz); packed."""
    evidence: str = "beside"
    """Observed labels of a UAI model (.evid): a file, the one beside the model, or none."""
    solver: str = DEFAULT_SOLVER
    """A solver or policy (a name or a file), with options as NAME:option=value,…"""
    list: bool = False
    """List every solver with its options, and the policies."""
    seconds: float | None = None
    """Stop after this many seconds with the best labeling so far."""
    seed: int = 0
    """Seed of everything random."""
    solutions: int = 1
    """How many different labelings to find: the lowest ones, with a solver that proves minima."""
    diversity: int = 1
    """In how many nodes, at least, each differs from all before it."""
    initial: Path | None = None
    """Labels to start from (.npy, one integer a node)."""
    potentials: str | None = None
    """Which terms to keep, joined by + as in u+p+hop1; by default all that the model has."""
    out: Path | None = None
    """Write the labels here (.npy): `[N]`, or `[M, N]` with --solutions M."""
    mpe: Path | None = None
    """Write the labels here in the MPE format of the UAI competitions."""
    plot: Path | None = None
    """Draw energy and bound against time here (.png, .svg, .pdf)."""
    compare: tuple[str, ...] = ()
    """More solvers for the plot, each with the same limit."""
    json: bool = False
    """Print one JSON object instead of text."""


def run(config: Config) -> None:
    """Solve, print, and write the labels if asked; also those that a signal leaves."""
    from policrf.cli import Ended
    from policrf.solvers import solve
    from policrf.solvers.interrupted import Interrupted
    from policrf.solvers.spec import SolverSpec

    if config.list:
        _list(config.json)
        return
    if config.compare and config.plot is None:
        raise InvalidOption("--compare is for the plot; give --plot FILE.png too")
    _check_places(config)
    spec = SolverSpec.parse(config.solver)
    for solver in config.compare:
        SolverSpec.parse(solver)
    problem = _problem(config)
    try:
        solution = solve(
            problem,
            spec,
            seconds=config.seconds,
            seed=config.seed,
            initial=_read_labels(config.initial) if config.initial else None,
            solutions=config.solutions,
            diversity=config.diversity,
        )
    except Interrupted as stop:
        _finish(replace(config, plot=None), problem, stop.solution)
        kept = " and ".join(str(path) for path in (config.out, config.mpe) if path is not None)
        told = f"written to {kept}" if kept else "lost without --out; their energy is above"
        raise Ended(f"the best labels so far are {told}") from None
    _finish(config, problem, solution)


def _check_places(config: Config) -> None:
    """Refuse files that cannot be written before any work is done; --out has been looked at."""
    from policrf.crf.io.outputs import check_output_file, refuse_replacing

    taken = [path for path in (config.model, config.initial, config.out) if path is not None]
    for path in (config.mpe, config.plot):
        if path is not None:
            refuse_replacing([check_output_file(path)], [*taken, Path(config.evidence)])
            taken.append(path)


def _problem(config: Config) -> CRF | Instance:
    from policrf.crf.instance import Instance
    from policrf.crf.io import read
    from policrf.crf.selection import restrict, restrict_crf

    if config.model is None:
        raise InvalidOption(
            "give a model file (.uai, .wcsp, .cfn, .h5 or .npz), or --list for the solvers"
        )
    problem = read(config.model, evidence=config.evidence)
    kept = config.potentials
    if kept is None:
        return problem
    return restrict(problem, kept) if isinstance(problem, Instance) else restrict_crf(problem, kept)


def _finish(config: Config, problem: CRF | Instance, solution: Solution) -> None:
    """Write the labels, then the plot, and print."""
    import numpy as np

    from policrf.crf.instance import Instance
    from policrf.crf.io.files import atomic_write
    from policrf.crf.io.json_text import to_json
    from policrf.crf.io.mpe import write_mpe

    crf = problem.crf if isinstance(problem, Instance) else problem
    found = [solution, *solution.others]
    if config.out is not None:
        with atomic_write(config.out) as file:
            several = config.solutions > 1
            np.save(file, np.stack([s.labels for s in found]) if several else solution.labels)
    if config.mpe is not None:
        write_mpe(crf, solution.labels, config.mpe)
    if config.plot is not None:
        _plot(config, problem, solution)
    report: dict[str, Any] = {
        "model": str(config.model),
        "solver": solution.solver,
        "nodes": crf.n_nodes,
        "labels": crf.n_labels,
        "energy": solution.energy,
        "terms": crf.terms(solution.labels),
        "lower_bound": solution.lower_bound,
        "optimal": solution.optimal,
        "seconds": solution.seconds,
        "calls": solution.calls,
        "asked": config.solutions,
        "others": [{"energy": s.energy, "optimal": s.optimal} for s in solution.others],
        "out": str(config.out) if config.out else None,
        "mpe": str(config.mpe) if config.mpe else None,
        "plot": str(config.plot) if config.plot else None,
    }
    if config.json:
        # JSON has no infinities: a missing bound is null.
        print(to_json(report))
    else:
        _print(report)


def _plot(config: Config, problem: CRF | Instance, solution: Solution) -> None:
    """The solution's trace beside those of other solvers."""
    from policrf.plots.traces import plot_trace
    from policrf.solvers import solve

    assert config.plot is not None
    others = [
        solve(problem, solver, seconds=config.seconds, seed=config.seed)
        for solver in config.compare
    ]
    title = config.model.name if config.model is not None else ""
    plot_trace([solution, *others], config.plot, title=title)


def _list(as_json: bool) -> None:
    """Every solver with its options, and the policies."""
    from policrf.policy.checkpoint import list_policies
    from policrf.solvers.describe import default_text, describe, describe_all

    found, policies = describe_all(), list_policies()
    if as_json:
        options = {d.name: {o.name: default_text(o.default) for o in d.options} for d in found}
        print(json.dumps({"solvers": options, "policies": policies}))
        return
    print("\n".join(map(str, found)))
    print(f"policies: {', '.join(policies)}, or a policy's file")
    for name in policies[:1]:  # all take the same options
        print("\n".join(str(describe(name)).splitlines()[1:]))


def _print(report: dict[str, Any]) -> None:
    terms = "  ".join(f"{name} {value:.6g}" for name, value in report["terms"].items() if value)
    print(f"{report['model']}: {report['nodes']} nodes, {report['labels']} labels")
    print(f"{report['solver']}: energy {report['energy']:.9g} in {report['seconds']:.3g} s")
    print(f"terms: {terms or 'all zero'}")
    if report["calls"]:
        print(f"custom functions were called {report['calls']:,} times")
    if report["optimal"]:
        print("proven optimal")
    elif math.isfinite(report["lower_bound"]):
        print(f"lower bound {report['lower_bound']:.9g}")
    for place, other in enumerate(report["others"], start=2):
        proof = ", proven" if other["optimal"] else ""
        print(f"solution {place}: energy {other['energy']:.9g}{proof}")
    if 1 + len(report["others"]) < report.get("asked", 1):
        print(f"no more than these were found; {report['asked']} were asked for")
    for file in filter(None, (report["out"], report.get("mpe"))):
        print(f"labels written to {file}")
    if report.get("plot"):
        print(f"figure written to {report['plot']}")
    if math.isinf(report["energy"]):
        print("policrf: no allowed labeling was found", file=sys.stderr)


def _read_labels(path: Path) -> Any:
    from policrf.crf.io.npy import read_arrays
    from policrf.errors import InvalidFile

    arrays = read_arrays(path, "a NumPy file; save the labels with numpy.save")
    if list(arrays) != [""]:
        raise InvalidFile(f"{path}: an archive; save the labels with numpy.save")
    return arrays[""]
