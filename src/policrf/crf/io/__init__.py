"""Files: the native `.npz`, and UAI MARKOV models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from policrf.errors import InvalidFile

if TYPE_CHECKING:
    from policrf.crf.instance import Instance
    from policrf.crf.io.native import Functions
    from policrf.crf.model import CRF


def read(path: str | Path, *, functions: Functions | None = None) -> CRF | Instance:
    """A CRF or an instance from a model file, by its ending.

    Parameters
    ----------
    path
        UAI (`.uai`), or policrf's own format (`.npz`).
    functions
        The functions of its `Custom` groups by name: files hold their names only.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".uai":
        from policrf.crf.io.uai import read_uai

        return read_uai(path)
    if suffix == ".npz":
        from policrf.crf.io.native import load_any

        return load_any(path, functions=functions)
    raise InvalidFile(f"{path}: a model file ends in .uai or .npz, not {suffix or 'nothing'!r}")
