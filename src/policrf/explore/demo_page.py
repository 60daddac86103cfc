"""The demo's page: its table, and one scene as each solver labels it. One file, no links."""

from __future__ import annotations

from html import escape
from pathlib import Path

from policrf.bench.demo import POLICY, REFINED, Demo
from policrf.crf.io.files import atomic_write
from policrf.evaluation.tables import format_value
from policrf.plots.mosaic import Mosaic
from policrf.plots.png import data_url

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1080px; margin: 2rem auto; padding: 0 1rem;
       color: #212121; background: #fafafa; }
table { border-collapse: collapse; margin: 1rem 0; background: #fff; }
th, td { padding: .35rem .8rem; border-bottom: 1px solid #e0e0e0; text-align: right; }
th:first-child, td:first-child { text-align: left; font-family: ui-monospace, monospace; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(240px, 1fr)); gap: 1rem; }
figure { margin: 0; background: #fff; padding: .6rem; border: 1px solid #e0e0e0;
         border-radius: 6px; }
figure img { width: 48.5%; image-rendering: pixelated; border-radius: 3px; }
figcaption { font-size: 13px; } figcaption b { font-family: ui-monospace, monospace; }
p.note { color: #616161; max-width: 70ch; }
"""


def write_demo_page(demo: Demo, picture: Demo, path: Path) -> None:
    """Write the page: the table of `demo`, and the one (larger) scene of `picture` in pictures."""
    table = demo.table()
    scene = picture.scenes[0]
    mosaic = Mosaic(scene)
    truth = scene.true_labels
    known = truth >= 0
    figures = [_figure("truth", "what the scene really is", data_url(mosaic.draw(truth)), "")]
    for name, (scored,) in picture.results.items():
        gap = 100 * (scored.energy / picture.reference(0) - 1)
        right = 100 * float((scored.labels == truth)[known].mean())
        caption = f"energy {scored.energy:.1f} (+{gap:.2f} %), {right:.0f} % right"
        errors = data_url(mosaic.mark(scored.labels, truth))
        figures.append(_figure(name, caption, data_url(mosaic.draw(scored.labels)), errors))
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(format_value(v))}</td>" for v in row) + "</tr>"
        for row in table.rows
    )
    page = f"""<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>policrf demo</title><style>{_STYLE}</style>
<h1>policrf demo</h1>
<p class="note">{escape(table.title)}. A low energy is what a solver is asked for; IoU is how far
the energy itself can be trusted.{escape(_verdict(demo))}</p>
<table><tr>{head}</tr>{body}</table><p class="note">{escape(table.note)}</p>
<h2>One larger scene, {scene.crf.n_nodes} nodes</h2>
<p class="note">Left the labeling, right where it is wrong (red).</p>
<div class="grid">{"".join(figures)}</div></html>"""
    with atomic_write(path) as file:
        file.write(page.encode())


def _verdict(demo: Demo) -> str:
    if POLICY not in demo.results:
        return ""
    policy, cut = demo.iou(POLICY), demo.iou("alpha_expansion")
    better = "above" if policy > cut else "below"
    return (
        " The policy was trained on other scenes of this size, from their energies alone. Its own "
        f"labels reach {policy:.1f} % IoU, {better} alpha_expansion's {cut:.1f} %, at a higher "
        f"energy; refined by local search, its energy is {demo.gap(REFINED):.2f} % above the best."
    )


def _figure(name: str, caption: str, left: str, right: str) -> str:
    images = f'<img src="{left}" alt="{escape(name)}">'
    if right:
        images += f' <img src="{right}" alt="errors of {escape(name)}">'
    text = f"<b>{escape(name)}</b><br>{escape(caption)}"
    return f"<figure>{images}<figcaption>{text}</figcaption></figure>"
