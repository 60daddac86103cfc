"""`policrf solve MODEL --solver NAME`: one model, one solver, one labeling."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from policrf.errors import InvalidOption
from policrf.solvers import DEFAULT_SOLVER


@dataclass(frozen=True)
class Config:
    """Find a labeling of least energy for one model."""

    model: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="[MODEL]")] = None
    """A model file: UAI (.uai), or policrf's own (.npz)."""
    solver: str = DEFAULT_SOLVER
    """A solver or policy (a name or a file), with options as NAME:option=value,…"""
    list: bool = False
    """List every solver with its options, and the policies."""
    seconds: float | None = None
    """Stop after this many seconds with the best labeling so far."""
    seed: int = 0
    """Seed of everything random."""
    initial: Path | None = None
    """Labels to start from (.npy, one integer a node)."""
    potentials: str = "u+p+hop1+hop2+tables+custom"
    """Which terms to keep, joined by +."""
    out: Path | None = None
    """Write the labels here (.npy)."""
    json: bool = False
    """Print one JSON object instead of text."""


def run(config: Config) -> None:
    """Solve, print, and write the labels if asked."""
    import numpy as np

    from policrf.crf.instance import Instance
    from policrf.crf.io import read
    from policrf.crf.io.files import atomic_write
    from policrf.crf.io.json_text import to_json
    from policrf.crf.selection import restrict, restrict_crf
    from policrf.solvers import solve
    from policrf.solvers.spec import SolverSpec

    if config.list:
        _list(config.json)
        return
    if config.model is None:
        raise InvalidOption("give a model file (.uai or .npz), or --list for the solvers")
    spec = SolverSpec.parse(config.solver)
    problem = read(config.model)
    if isinstance(problem, Instance):
        problem = restrict(problem, config.potentials)
        crf = problem.crf
    else:
        problem = crf = restrict_crf(problem, config.potentials)
    solution = solve(
        problem,
        spec,
        seconds=config.seconds,
        seed=config.seed,
        initial=_read_labels(config.initial) if config.initial else None,
    )
    if config.out is not None:
        with atomic_write(config.out) as file:
            np.save(file, solution.labels)
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
        "out": str(config.out) if config.out else None,
    }
    if config.json:
        # JSON has no infinities: a missing bound is null.
        print(to_json(report))
    else:
        _print(report)


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
    if report["out"]:
        print(f"labels written to {report['out']}")
    if math.isinf(report["energy"]):
        print("policrf: no allowed labeling was found", file=sys.stderr)


def _read_labels(path: Path) -> Any:
    import numpy as np

    from policrf.crf.io.files import existing_file
    from policrf.errors import InvalidFile

    try:
        return np.load(existing_file(path), allow_pickle=False)
    except (ValueError, OSError, EOFError):
        raise InvalidFile(f"{path}: not a NumPy file; save the labels with numpy.save") from None
