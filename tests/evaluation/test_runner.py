import json
import math
from pathlib import Path

import numpy as np
import pytest
from tests.vision.builders import call, prepared_scenes

import policrf as pc
from policrf.datasets.instances import load_prepared
from policrf.datasets.sources import load_instances
from policrf.datasets.store import Prepared
from policrf.errors import InvalidFile, InvalidInstance, InvalidOption
from policrf.evaluation import runner
from policrf.evaluation.results import Result, read_results, rewrite
from policrf.evaluation.runner import evaluate
from policrf.metrics import dense_matrix, mean_iou
from policrf.vision.energy.weights import Energy
from policrf.vision.images import read_mask
from policrf.vision.nets.coco import CocoDetections
from policrf.vision.segment import Segmenter


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    return prepared_scenes(tmp_path_factory.mktemp("scenes"), 6)


@pytest.fixture(scope="module")
def prepared(scenes):
    return scenes / "prepared"


def test_a_policy_with_and_without_search(prepared, tmp_path, capsys):
    instances = load_prepared(prepared, Energy(alpha=0.1))
    first = instances[0]
    policy = pc.Policy.untrained(
        n_labels=first.crf.n_labels, n_features=first.features.shape[1], kind="residual"
    )
    path = tmp_path / "own.safetensors"
    policy.save(path)
    begin = ["evaluate", str(prepared), "--jobs", "1", "--out", str(tmp_path / "out")]
    searching = f"{path}:search=6,depth=2"
    assert call([*begin, "--solvers", str(path), searching, "icm", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["solver"] for row in rows] == ["net", "oracle", str(path), searching, "icm"]
    found = {r.key: r for r in read_results(tmp_path / "out" / "results.jsonl")}
    for instance in load_prepared(prepared):
        name = instance.source["name"]
        greedy = pc.solve(instance, policy)
        searched = pc.solve(instance, policy, search=6, depth=2)
        assert found[str(path), name].energy == pytest.approx(greedy.energy)
        assert found[searching, name].energy == pytest.approx(searched.energy)
    assert call([*begin[:4], "--solvers", "icm:search=6"]) == 2
    assert "icm has no option 'search'" in capsys.readouterr().err


def test_results_are_those_of_the_solver(prepared):
    instances = load_prepared(prepared, Energy(alpha=0.1))
    results = evaluate(instances, ["net", "oracle", "unary", "icm"], pixels=False).results
    assert len(results) == 24
    by_key = {result.key: result for result in results}
    for instance in instances:
        name = instance.source["name"]
        solution = pc.solve(instance, "icm")
        found = by_key["icm", name]
        assert found.energy == pytest.approx(solution.energy)
        assert sum(found.terms.values()) == pytest.approx(solution.energy)
        shape = (instance.crf.n_labels,) * 2
        pixels = dense_matrix(found.pixels, shape)
        assert pixels.sum() == instance.truth.sum()
        expected = instance.truth[np.arange(instance.crf.n_nodes), solution.labels].sum()
        assert np.trace(pixels) == expected
        oracle = dense_matrix(by_key["oracle", name].pixels, shape)
        assert mean_iou(oracle) >= mean_iou(pixels)
        assert np.trace(oracle) == instance.truth.max(axis=1).sum()


def test_pixels_are_those_of_the_segmenter(scenes):
    """The same image, scores, boxes, energy and solver: the same confusion, stage or not."""
    energy = Energy(alpha=1.0, sigma_colour=5.0)
    instances = load_prepared(scenes / "prepared", energy)
    store, labels = instances.prepared, instances.prepared.labels
    boxes = CocoDetections(scenes / "detections.json", scenes / "categories.names", labels)
    rows = ["net", "oracle", "unary", "icm"]
    found = {
        pixels: {r.key: r for r in evaluate(instances, rows, pixels=pixels).results}
        for pixels in (True, False)
    }
    changed = 0
    for name in instances.names:
        mask = read_mask(scenes / "masks" / f"{name}.png")
        given = {
            "scores": np.load(scenes / "scores" / f"{name}.npy"), "detections": boxes(name),
            "truth": np.where(mask == 255, -1, mask).astype(np.int32), "name": name,
        }  # fmt: skip
        for pixels in (True, False):
            segmenter = Segmenter(
                recipe=store.recipe, energy=energy, reduction=store.reduction(), pixels=pixels
            )
            for solver in ("unary", "icm"):
                made = segmenter(scenes / "images" / f"{name}.png", solver, **given)
                result = found[pixels][solver, name]
                confusion = dense_matrix(result.pixels, (len(labels),) * 2)
                np.testing.assert_array_equal(confusion, made.confusion())
                assert result.energy == pytest.approx(made.solution.energy)
                assert math.isfinite(result.pixel_cpu_seconds) == (pixels and solver == "icm")
        fine, coarse = (found[pixels]["icm", name] for pixels in (True, False))
        changed += fine.pixels != coarse.pixels
        assert fine.superpixels == coarse.superpixels
        for row in rows[:3]:
            assert found[True][row, name].pixels == found[False][row, name].pixels
    assert changed > 0


def test_an_image_is_rebuilt_once_for_all_rows(prepared, monkeypatch):
    rebuilt, plain = [], Prepared.rebuilt

    def counted(store, position, record):
        rebuilt.append(position)
        return plain(store, position, record)

    monkeypatch.setattr(Prepared, "rebuilt", counted)
    evaluate(load_prepared(prepared)[:2], ["unary", "icm", "alpha_expansion"])
    assert rebuilt == [0, 1]


def test_instances_of_any_source(tmp_path):
    scenes = load_instances("synthetic:A:20+30", count=3)
    results = evaluate(scenes, ["net", "oracle", "icm"], out=tmp_path).results
    assert [result.key for result in results[:3]] == [
        ("net", "00000"), ("oracle", "00000"), ("icm", "00000"),
    ]  # fmt: skip
    assert [result.nodes for result in results[::3]] == [20, 30, 20]
    assert all("no net" in result.failed for result in results[::3])
    assert results[5].energy == pytest.approx(pc.solve(scenes[1], "icm").energy)
    oracle = dense_matrix(results[4].pixels, (21, 21))
    assert np.trace(oracle) == scenes[1].truth.max(axis=1).sum()
    again = evaluate(scenes, ["icm"], out=tmp_path).results
    assert [r.seconds for r in again] == [r.seconds for r in results[2::3]]


def test_an_interrupted_evaluation_goes_on(prepared, tmp_path):
    instances = load_prepared(prepared)
    full = evaluate(instances, ["unary", "icm"], out=tmp_path).results
    log = tmp_path / "results.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[:5]) + lines[5][: len(lines[5]) // 2])
    advanced = []
    again = evaluate(instances, ["unary", "icm"], out=tmp_path, advance=advanced.append).results
    assert len(advanced) == 12
    assert [r.key for r in again] == [r.key for r in full]
    assert [r.energy for r in again] == [r.energy for r in full]
    kept = [first.seconds == second.seconds for first, second in zip(again, full, strict=True)]
    assert sum(kept) >= 5
    assert len(read_results(log)) == 12


def test_a_solver_that_cannot_take_a_potential_says_so(prepared):
    def timid(run):
        run.refuse_all_but()

    from policrf.solvers.spec import SOLVERS

    SOLVERS.register("timid", timid)
    results = evaluate(load_prepared(prepared), ["timid"]).results
    assert all("timid cannot take Potts" in result.failed for result in results)
    assert all(math.isnan(result.energy) for result in results)


def test_command_writes_tables(prepared, tmp_path, capsys):
    out = tmp_path / "results"
    arguments = [
        "evaluate", str(prepared), "--solvers", "unary", "icm", "--potentials", "u+p+hop1",
        "--compare", "icm", "unary", "--out", str(out), "--jobs", "1",
    ]  # fmt: skip
    assert call(arguments) == 0
    printed = capsys.readouterr().out
    assert "icm − unary" in printed
    assert {path.name for path in out.iterdir()} == {
        "config.json", "results.jsonl", "results.csv", "summary.md", "summary.csv", "summary.json",
    }  # fmt: skip
    summary = json.loads((out / "summary.json").read_text())
    assert [row["solver"] for row in summary["rows"]] == ["net", "oracle", "unary", "icm"]
    assert len((out / "results.csv").read_text().splitlines()) == 1 + 4 * 6
    assert call([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][3]["energy"] > 0
    assert call([*arguments, "--potentials", "u+p"]) == 2
    assert "its potentials differs" in capsys.readouterr().err
    assert json.loads((out / "config.json").read_text())["pixels"] is True
    assert call([*arguments, "--no-pixels"]) == 2
    assert "its pixels differs" in capsys.readouterr().err


def test_a_full_disk_keeps_what_is_finished(prepared, tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("needs a device that is always full")
    log = tmp_path / "results.jsonl"
    instances = load_prepared(prepared)
    evaluate(instances[:2], ["unary"], out=tmp_path)
    with runner._Log(Path("/dev/full")) as append, pytest.raises(InvalidFile, match="No space"):
        append(read_results(log)[0])
    assert len(read_results(log)) == 2


def test_wrong_commands(prepared, tmp_path, capsys):
    for arguments, message in (
        ([str(prepared), "--solvers", "magic"], "no solver"),
        ([str(tmp_path)], "nor prepared images"),
        ([str(prepared), "--compare", "icm"], "pairs"),
        ([str(prepared), "--energy", str(tmp_path / "none.yaml")], "none.yaml"),
    ):
        assert call(["evaluate", *arguments]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.slow
def test_several_processes_give_the_same_results(prepared, monkeypatch):
    monkeypatch.setattr(runner, "PATIENCE", 0.0)
    instances = load_prepared(prepared)
    alone = evaluate(instances, ["unary", "icm"], jobs=1).results
    together = evaluate(instances, ["unary", "icm"], jobs=2).results
    assert [(r.key, r.energy, r.pixels) for r in alone] == [
        (r.key, r.energy, r.pixels) for r in together
    ]


def test_what_cannot_be_evaluated_is_named():
    with pytest.raises(InvalidInstance, match="no instances"):
        evaluate([], ["unary"])
    scene = pc.make_scene(20, "A")
    with pytest.raises(InvalidInstance, match="holds a CRF"):
        evaluate([scene.crf], ["unary"])
    with pytest.raises(InvalidOption, match="a list"):
        evaluate([scene], "unary")


def test_any_instances_can_be_evaluated(capsys):
    scenes = [pc.make_scene(30, "B", seed=seed) for seed in range(3)]
    grid = pc.evaluate(scenes, ["unary", "icm", "synthetic-50:refine=true"])
    for k, scene in enumerate(scenes):
        found = grid.by_solver["synthetic-50:refine=true"][k]
        assert found.energy == pc.solve(scene, "synthetic-50", refine=True).energy
    assert "| icm |" in str(grid)
    assert call(["evaluate", "synthetic:B:30", "--limit", "3", "--solvers", "icm", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    expected = [pc.solve(pc.make_scene(30, "B", seed=seed), "icm").energy for seed in range(3)]
    assert rows[0]["energy"] == pytest.approx(np.mean(expected))


def test_results_cut_inside_a_letter_go_on_from_the_whole_lines(tmp_path):
    path = tmp_path / "results.jsonl"
    results = [Result("icm", f"Straße {k}", 5, 1.5) for k in range(3)]
    rewrite(path, results)
    whole = path.read_bytes()
    cut = whole.rindex("ß".encode()) + 1
    path.write_bytes(whole[:cut])
    assert [result.name for result in read_results(path)] == ["Straße 0", "Straße 1"]


def test_a_damaged_result_is_named_by_its_line(tmp_path):
    path = tmp_path / "results.jsonl"
    rewrite(path, [Result("icm", f"scene {k}", 5, 1.5) for k in range(3)])
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[1].replace("1.5", "2.5") + lines[2])
    with pytest.raises(InvalidFile, match=r"results.jsonl, line 2: .*checksum.*delete this line"):
        read_results(path)
    path.write_text(lines[0] + lines[2])
    assert [result.name for result in read_results(path)] == ["scene 0", "scene 2"]
