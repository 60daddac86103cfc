"""A summary as Markdown, CSV and JSON; tables are generated, never typed."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from policrf.crf.io.files import atomic_write
from policrf.crf.io.json_text import to_json
from policrf.evaluation.summary import Comparison

MISSING = "–"


def summary_markdown(rows: Sequence[dict[str, Any]], comparisons: Sequence[Comparison] = ()) -> str:
    """One line a solver: IoU in points with intervals, energy, gap in %, seconds."""
    header = (
        "solver", "IoU (p)", "95 %", "IoU (p) frequent", "IoU (sp)", "accuracy", "energy", "gap %",
        "proven", "seconds", "CPU", "CPU pixels",
    )  # fmt: skip
    lines = [_line(header), _line(["---"] * len(header))]
    lines += [_line(_cells(row)) for row in rows]
    failed = [row for row in rows if row["failed"]]
    lines += [f"\n{row['solver']}: {row['failed']}." for row in failed]
    if comparisons:
        lines += ["", _line(("pair", "difference in IoU (p)", "95 %", "ahead in"))]
        lines.append(_line(["---"] * 4))
        for pair in comparisons:
            lines.append(
                _line((
                    f"{pair.first} − {pair.second}",
                    f"{100 * pair.difference:+.2f}",
                    f"{100 * pair.low:+.2f} … {100 * pair.high:+.2f}",
                    f"{100 * pair.wins:.0f} %",
                ))
            )  # fmt: skip
    return "\n".join(lines) + "\n"


def _cells(row: dict[str, Any]) -> list[str]:
    def points(name: str) -> str:
        return f"{100 * row[name]['iou']:.2f}" if name in row else MISSING

    interval = MISSING
    if "pixels_all" in row:
        interval = f"{100 * row['pixels_all']['low']:.1f}–{100 * row['pixels_all']['high']:.1f}"
    accuracy = f"{100 * row['pixels_accuracy']:.2f}" if "pixels_accuracy" in row else MISSING
    return [
        row["solver"],
        points("pixels_all"),
        interval,
        points("pixels_frequent"),
        points("superpixels_all"),
        accuracy,
        f"{row['energy']:.3f}" if "energy" in row else MISSING,
        f"{100 * row['gap']:.3f}" if "gap" in row else MISSING,
        f"{100 * row['optimal']:.0f} %" if "optimal" in row else MISSING,
        f"{row['seconds']:.4f}" if "seconds" in row else MISSING,
        f"{row['cpu_seconds']:.4f}" if "cpu_seconds" in row else MISSING,
        f"{row['pixel_cpu_seconds']:.4f}" if "pixel_cpu_seconds" in row else MISSING,
    ]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def class_markdown(rows: Sequence[dict[str, Any]], labels: Sequence[str]) -> str:
    """Pixel IoU of every class, one line a solver."""
    lines = [_line(["solver", *labels]), _line(["---"] * (len(labels) + 1))]
    for row in rows:
        if "pixels_classes" in row:
            values = [row["pixels_classes"][name] for name in labels]
            shown = [MISSING if value is None else f"{100 * value:.1f}" for value in values]
            lines.append(_line([row["solver"], *shown]))
    return "\n".join(lines) + "\n"


def summary_csv(rows: Sequence[dict[str, Any]]) -> str:
    """The same figures, flat, one line a solver."""
    flat = [_flat(row) for row in rows]
    columns = list(dict.fromkeys(name for row in flat for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def _flat(row: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            out |= _flat(value, f"{prefix}{name}.")
        else:
            out[prefix + name] = value
    return out


def write_summary(
    folder: Path,
    rows: Sequence[dict[str, Any]],
    labels: Sequence[str],
    comparisons: Sequence[Comparison] = (),
) -> None:
    """summary.md, summary.csv and summary.json."""
    contents = {
        "summary.md": summary_markdown(rows, comparisons) + "\n" + class_markdown(rows, labels),
        "summary.csv": summary_csv(rows),
        "summary.json": to_json({"rows": rows, "comparisons": comparisons}, indent=1) + "\n",
    }
    for name, text in contents.items():
        with atomic_write(folder / name) as file:
            file.write(text.encode())
