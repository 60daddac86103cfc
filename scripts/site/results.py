"""benchmarks/results as pages of the site."""

from __future__ import annotations

import re
import shutil
from pathlib import Path


def write_results(source: Path, target: Path) -> None:
    """One page a table file, with its pictures, and a list of all."""
    pages = sorted(source.rglob("*.md"))
    for page in pages:
        place = target / page.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(as_page(page), encoding="utf-8")
    copy_pictures(source, target / "_pictures")
    names = "\n".join(page.relative_to(source).with_suffix("").as_posix() for page in pages)
    text = f"""# Results

Every table was written by a command of the package or a script in `benchmarks/`; the JSON file
beside it in the repository holds the configuration and the versions.

```{{toctree}}
:maxdepth: 1

{names}
```
"""
    (target / "index.md").write_text(text, encoding="utf-8")


def as_page(page: Path) -> str:
    """The tables under a title, headings one level below it, the folder's pictures after them."""
    text = re.sub(r"^#{1,6} ", "## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)\n?", "", text)
    # A figure in brackets before a parenthesis is an interval, not a link.
    text = re.sub(r"\[([-+\d., ]+)\]", r"\\[\1\\]", text)
    title = page.stem.replace("-", " ").replace("_", " ")
    pictures = sorted(page.parent.glob(f"{page.stem}*.png"))
    shown = "".join(
        f"\n![{picture.stem}](/results/_pictures/{picture.name})\n" for picture in pictures
    )
    return f"# {title[:1].upper()}{title[1:]}\n\n{text}{shown}"


def copy_pictures(source: Path, target: Path) -> None:
    """All pictures into one folder, by name."""
    target.mkdir(parents=True, exist_ok=True)
    for picture in source.rglob("*.png"):
        shutil.copy(picture, target / picture.name)
