"""Files: the native `.npz`, and UAI MARKOV models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from policrf.errors import InvalidFile

if TYPE_CHECKING:
    from policrf.crf.instance import Instance
    from policrf.crf.model import CRF


def read_problem(path: str | Path) -> CRF | Instance:
    """A CRF or Instance from a `.npz` or `.uai` file, by its ending."""
    suffix = Path(path).suffix.lower()
    if suffix == ".uai":
        from policrf.crf.io.uai import read_uai

        return read_uai(path)
    if suffix == ".npz":
        from policrf.crf.io.native import load_any

        return load_any(path)
    raise InvalidFile(f"{path}: a model file ends in .uai or .npz, not {suffix or 'nothing'!r}")
