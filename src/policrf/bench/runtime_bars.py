"""The bars of the run-time benchmark: what was promised of the policy's speed, and what is so."""

from __future__ import annotations

from collections.abc import Iterable

from policrf.bench.runtime import Result
from policrf.evaluation.tables import Table

KINDS = {"paper": "untrained:kind=paper", "residual": "untrained"}
ALL, HOP1, PAIRS = "u+p+hop1+hop2", "u+p+hop1", "u+p"

Row = tuple[str, str, float, str, str]


def bars(
    results: list[Result], growth: Iterable[Result] = (), threads: Iterable[Result] = (),
    fresh: Result | None = None,
) -> Table:  # fmt: skip
    """One row a bar and kind, of those that were measured: the figure, the bar, is it held."""
    seconds = {(r["row"], r["terms"], r["n"]): r["seconds"] for r in results if r["seconds"]}
    rows: list[Row] = []
    for kind, row in KINDS.items():
        for what, terms, n, other, limit in (
            ("alpha_expansion with repair", ALL, 10_000, "alpha_expansion", 0.5),
            ("gco-wrapper", PAIRS, 10_000, "gco-wrapper", 1.0),
            ("alpha_expansion", HOP1, 1000, "alpha_expansion:hop2=ignore", 1.0),
        ):
            if (row, terms, n) in seconds and (other, terms, n) in seconds:
                ratio = seconds[row, terms, n] / seconds[other, terms, n]
                rows.append(_at_most(f"time / {what}, N = {n:,}, {terms}", kind, ratio, limit))
        if (row, ALL, 10_000) in seconds:
            micros = seconds[row, ALL, 10_000] / 10_000 * 1e6
            rows.append(_at_most(f"µs a step, N = 10,000, {ALL}", kind, micros, 15.0))
    of_paper = [seconds.get((KINDS["paper"], terms, 10_000)) for terms in (PAIRS, HOP1, ALL)]
    if all(of_paper):
        spread = max(filter(None, of_paper)) / min(filter(None, of_paper))
        rows.append(_at_most("slowest / fastest energy, N = 10,000", "paper", spread, 1.1))
    grown = {(r["kind"], r["n"]): r for r in growth}
    for kind in KINDS:
        small, large = grown.get((kind, 10_000)), grown.get((kind, 100_000))
        if small and large:
            factor = large["seconds"] / small["seconds"]
            rows.append(_at_most("time, N = 100,000 / N = 10,000", kind, factor, 12.0))
            rows.append(_at_most("peak MB, N = 100,000", kind, large["peak_mb"], 1000.0))
    for result in threads:
        held = "yes" if result["speedup"] >= 1.7 else "no"
        rows.append(("two threads / one, speed", result["kind"], result["speedup"], "≥ 1.7", held))
    if fresh is not None:
        rows.append(
            _at_most("s, fresh process, N = 250, no torch", fresh["policy"], fresh["seconds"], 1.5)
        )
    return Table("Bars", ("what", "kind", "measured", "bar", "held"), tuple(rows))


def _at_most(what: str, kind: str, value: float, limit: float) -> Row:
    return what, kind, value, f"≤ {limit:g}", "yes" if value <= limit else "no"
