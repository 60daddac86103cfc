"""Traces of solutions as a figure: energies fall and bounds rise over time, until they meet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from policrf.argument_types import typed
from policrf.errors import InvalidOption
from policrf.optional import need
from policrf.plots.figures import save_figure
from policrf.types import Solution

EARLIEST = 1e-4  # seconds: the left end of the picture at least
MARGIN = 0.06  # of the height, above and below the lines
CLIMB = 3.0  # how many times the spread of final energies and bounds is shown above the best


@typed()
def plot_trace(
    solutions: Solution | Sequence[Solution], path: str | Path, *, title: str = ""
) -> None:
    """Draw energy (full lines) and lower bound (broken) against time, for one or more solutions.

    A dot ends the line of a proven minimum, a short bar that of others. High energies at the
    beginning are cut off where they would flatten the rest.

    Parameters
    ----------
    solutions
        Of one model, each with its trace.
    path
        Where the picture goes; the ending says the format (.png, .svg, .pdf).
    title
        Above the picture.
    """
    shown = [solutions] if isinstance(solutions, Solution) else list(solutions)
    if not shown:
        raise InvalidOption("solutions is empty; give at least one")
    for solution in shown:
        if not isinstance(solution, Solution):
            raise InvalidOption(f"solutions holds {solution!r:.80}; give what solve returns")
    figure_module = need("matplotlib.figure", "matplotlib")
    figure = figure_module.Figure(figsize=(8.0, 4.8), layout="constrained")
    axis = figure.subplots()
    for k, solution in enumerate(shown):
        _draw(axis, solution, f"C{k % 10}")
    low, high = span(shown)
    axis.set_ylim(low, high)
    axis.set_xscale("log")
    axis.set_xlabel("seconds")
    axis.set_ylabel("energy (full), lower bound (broken)")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8, frameon=False)
    if title:
        axis.set_title(title, fontsize=10)
    save_figure(figure, path)


def _draw(axis: Any, solution: Solution, colour: str) -> None:
    """The lines of one solution, up to the time it was returned."""
    end = max(solution.seconds, EARLIEST)
    energies = steps([(p.seconds, p.energy) for p in solution.trace], solution.energy, end)
    bounds = steps([(p.seconds, p.lower_bound) for p in solution.trace], solution.lower_bound, end)
    text = f"{solution.solver}: {solution.energy:.6g}{' (proven)' if solution.optimal else ''}"
    axis.plot(*energies, drawstyle="steps-post", color=colour, label=text)
    if bounds[0]:
        axis.plot(*bounds, drawstyle="steps-post", color=colour, linestyle="--", linewidth=1)
    if energies[0]:
        marker = "o" if solution.optimal else "|"
        axis.plot(end, solution.energy, marker=marker, color=colour, markersize=7)


def steps(
    values: Sequence[tuple[float, float]], last: float, end: float
) -> tuple[list[float], list[float]]:
    """Times and values of a line: the finite ones, the last value carried on to the end.

    >>> steps([(0.1, float("inf")), (0.2, 5.0), (0.4, 3.0)], 3.0, 1.0)
    ([0.2, 0.4, 1.0], [5.0, 3.0, 3.0])
    """
    finite = [(max(time, EARLIEST), value) for time, value in values if math.isfinite(value)]
    if math.isfinite(last):
        finite.append((end, last))
    return [time for time, _ in finite], [value for _, value in finite]


def span(solutions: Sequence[Solution]) -> tuple[float, float]:
    """Lowest and highest value shown: all bounds and final energies, and what lies near them."""
    final = [s.energy for s in solutions if math.isfinite(s.energy)]
    bounds = [s.lower_bound for s in solutions if math.isfinite(s.lower_bound)]
    seen = [p.energy for s in solutions for p in s.trace if math.isfinite(p.energy)]
    if not final:
        return 0.0, 1.0
    best = min(final)
    low = min(final + bounds)
    middle = median(seen) if seen else best
    spread = max(max(final) - best, best - low, (middle - best) / CLIMB, 0.02 * abs(best), 1e-9)
    high = max(max(final), min(max(seen, default=best), best + CLIMB * spread))
    room = MARGIN * max(high - low, 1e-9)
    return low - room, high + room
