"""Cells are known by what their results depend on, and finished only when they are whole."""

from dataclasses import replace
from pathlib import Path

import pytest

from policrf.bench.reproduce.catalogue import Catalogue
from policrf.bench.reproduce.cells import Cell, everything_below, in_order
from policrf.bench.reproduce.claims import about_equal, at_or_above
from policrf.bench.reproduce.comparisons import Compared
from policrf.bench.reproduce.estimates import Estimates
from policrf.bench.reproduce.jobs.work import Shop
from policrf.bench.reproduce.options import Reproduce
from policrf.bench.reproduce.other_cells import wanted
from policrf.bench.reproduce.presets import FULL, VOC
from policrf.bench.reproduce.published import table_2, table_3, table_4
from policrf.bench.reproduce.run import Watch, plan, run
from policrf.bench.reproduce.store import RESULT, Store
from policrf.bench.reproduce.tables.lookup import Lookup
from policrf.errors import InvalidFile, InvalidOption, UnknownName


def paper(**changes) -> Catalogue:
    return Catalogue(Reproduce(preset="paper", **changes))


def test_a_key_follows_everything_that_a_result_depends_on():
    one = paper().learned(VOC, 50, FULL, "DQN R2")
    assert paper().learned(VOC, 50, FULL, "DQN R2").key == one.key
    others = [
        paper().learned(VOC, 250, FULL, "DQN R2"),
        paper().learned(VOC, 50, "u+p", "DQN R2"),
        paper().learned(VOC, 50, FULL, "DQN R1"),
        paper().learned(VOC, 50, FULL, "DQN R2", seed=1),
        paper(epochs=3).learned(VOC, 50, FULL, "DQN R2"),
        Catalogue(Reproduce(preset="ours")).learned(VOC, 50, FULL, "DQN R2"),
        paper().learned(VOC, 50, FULL, "DQN R2", damage={"dropped": 0.5}),
    ]
    keys = {cell.key for cell in others}
    assert len(keys) == len(others)
    assert one.key not in keys
    renamed = replace(one, name="another name")
    assert renamed.key == one.key


def test_a_net_that_changes_gives_other_data_and_so_other_cells(tmp_path):
    from policrf.bench.reproduce.options import Nets

    keys = []
    for content in (b"one", b"another"):
        (tmp_path / "net.onnx").write_bytes(content)
        catalogue = paper(nets=Nets(net=tmp_path / "net.onnx"))
        keys.append(catalogue.solver(VOC, 50, FULL, "BP").key)
    assert keys[0] != keys[1]


def test_needs_come_first_and_once():
    cells = wanted(paper(), "all")
    order = in_order(cells)
    at = {cell.key: k for k, cell in enumerate(order)}
    assert len(at) == len(order)
    for cell in order:
        assert all(at[need.key] < at[cell.key] for need in cell.needs.values())
    figure = next(cell for cell in cells if cell.name.startswith("embeddings"))
    assert {cell.kind for cell in everything_below(figure)} == {"prepare", "calibrate", "train"}


def test_the_paper_preset_is_the_literal_method():
    options = paper().policy(VOC, 50, FULL, "MCTS R1").about["options"]
    assert options["target"] == "visits"
    assert options["root"] == "puct"
    assert (options["candidates"], options["simulations"], options["repeats"]) == (0, 50, 10)
    assert options["encourage"]
    assert not options["scaled"]
    row = paper().learned(VOC, 50, FULL, "MCTS R1").about["row"]
    assert "search=20" in row
    assert "borrow=0" in row
    options = paper().policy(VOC, 50, FULL, "DQN R1").about["options"]
    assert (options["target"], options["backup"], options["scaled"]) == ("reward", "taken", False)
    rows = paper().preset.solvers
    assert rows["DD"] == "dual_decomposition:polish=false"
    assert rows["L-Flip"] == "lazy_flipper:large_sets=false"


def test_every_learner_takes_its_options():
    from policrf.bench.reproduce.presets import PRESETS
    from policrf.learn.by_method import chosen_options
    from policrf.search.options import SearchOptions

    for preset in PRESETS.values():
        for learner in preset.learners.values():
            called, _ = chosen_options(learner.method, dict(learner.options))
            assert called == learner.method
            search = {k: v for k, v in learner.deciding.items() if k != "search"}
            SearchOptions(**search)


def test_the_papers_figures_stand_where_the_paper_has_them():
    assert table_2("voc", 250, "u+p+hop1+hop2", "MCTS R2") == (89.57, 81.33)
    assert table_2("mots", 2000, "u", "BP") == (82.64, 79.23)
    assert table_2("voc", 500, "u+p", "α-Exp") == (87.55, 82.47)
    assert table_2("voc", 50, "u+p", "supervised") == (85.21, 69.05)
    assert table_2("voc", 50, "u+p+hop1+hop2", "BP") is None
    assert table_3("mots", 10_000, "MCTS R2") == (76.69, 84.63)
    assert table_4(1000, "u+p+hop1+hop2", "MCTS") == 22.8
    assert table_4(60, "u+p", "BP") is None


def test_a_cell_is_finished_when_its_result_is_whole(tmp_path):
    store, cell = Store(tmp_path), Cell("score", "one", {"row": "icm"})
    store.start(cell)
    assert not store.finished(cell)
    assert store.result(cell) is None
    store.teller(cell)(0.25, "a quarter")
    assert store.told(cell) == (0.25, "a quarter")
    store.keep(cell, {"iou": 0.5}, 3.0)
    assert Store(tmp_path).result(cell) == {"iou": 0.5}
    assert store.told(cell) == (0.0, "")
    path = store.folder(cell) / RESULT
    path.write_text(path.read_text().replace("0.5", "0.6"))
    with pytest.raises(InvalidFile, match="run again"):
        Store(tmp_path).result(cell)


def test_cells_without_data_or_too_long_are_left_out_with_what_needs_them(tmp_path):
    catalogue = paper(data_sets=("voc",), sizes=(50,))
    shop = Shop(Store(tmp_path), catalogue.data)
    planned = plan(wanted(catalogue, "table2"), shop)
    assert all(entry.left_out for entry in planned)
    assert planned[0].left_out == f"--data has no {Path('voc') / 'VOC2012'}"
    assert all(entry.seconds > 0 for entry in planned)
    run(planned, shop, Watch(begin=lambda cell: pytest.fail(f"{cell.name} was begun")))


def test_only_named_cells_are_run_and_what_they_need(tmp_path):
    catalogue = Catalogue(Reproduce(preset="quick"))
    shop, cells = Shop(Store(tmp_path), catalogue.data), wanted(catalogue, "table2")
    asked = [entry.cell for entry in plan(cells, shop, only=("MCTS R2",)) if not entry.left_out]
    assert {"prepare", "calibrate", "train", "score"} == {cell.kind for cell in asked}
    assert all("MCTS R2" in cell.name for cell in asked if cell.kind in ("train", "score"))
    with pytest.raises(InvalidOption, match="no cell's name has 'MCTS R3'; --plan"):
        plan(cells, shop, only=("MCTS R3",))


def test_some_of_several_seeds_are_a_mean_in_percent(tmp_path):
    store, catalogue = Store(tmp_path), paper()
    lookup = Lookup(catalogue, store)
    cells = catalogue.seeds(VOC, 50, FULL, "DQN R2")
    assert len(cells) == 3
    assert str(lookup.measure(cells, "pixels_all", "iou")).startswith("not run (about")
    for cell, iou, told in zip(cells, (0.5, 0.6), ("50.00 (1)", "55.00 ± 5.00 (2)"), strict=False):
        store.start(cell)
        store.keep(cell, {"pixels_all": {"iou": iou}, "energy": 7.0}, 1.0)
        assert lookup.measure(cells, "pixels_all", "iou") == told
    assert lookup.measure(cells[:1], "energy") == 7.0


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.1, 0.9, (True, True, True)),
        (-0.4, 0.9, (None, True, True)),
        (-0.9, 0.4, (None, None, True)),
        (-14.0, 2.0, (None, None, None)),
        (-3.0, -2.0, (False, False, False)),
        (2.0, 3.0, (True, True, False)),
    ],
)
def test_a_verdict_is_given_where_the_interval_allows_one(low, high, words):
    pair = Compared(50 + (low + high) / 2, 50.0, low, high)
    assert (pair.ahead, at_or_above(pair), about_equal(pair)) == words


def test_estimates_follow_what_cells_of_a_kind_took(tmp_path):
    store = Store(tmp_path)
    cells = [paper().solver(VOC, size, FULL, "ICM") for size in (50, 250)]
    before = Estimates(store).seconds(cells[1])
    expected = Estimates(store).work(cells[0])
    store.start(cells[0])
    store.keep(cells[0], {}, 7 * expected, expected=expected, family="score icm")
    assert Estimates(store).seconds(cells[1]) == pytest.approx(7 * before)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"preset": "theirs"}, UnknownName),
        ({"jobs": 0}, InvalidOption),
        ({"epochs": -1}, InvalidOption),
        ({"data_sets": ("coco",)}, InvalidOption),
    ],
)
def test_what_cannot_be_asked_for_is_refused(options, error):
    with pytest.raises(error):
        Reproduce(**options)


def test_table_one_sums_to_the_energy():
    from policrf.bench.reproduce.tables.table_one import table_one, three_nodes

    table = table_one()
    rewards = [row[6] for row in table.rows]
    labels = [row[3] for row in table.rows]
    assert sum(rewards) == pytest.approx(-three_nodes().energy(labels))
    assert [row[7] for row in table.rows] == [1, 1, 1]
