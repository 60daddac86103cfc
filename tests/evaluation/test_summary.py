import numpy as np
import pytest

from policrf.errors import InvalidOption
from policrf.evaluation.results import Result, from_line, to_line
from policrf.evaluation.summary import ResultGrid
from policrf.evaluation.summary_tables import class_markdown, summary_csv, summary_markdown
from policrf.metrics import (
    class_iou,
    dense_matrix,
    mean_iou,
    node_confusion,
    pixel_accuracy,
    pixel_confusion,
    sparse_rows,
)

RNG = np.random.default_rng(0)


def test_confusions_against_a_loop():
    truth = RNG.integers(0, 9, (30, 4))
    truth[::7] = 0
    labels = RNG.integers(0, 4, 30)
    pixels, nodes = np.zeros((4, 4), int), np.zeros((4, 4), int)
    for node, label in enumerate(labels):
        for true in range(4):
            pixels[true, label] += truth[node, true]
        if truth[node].sum():
            nodes[truth[node].argmax(), label] += 1
    np.testing.assert_array_equal(pixel_confusion(truth, labels), pixels)
    np.testing.assert_array_equal(node_confusion(truth, labels), nodes)
    assert pixel_accuracy(pixels) == pytest.approx(np.trace(pixels) / pixels.sum())


def test_iou_by_hand():
    confusion = np.asarray([[6, 2, 0], [1, 3, 0], [0, 0, 0]])
    iou = class_iou(confusion)
    assert iou[:2].tolist() == pytest.approx([6 / 9, 3 / 6])
    assert np.isnan(iou[2])
    assert mean_iou(confusion) == pytest.approx((6 / 9 + 3 / 6) / 2)
    assert mean_iou(confusion, np.asarray([False, True, True])) == pytest.approx(0.5)


def test_a_class_that_is_only_predicted_counts_as_zero():
    assert class_iou(np.asarray([[5, 1], [0, 0]])).tolist() == pytest.approx([5 / 6, 0])


def result(solver, image, right, energy=1.0, **more):
    confusion = np.diag([50, right, 0])
    confusion[1, 0] = 20 - right
    return Result(
        solver, f"image{image}", 10, energy=energy, terms={"unary": energy},
        pixels=sparse_rows(confusion).tolist(), superpixels=sparse_rows(confusion // 5).tolist(),
        seconds=0.1, cpu_seconds=0.1, **more,
    )  # fmt: skip


def grid(*, images=20, lead=5):
    rows = []
    for image in range(images):
        base = int(RNG.integers(2, 14))
        rows += [result("better", image, base + lead, 1.0), result("worse", image, base, 1.5)]
        rows.append(result("exact", image, base, 1.0, optimal=True))
    return ResultGrid(rows, ("nothing", "thing", "never"))


def test_results_survive_their_lines():
    original = result("a", 1, 3, energy=float("nan"), optimal=True)
    read = from_line(to_line(original))
    assert np.isnan(read.energy)
    assert read.lower_bound == -np.inf
    assert read.pixels == original.pixels
    matrix = dense_matrix(read.pixels, (3, 3))
    np.testing.assert_array_equal(matrix, [[50, 0, 0], [17, 3, 0], [0, 0, 0]])


def test_figures_of_a_solver():
    found = grid().row("better")
    total = sum(dense_matrix(r.pixels, (3, 3)) for r in grid().by_solver["better"])
    assert found["images"] == 20
    assert found["pixels_all"]["low"] <= found["pixels_all"]["iou"] <= found["pixels_all"]["high"]
    assert found["pixels_classes"]["never"] is None
    assert found["terms"] == {"unary": 1.0}
    assert total.shape == (3, 3)


def test_gap_is_against_proven_optima():
    rows = grid()
    assert rows.row("better")["gap"] == pytest.approx(0)
    assert rows.row("worse")["gap"] == pytest.approx(0.5)


def test_paired_comparison_sees_a_small_steady_lead():
    rows = grid(lead=2)
    comparison = rows.compare("better", "worse")
    assert 0 < comparison.low <= comparison.difference <= comparison.high
    assert comparison.wins == 1
    spread = rows.row("better")["pixels_all"]
    assert comparison.high - comparison.low < 0.5 * (spread["high"] - spread["low"])
    same = rows.compare("worse", "exact")
    assert (same.difference, same.wins) == (0, 0.5)
    with pytest.raises(InvalidOption, match="nobody"):
        rows.compare("better", "nobody")


def test_bootstrap_is_the_same_every_time():
    first = grid()
    again = ResultGrid(first.results, first.labels)
    assert first.row("worse") == again.row("worse")
    other = ResultGrid(first.results, first.labels, seed=1)
    assert first.row("worse")["pixels_all"] != other.row("worse")["pixels_all"]


def test_tables_have_a_line_for_everyone():
    rows = grid()
    failed = Result("cannot", "image0", 10, failed="cannot take BoxSupport")
    rows.by_solver["cannot"] = [failed]
    summary = [rows.row(solver) for solver in rows.solvers()]
    text = summary_markdown(summary, [rows.compare("better", "worse")])
    assert text.count("\n| ") >= 6
    assert "cannot take BoxSupport" in text
    assert "better − worse" in text
    assert "| thing |" in class_markdown(summary, rows.labels).splitlines()[0] + "|"
    csv_lines = summary_csv(summary).splitlines()
    assert len(csv_lines) == 5
    assert "pixels_all.iou" in csv_lines[0]
