"""`policrf doctor`: versions, extras, the kernels' cache, and what is missing for what."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from policrf._version import __version__

MODULES = {  # where a distribution's module has another name
    "opencv-python-headless": "cv2", "pillow": "PIL", "ai-edge-litert": "ai_edge_litert",
    "pyyaml": "yaml", "gco-wrapper": "gco", "PyMaxflow": "maxflow", "pydensecrf2": "pydensecrf",
}  # fmt: skip
EXTRAS = ("vision", "learn", "toulbar2", "opengm", "ray", "peers")


@dataclass(frozen=True)
class Config:
    """Say what is installed, what is not, and where compiled kernels are kept."""

    json: bool = False
    """Print one JSON object instead of text."""


def run(config: Config) -> None:
    """Look, and say it."""
    found = look()
    if config.json:
        print(json.dumps(found))
        return
    print(f"policrf {found['policrf']}, Python {found['python']}, {found['threads']} threads")
    for extra, packages in found["extras"].items():
        missing = [name for name, had in packages.items() if had is None]
        state = f"missing {', '.join(missing)}: pip install 'policrf[{extra}]'" if missing else "ok"
        if extra == "plain":
            state = f"missing {', '.join(missing)}: install policrf again" if missing else "ok"
        print(f"{extra:9s} {state}")
        print("          " + ", ".join(f"{name} {had}" for name, had in packages.items() if had))
    cache = found["kernels"]
    print(f"kernels   {cache['files']} compiled in {cache['folder']} ({cache['megabytes']:.0f} MB)")
    if not cache["files"]:
        print("          policrf warmup compiles them ahead")


def look() -> dict[str, Any]:
    """Everything that the command says, as plain values."""
    import os
    import platform

    return {
        "policrf": __version__,
        "python": platform.python_version(),
        "threads": os.cpu_count(),
        "extras": {"plain": _packages(None), **{extra: _packages(extra) for extra in EXTRAS}},
        "kernels": _kernels(),
    }


def _packages(extra: str | None) -> dict[str, str | None]:
    """The distributions that an extra asks for with their versions; None where one is missing."""
    found: dict[str, str | None] = {}
    for text in requires("policrf") or ():
        name, asked = re.match(r"[\w.-]+", text), re.search(r"extra == '([\w-]+)'", text)
        if name is None or name[0] == "policrf" or (asked[1] if asked else None) != extra:
            continue
        try:
            found[name[0]] = version(name[0])
        except PackageNotFoundError:
            found[name[0]] = "?" if _is_importable(name[0]) else None
    return found


def _is_importable(name: str) -> bool:
    return find_spec(MODULES.get(name, name.replace("-", "_"))) is not None


def _kernels() -> dict[str, Any]:
    root = Path(__file__).parents[1]
    files = list(root.rglob("*.nbc"))
    size = sum(file.stat().st_size for file in files)
    return {"folder": str(root), "files": len(files), "megabytes": size / 1e6}
