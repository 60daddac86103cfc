"""The figure of traces: what its lines hold, and that it is written whole."""

import math

import numpy as np
import pytest

import policrf as pc
from policrf.errors import InvalidOption
from policrf.plots.traces import span, steps
from policrf.types import Progress, Solution

LABELS = np.zeros(1, np.int64)


def _solution(energy, bound, *trace, optimal=False):
    lines = tuple(Progress(*line) for line in trace)
    return Solution(LABELS, energy, "icm", 2.0, lower_bound=bound, optimal=optimal, trace=lines)


def test_lines_hold_what_is_finite_and_go_on_to_the_end():
    lines = [(0.0, math.inf), (0.5, 4.0)]
    assert steps(lines, 4.0, 2.0) == ([0.5, 2.0], [4.0, 4.0])
    assert steps([(0.1, -math.inf)], -math.inf, 2.0) == ([], [])


def test_early_heights_do_not_flatten_the_rest():
    first = _solution(10.0, 9.0, (0.1, 1e6, -math.inf), (0.2, 10.0, 9.0))
    second = _solution(11.0, -math.inf, (0.1, 11.0, -math.inf))
    low, high = span([first, second])
    assert low < 9.0
    assert 11.0 < high < 20.0
    assert span([_solution(math.inf, -math.inf)]) == (0.0, 1.0)


def test_a_figure_is_written(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    lines = (0.1, 12.0, 5.0), (0.4, 10.0, 10.0)
    pc.plot_trace(_solution(10.0, 10.0, *lines, optimal=True), tmp_path / "one.png")
    infinite = _solution(math.inf, -math.inf, (0.1, math.inf, -math.inf))
    pc.plot_trace([_solution(10.0, 5.0, *lines), infinite], tmp_path / "two.svg", title="two")
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["one.png", "two.svg"]
    with pytest.raises(InvalidOption, match="at least one"):
        pc.plot_trace([], tmp_path / "none.png")
