"""The demo's page: its table, and one scene as each solver labels it. One file, no links."""

from __future__ import annotations

from html import escape
from pathlib import Path

from policrf.crf.io.files import atomic_write
from policrf.evaluate.demo import Demo
from policrf.evaluate.report import format_value
from policrf.plots.mosaic import Mosaic
from policrf.plots.png import data_url

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1080px; margin: 2rem auto; padding: 0 1rem;
       color: #212121; background: #fafafa; }
table { border-collapse: collapse; margin: 1rem 0; background: #fff; }
th, td { padding: .35rem .8rem; border-bottom: 1px solid #e0e0e0; text-align: right; }
th:first-child, td:first-child { text-align: left; font-family: ui-monospace, monospace; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(240px, 1fr)); gap: 1rem; }
figure { margin: 0; background: #fff; padding: .6rem; border: 1px solid #e0e0e0; border-radius: 6px; }
figure img { width: 48.5%; image-rendering: pixelated; border-radius: 3px; }
figcaption { font-size: 13px; } figcaption b { font-family: ui-monospace, monospace; }
p.note { color: #616161; max-width: 70ch; }
"""


def write_demo_page(demo: Demo, path: Path) -> None:
    """Write the page; the scene shown is the one where alpha_expansion differs most from unary."""
    table = demo.table()
    shown = _most_telling(demo)
    scene = demo.scenes[shown]
    mosaic = Mosaic(scene)
    truth = scene.true_labels
    figures = [_figure("truth", "what the scene really is", data_url(mosaic.draw(truth)), "")]
    for name, row in demo.results.items():
        scored = row[shown]
        gap = 100 * (scored.energy / demo.reference(shown) - 1)
        caption = f"energy {scored.energy:.1f} (+{gap:.2f} %), {100 * scored.accuracy:.0f} % right"
        right = data_url(mosaic.mark(scored.labels, truth))
        figures.append(_figure(name, caption, data_url(mosaic.draw(scored.labels)), right))
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(format_value(v))}</td>" for v in row) + "</tr>"
        for row in table.rows
    )
    page = f"""<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>policrf demo</title><style>{_STYLE}</style>
<h1>policrf demo</h1>
<p class="note">{escape(table.title)}. Lower energy is what a solver is asked for; accuracy is how far
the energy itself can be trusted: with false detections the two part ways.</p>
<table><tr>{head}</tr>{body}</table><p class="note">{escape(table.note)}</p>
<h2>One scene</h2><p class="note">Left the labeling, right where it is wrong (red).</p>
<div class="grid">{"".join(figures)}</div></html>"""
    with atomic_write(path) as file:
        file.write(page.encode())


def _most_telling(demo: Demo) -> int:
    first, last = demo.results["unary"], demo.results["alpha_expansion"]
    differs = [int((a.labels != b.labels).sum()) for a, b in zip(first, last, strict=True)]
    return max(range(len(differs)), key=differs.__getitem__)


def _figure(name: str, caption: str, left: str, right: str) -> str:
    images = f'<img src="{left}" alt="{escape(name)}">'
    if right:
        images += f' <img src="{right}" alt="errors of {escape(name)}">'
    return f"<figure>{images}<figcaption><b>{escape(name)}</b><br>{escape(caption)}</figcaption></figure>"
