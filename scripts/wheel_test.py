"""Install the built wheel into an empty environment and run the README's first example there.

Also holds what a plain install promises: no torch, no cv2, no skimage, help in under a second.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        run(sys.executable, "-m", "build", "--wheel", "--outdir", work, ROOT)
        (wheel,) = work.glob("*.whl")
        if not wheel.name.endswith("-py3-none-any.whl"):
            raise SystemExit(f"{wheel.name} is not a pure-Python wheel")
        venv.create(work / "env", with_pip=True)
        python = work / "env/bin/python"
        run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check",
            "-c", ROOT / "constraints.txt", wheel)  # fmt: skip
        example = first_example((ROOT / "README.md").read_text())
        print(f"README example:\n{example}")
        run(python, "-c", example, cwd=work)
        heavy = "{'torch', 'cv2', 'skimage', 'numba'}"
        loads = f"import sys, policrf; policrf.CRF; bad = {heavy} & set(sys.modules)"
        run(python, "-c", f"{loads}; sys.exit(f'import policrf loads {{bad}}' if bad else 0)")
        missing = (
            "import importlib.util as u, sys; sys.exit('torch' if u.find_spec('torch') else 0)"
        )
        run(python, "-c", missing)
        best = min(timed(work / "env/bin/policrf", "--help") for _ in range(3))
        print(f"policrf --help: {best:.2f} s")
        if best > 1.0:
            raise SystemExit("policrf --help takes more than a second")
    print("wheel: 1 passed, 0 failed")


def first_example(readme: str) -> str:
    match = re.search(r"```python\n(.*?)```", readme, re.DOTALL)
    if match is None:
        raise SystemExit("README.md has no Python example")
    return match[1]


def run(*command: object, cwd: Path | None = None) -> None:
    subprocess.run([str(part) for part in command], check=True, cwd=cwd)


def timed(*command: object) -> float:
    start = time.perf_counter()
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
