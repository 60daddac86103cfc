"""The pages in a real browser: Debian's chromium, driven by playwright, opened from disk."""

import shutil

import numpy as np
import pytest

import policrf as pc
from policrf.bench.story.denoising import show_denoising
from policrf.bench.story.photo import show_photo
from policrf.bench.story.potential import POTENTIALS, Play, PotentialStory, make
from policrf.evaluation.results import Result
from policrf.evaluation.tables import Table
from policrf.explore.answers import Answer, ask_all
from policrf.explore.drawing import draw_image, draw_instance
from policrf.explore.page import write_page
from policrf.explore.payload import payload
from policrf.explore.results_page import results_data
from policrf.explore.story_page import write_story_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync",
    "--disable-component-update", "--no-first-run",
]  # fmt: skip
EVIL = "<script>document.title='taken'</script>"


@pytest.fixture(scope="module")
def scene():
    made = pc.make_scene(40, "B", seed=1)
    return pc.Instance(
        crf=made.crf, features=made.features, edges=made.edges, edge_weights=made.edge_weights,
        truth=made.truth, label_names=(EVIL, *(f"label {k}" for k in range(1, 21))),
        positions=made.positions,
    )  # fmt: skip


@pytest.fixture(scope="module")
def page_file(scene, tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "explorer.html"
    answers, _ = ask_all(scene, ["icm", "untrained"], seconds=5)
    segments = np.repeat(np.arange(40, dtype=np.int32).reshape(5, 8), 12, axis=0).repeat(12, axis=1)
    drawing = draw_image(segments, np.full((60, 96, 3), 200, np.uint8))
    net = Answer("net", np.asarray(scene.crf.unary.argmin(axis=1)), 0.0, iou=0.5)
    write_page(path, "explorer", EVIL, payload(EVIL, scene, drawing, answers, net=net))
    return path


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def page(browser):
    """A page that fails the test if it says anything on the console or asks for anything."""
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    said = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on(
        "request",
        lambda request: (
            said.append(request.url) if not request.url.startswith(("file:", "data:")) else None
        ),
    )
    yield opened
    opened.close()
    assert said == []


def shown(page):
    return page.evaluate("explorer.labels()")


def test_play_ends_with_the_answer(page, page_file):
    page.goto(page_file.as_uri())
    assert page.title() == EVIL
    assert page.inner_text("h1") == EVIL
    answers = page.evaluate("explorer.answers")
    page.keyboard.press("Home")
    assert set(shown(page)) == {-1}
    page.click("#next")
    assert sum(label >= 0 for label in shown(page)) == 1
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert sum(label >= 0 for label in shown(page)) == 1
    page.focus("#stage")
    page.keyboard.press(" ")
    page.wait_for_function("explorer.state.step === 40", timeout=30000)
    assert shown(page) == answers[1]


def test_drag_switch_and_compare(page, page_file):
    page.goto(page_file.as_uri())
    page.evaluate("document.getElementById('time').value = 7")
    page.dispatch_event("#time", "input")
    assert sum(label >= 0 for label in shown(page)) == 7
    page.click("#answers tbody tr:nth-child(1)")
    answers = page.evaluate("explorer.answers")
    assert shown(page) == answers[0]
    assert "icm" in page.inner_text("#status")
    page.select_option("#other", "1")
    differ = sum(a != b for a, b in zip(*answers, strict=True))
    assert page.inner_text("#difference") == f"{differ} of 40 nodes differ"
    page.keyboard.press("w")
    assert "IoU 50.0 %" in page.inner_text("#status")
    assert page.is_visible("#wipe")


def test_pointing_at_a_node_tells_of_it(page, page_file, scene):
    page.goto(page_file.as_uri())
    box = page.locator("#stage").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 1.5 / 8, box["y"] + box["height"] * 2.5 / 5)
    text = page.inner_text("#about-node")
    assert text.startswith("Node 17:")
    best = int(np.argmin(scene.crf.unary[17]))
    assert scene.label_names[best] in text
    page.fill("#node", "3")
    assert page.inner_text("#about-node").startswith("Node 3:")


def test_narrow_screens_scroll_down_only(browser, page_file):
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(page_file.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()


def test_a_model_without_places_is_drawn_as_a_graph(page, tmp_path):
    crf = pc.CRF(
        np.random.default_rng(0).random((12, 3)), pc.Potts([[k, k + 1] for k in range(11)], 1)
    )
    instance = pc.Instance.from_crf(crf)
    answers, _ = ask_all(instance, ["icm", "exact"], seconds=5)
    path = tmp_path / "graph.html"
    write_page(path, "explorer", "graph", payload("g", instance, draw_instance(instance), answers))
    page.goto(path.as_uri())
    assert "proven" in page.inner_text("#answers")
    page.click("#answers tbody tr:nth-child(2)")
    assert "proven to be the lowest" in page.inner_text("#status")


def test_results_are_sorted_and_found(page, tmp_path):
    rows = [
        Result(
            "a", f"image {k}", 5, energy=float(k), cpu_seconds=0.1, pixels=[[0, 0, 9], [1, 0, k]]
        )
        for k in range(1, 5)
    ]
    rows += [
        Result("b", f"image {k}", 5, energy=2.5, cpu_seconds=0.2, pixels=[[0, 0, 9], [1, 1, k]])
        for k in range(1, 5)
    ]
    path = tmp_path / "results.html"
    write_page(path, "results", "results", results_data(rows))
    page.goto(path.as_uri())
    assert "better than b on 0 instances, worse on 4" in page.inner_text("#verdict")
    first = "#pairs tbody tr:nth-child(1) td:nth-child(1)"
    assert page.inner_text(first) == "image 1"
    page.click("#pairs th:nth-child(3) button")
    assert page.inner_text(first) == "image 4"
    page.click("#pairs th:nth-child(3) button")
    assert page.inner_text(first) == "image 1"
    page.fill("#find", "3")
    assert page.locator("#pairs tbody tr").count() == 1


@pytest.fixture(scope="module")
def story_file(tmp_path_factory):
    wants, function = next(iter(POTENTIALS.items()))
    found = pc.solve(make(function, 0), "untrained")
    plays = (
        Play("untrained", found.energy, found.seconds, found.order, found.labels),
        Play(EVIL, 1.0, 0.001, np.zeros(0, np.int64), found.labels),
    )
    table = Table("rows", ("row", "energy"), (("trained", 1.0), ("refine", 2.0)))
    policy = pc.load_policy("labels")
    story = PotentialStory(function, wants, table, (EVIL,), True, policy, plays)
    path = tmp_path_factory.mktemp("pages") / "story.html"
    write_story_page(path, show_denoising(0), story, show_photo(1, 0))
    return path


@pytest.mark.parametrize("width", [1280, 390])
def test_the_demo_plays_its_order_to_the_end(page, story_file, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(story_file.as_uri())
    assert page.locator("section.card").count() == 3
    assert page.title() != "taken"
    page.locator("#step").fill("0")
    page.locator("#play").click()
    assert page.locator("#play").inner_text() == "Pause"
    page.wait_for_function("document.getElementById('step').value === '144'", timeout=20_000)
    assert page.locator("#play").inner_text() == "Play"
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width
