"""Pages of one file: a template, its style and its script, and the data as JSON. No requests."""

from __future__ import annotations

import json
import re
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from policrf.crf.io.files import atomic_write

SCRIPTS = {
    "explorer": ("common", "stage", "chart", "explorer"),
    "results": ("common", "results"),
    "story": ("common", "story"),
}


def write_page(path: str | Path, template: str, title: str, data: dict[str, Any]) -> None:
    """Write one of the templates in `assets/` ("explorer", "results", "story") with its data."""
    with atomic_write(Path(path)) as file:
        file.write(page_text(template, title, data).encode())


def page_text(template: str, title: str, data: dict[str, Any]) -> str:
    """The page; names reach the script as JSON and the document as text only."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    # Inside a script element only these could end it or begin another.
    safe = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    parts = {
        "title": escape(title),
        "style": _asset("page.css"),
        "script": "".join(_asset(f"{name}.js") for name in SCRIPTS[template]),
        "data": safe,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _asset(f"{template}.html"))


def _asset(name: str) -> str:
    return files("policrf.explore").joinpath("assets", name).read_text(encoding="utf-8")
