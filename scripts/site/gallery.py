"""The gallery: every script of examples/ with what it prints and the pictures it draws."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

# Runs a script and saves the figures that it leaves open.
RUNNER = """
import runpy, sys
runpy.run_path(sys.argv[1], run_name="__main__")
plots = sys.modules.get("matplotlib.pyplot")
for number in plots.get_fignums() if plots else ():
    plots.figure(number).savefig(f"{sys.argv[2]}-{number}.png", dpi=110, bbox_inches="tight")
"""


def write_gallery(scripts: list[Path], target: Path) -> None:
    """A page a script, and a page that lists them."""
    target.mkdir(parents=True)
    for script in scripts:
        write_page(script, target)
    names = "\n".join(script.stem for script in scripts)
    contents = f"```{{toctree}}\n:maxdepth: 1\n\n{names}\n```\n"
    text = f"# Gallery\n\nScripts of `examples/`, run when this site was made.\n\n{contents}"
    (target / "index.md").write_text(text, encoding="utf-8")


def write_page(script: Path, target: Path) -> None:
    """Title and text from the docstring, then pictures, output, and the script itself."""
    source = script.read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(source)) or script.stem
    title, _, text = docstring.partition("\n")
    said = run(script, target / script.stem)
    pictures = sorted(target.glob(f"{script.stem}-*.png"))
    shown = "".join(f"![{picture.stem}]({picture.name})\n\n" for picture in pictures)
    body = source.split('"""', 2)[2].lstrip()
    (target / f"{script.stem}.md").write_text(
        f"# {title.rstrip('.')}\n\n{text.strip()}\n\n{shown}```text\n{said}```\n\n"
        f"```python\n{body}```\n",
        encoding="utf-8",
    )


def run(script: Path, pictures: Path) -> str:
    """What the script prints; one that fails ends the build."""
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, str(script), str(pictures)],
        capture_output=True, text=True, cwd=pictures.parent, env=os.environ | {"MPLBACKEND": "Agg"},
    )  # fmt: skip
    if done.returncode != 0:
        raise SystemExit(f"{script} failed:\n{done.stderr}")
    return done.stdout
