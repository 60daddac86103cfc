"""Tables of `policrf bench foreign`: all models by solver, families, every solve, the models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from policrf.bench.foreign.grid import ForeignGrid, Model
from policrf.bench.result_log import Result
from policrf.evaluation.tables import Table

WITHIN = 1e-6  # of the best known energy: reached
ALLOWED = (0.5, 0.05)  # seconds, and share of the limit, that a solve may overrun


def all_tables(
    grid: ForeignGrid, models: Sequence[Model], results: Sequence[Result]
) -> list[Table]:
    """The four tables, the summary first."""
    known = {model.name: model for model in models}
    judged = [judge(known[result["model"]], result) for result in results]
    rows = list(dict.fromkeys(result["row"] for result in judged))
    return [
        _summary(grid, rows, judged), _families(rows, models, judged), _solves(models, judged),
        _models(models),
    ]  # fmt: skip


def judge(model: Model, result: Result) -> Result:
    """A result with its gap, and what is wrong with its claims."""
    energy, bound = _number(result.get("energy")), _number(result.get("bound"), -math.inf)
    reached = energy <= model.best + WITHIN
    same = abs(energy - model.best) <= WITHIN
    proven = bool(result.get("proven"))
    return result | {
        "energy": energy,
        "bound": bound,
        "family": model.family,
        # Below 0 where the best known energy is beaten; rounding is no gap.
        "gap": 0.0 if same else (energy - model.best) / max(abs(model.best), 1.0),
        "reached": reached,
        "proven": proven,
        "false_proof": proven and not reached,
        "wrong_bound": bound > min(energy, model.best) + WITHIN,
        "ran": "failed" not in result and "refused" not in result,
    }


def _number(value: Any, missing: float = math.inf) -> float:
    return missing if value is None else float(value)


def _summary(grid: ForeignGrid, rows: list[str], judged: list[Result]) -> Table:
    columns = (
        "solver", "models", "best known reached", "at +inf", "mean gap %", "proven",
        "false proofs", "wrong bounds", "refused or failed", "late", "CPU s", "most MB",
    )  # fmt: skip
    body = []
    clock = f"{grid.clock}_seconds"
    limit = grid.seconds + ALLOWED[0] + ALLOWED[1] * grid.seconds
    for row in rows:
        own = [result for result in judged if result["row"] == row]
        ran = [result for result in own if result["ran"]]
        finite = [100 * result["gap"] for result in ran if math.isfinite(result["gap"])]
        body.append((
            row, len(own), sum(r["reached"] for r in ran),
            sum(math.isinf(r["energy"]) for r in ran), fmean(finite) if finite else None,
            sum(r["proven"] for r in ran), sum(r["false_proof"] for r in ran),
            sum(r["wrong_bound"] for r in ran), len(own) - len(ran),
            sum(r[clock] > limit for r in ran), sum(r["cpu_seconds"] for r in ran),
            max((r["peak_mb"] for r in ran), default=None),
        ))  # fmt: skip
    note = (
        f"{grid.seconds:g} s ({grid.clock}) a solve, a process each. Reached: within {WITHIN:g} of "
        "the best known energy. Gaps are parts of its size, of 1 where that is smaller, over "
        "finite energies. A false proof is a claim above the best known energy, a wrong bound "
        f"one above it. Late: more than {ALLOWED[0]:g} s + {100 * ALLOWED[1]:g} % over the limit."
    )
    return Table("Models of others, by solver", columns, tuple(body), note)


def _families(rows: list[str], models: Sequence[Model], judged: list[Result]) -> Table:
    """Mean gap in % and models reached, for every family and solver."""
    families = list(dict.fromkeys(model.family for model in models))
    body = []
    for family in families:
        cells: list[Any] = [family, sum(model.family == family for model in models)]
        for row in rows:
            own = [r for r in judged if r["family"] == family and r["row"] == row and r["ran"]]
            if not own:
                cells.append(None)
                continue
            reached = sum(r["reached"] for r in own)
            cells.append(f"{_percent(fmean(r['gap'] for r in own))} ({reached}/{len(own)})")
        body.append(tuple(cells))
    note = "Mean gap to the best known energies in %, and how many of the models reach them."
    return Table("By family", ("family", "models", *rows), tuple(body), note)


def _percent(gap: float) -> str:
    return "inf" if math.isinf(gap) else f"{100 * gap:.3g}"


def _solves(models: Sequence[Model], judged: list[Result]) -> Table:
    columns = (
        "model", "solver", "energy", "gap %", "bound", "proven", "wall s", "CPU s", "MB", "note"
    )  # fmt: skip
    body = []
    for model in models:
        for r in (result for result in judged if result["model"] == model.name):
            cells: tuple[Any, ...]
            if r["ran"]:
                gap = 100 * r["gap"]
                cells = (r["energy"], gap, r["bound"], r["proven"],
                         r["wall_seconds"], r["cpu_seconds"], r["peak_mb"], "")  # fmt: skip
            else:
                cells = (None,) * 7 + (r.get("refused", r.get("failed", "")),)
            body.append((model.name, r["row"], *cells))
    return Table("Every solve", columns, tuple(body))


def _models(models: Sequence[Model]) -> Table:
    columns = ("model", "family", "best known energy", "proven", "origin")
    body = tuple((m.name, m.family, repr(m.best), m.proven, m.origin) for m in models)
    return Table("The models", columns, body)
