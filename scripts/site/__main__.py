"""Build the documentation into docs/_build/html: `python scripts/site`; warnings are errors.

The pages of docs/ are staged with what is made for them here: the reference from the code, the
results from benchmarks/results, and the gallery from examples/, whose scripts are run.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from pathlib import Path

from gallery import write_gallery
from reference import write_api, write_commands
from results import write_results

ROOT = Path(__file__).resolve().parents[2]
STAGE = ROOT / "docs" / "_build" / "source"
HTML = ROOT / "docs" / "_build" / "html"


def main() -> int:
    """Stage, then run Sphinx."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-gallery", action="store_true", help="leave the examples out")
    options = parser.parse_args()
    shutil.rmtree(STAGE, ignore_errors=True)
    STAGE.mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "conf.py", STAGE)
    for page in sorted((ROOT / "docs").glob("*.md")):
        (STAGE / page.name).write_text(staged(page.read_text(encoding="utf-8")), encoding="utf-8")
    for picture in sorted((ROOT / "docs").glob("*.svg")):
        shutil.copy(picture, STAGE)
    write_results(ROOT / "benchmarks" / "results", STAGE / "results")
    write_commands(STAGE / "commands.md")
    write_api(STAGE / "api.md")
    scripts = [] if options.no_gallery else sorted((ROOT / "examples").glob("*.py"))
    write_gallery(scripts, STAGE / "gallery")

    from sphinx.cmd.build import main as sphinx

    shutil.rmtree(HTML, ignore_errors=True)
    return sphinx(["-W", "--keep-going", "-q", "-b", "html", str(STAGE), str(HTML)])


def staged(text: str) -> str:
    """A page with links to results inside the site; other files of the repository are only named.

    >>> staged("see [it](../benchmarks/results/labels.md) and [that](../examples/own.py)")
    'see [it](results/labels.md) and `examples/own.py`'
    """
    text = re.sub(r"\]\(\.\./benchmarks/results/([^)]+)\.md\)", r"](results/\1.md)", text)
    return re.sub(r"\[[^\]]*\]\(\.\./([^)]+)\)", r"`\1`", text)


if __name__ == "__main__":
    sys.exit(main())
