import base64
import json
import re

import numpy as np
import pytest

import policrf as pc
from policrf.cli import main
from policrf.crf.shares import node_shares
from policrf.evaluation.results import Result, to_line
from policrf.explore.answers import ask, ask_all
from policrf.explore.drawing import draw_image, draw_instance, lay_out
from policrf.explore.page import page_text
from policrf.explore.payload import packed, payload, runs_of
from policrf.explore.results_page import instance_iou, results_data


def numbers(text, kind):
    return np.frombuffer(base64.b64decode(text), np.dtype(kind))


def data_of(page):
    return json.loads(re.search(r'type="application/json">(.*?)</script>', page, re.DOTALL)[1])


@pytest.fixture(scope="module")
def scene():
    return pc.make_scene(40, "B", seed=1)


def test_shares_sum_to_the_terms(scene):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, scene.crf.n_labels, scene.crf.n_nodes)
    terms = scene.crf.terms(labels)
    shares = node_shares(scene.crf, labels)
    assert {name for name, value in terms.items() if value} == set(shares)
    for name, part in shares.items():
        assert part.sum() == pytest.approx(terms[name])


def test_runs_hold_the_whole_map():
    nodes = np.random.default_rng(0).integers(0, 5, (13, 17)).astype(np.int32)
    runs = runs_of(nodes)
    assert np.repeat(runs[:, 0], runs[:, 1]).tolist() == nodes.reshape(-1).tolist()


def test_a_page_holds_what_was_solved(scene):
    answers, refused = ask_all(scene, ["icm", "untrained", "alpha_expansion"], seconds=5)
    assert not refused
    data = data_of(page_text("explorer", "t", payload("t", scene, draw_instance(scene), answers)))
    for told, answer in zip(data["answers"], answers, strict=True):
        labels = numbers(told["labels"], "<i2")
        assert told["energy"] == scene.crf.energy(labels) == answer.energy
    assert numbers(data["unary"], "<f4").reshape(40, -1) == pytest.approx(scene.crf.unary)
    untrained = data["answers"][1]
    assert sorted(numbers(untrained["order"], "<u4").tolist()) == list(range(40))
    # Before the first step the likeliest choice is the first node of the order.
    first = numbers(untrained["maps"]["0"], "u1")
    assert first[numbers(untrained["order"], "<u4")[0]] == 255


def test_names_stay_text(scene):
    name = '</script><script>alert("x")</script>&{{data}}{{script}}'
    named = pc.Instance(
        crf=scene.crf, features=scene.features, edges=scene.edges, edge_weights=scene.edge_weights,
        label_names=(name, *(f"l{k}" for k in range(1, 21))), positions=scene.positions,
    )  # fmt: skip
    answers = [ask(named, "icm", seconds=5)]
    page = page_text("explorer", name, payload(name, named, draw_instance(named), answers))
    assert page.count("<script") == 2  # the data and the program
    assert data_of(page)["labels"][0] == name
    assert "alert(" not in page.split("<main")[0].replace("alert(&quot;", "")


def test_forbidden_labels_and_infinite_energies_are_told():
    crf = pc.CRF([[0.0, np.inf], [1.0, 0.0]], pc.Tables([[0, 1]], [[[np.inf, np.inf], [0.0, 0.0]]]))
    instance = pc.Instance.from_crf(crf)
    told = payload("t", instance, draw_instance(instance), [ask(instance, "unary", seconds=1)])
    assert told["answers"][0]["energy"] is None
    json.dumps(told, allow_nan=False)


def test_graphs_are_laid_out_in_the_unit_square():
    ring = np.array([[k, (k + 1) % 30] for k in range(30)])
    at = lay_out(35, ring)  # five nodes stand alone
    assert at.shape == (35, 2)
    assert at.min() >= 0
    assert at.max() <= 1
    assert np.array_equal(at, lay_out(35, ring))
    assert len(np.unique(at.round(6), axis=0)) == 35
    near = np.linalg.norm(at[ring[:, 0]] - at[ring[:, 1]], axis=1).mean()
    far = np.linalg.norm(at[ring[:, 0]] - at[(ring[:, 0] + 15) % 30], axis=1).mean()
    assert near < far / 2
    assert lay_out(1, np.zeros((0, 2), np.int64)).tolist() == [[0.5, 0.5]]


def test_large_photos_are_made_small():
    drawing = draw_image(np.zeros((1500, 2000), np.int32), np.zeros((1500, 2000, 3), np.uint8))
    assert drawing.nodes.shape == drawing.photo.shape[:2] == (375, 500)


def test_command_on_a_scene_a_model_and_wrong_input(tmp_path, capsys, scene):
    model = tmp_path / "model.npz"
    scene.save(model)
    out = tmp_path / "page.html"
    for source in ("synthetic:A:30", str(model)):
        with pytest.raises(SystemExit) as ended:
            main(["explore", source, "--solvers", "icm", "untrained", "--out", str(out)])
        assert ended.value.code == 0
        assert len(data_of(out.read_text())["answers"]) == 2
    for wrong, part in (
        (["nothing.uai"], "nothing.uai"),
        ([str(tmp_path)], "index.json is missing"),
        ([str(model), "--image", "x"], "--image"),
        ([str(model), "--solvers", "nobody"], "nobody"),
        (["--compare", str(tmp_path)], "results.jsonl"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["explore", *wrong, "--out", str(tmp_path / "no.html")])
        assert ended.value.code == 2
        assert part in capsys.readouterr().err
        assert not (tmp_path / "no.html").exists()


def test_results_page(tmp_path, capsys):
    rows = [
        Result("a", "x", 5, energy=1.0, cpu_seconds=0.1, pixels=[[0, 0, 8], [1, 0, 2]]),
        Result("b", "x", 5, energy=2.0, cpu_seconds=0.2, pixels=[[0, 0, 8], [1, 1, 2]]),
        Result("b", "y", 7, failed="cannot take it"),
    ]
    (tmp_path / "results.jsonl").write_text("".join(to_line(row) + "\n" for row in rows))
    data = results_data(rows)
    assert [instance["name"] for instance in data["instances"]] == ["x", "y"]
    assert instance_iou(rows[0]) == pytest.approx((0.8 + 0) / 2)
    assert instance_iou(rows[1]) == 1
    out = tmp_path / "results.html"
    with pytest.raises(SystemExit) as ended:
        main(["explore", "--compare", str(tmp_path), "--out", str(out)])
    assert ended.value.code == 0
    assert "2 instances" in capsys.readouterr().out
    assert data_of(out.read_text())["rows"][2][2] is None


def test_packed_is_little_endian():
    assert base64.b64decode(packed([1, 2], "<u4")) == b"\x01\0\0\0\x02\0\0\0"
