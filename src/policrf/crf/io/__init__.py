"""Files: the native `.npz`; UAI models with evidence; toulbar2's `.wcsp` and `.cfn`; OpenGM."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from policrf.argument_types import typed
from policrf.errors import InvalidFile

if TYPE_CHECKING:
    from policrf.crf.instance import Instance
    from policrf.crf.io.native import Functions
    from policrf.crf.model import CRF

FORMATS = (".uai", ".wcsp", ".cfn", ".npz")
READ_ONLY = (".h5",)


@typed(InvalidFile)
def read(
    path: str | Path, *, functions: Functions | None = None, evidence: str | Path | None = "beside"
) -> CRF | Instance:
    """A CRF or an instance from a model file, by its ending.

    Parameters
    ----------
    path
        UAI (`.uai`), toulbar2's `.wcsp` or `.cfn`, or policrf's own format (`.npz`); any of them
        packed (`.gz`, `.xz`, `.bz2`). OpenGM's HDF5 (`.h5`) where h5py is installed.
    functions
        The functions of its `Custom` groups by name: `.npz` files hold their names only.
    evidence
        Observed labels for a UAI model: a file, "beside" for the one that lies beside it if there
        is one, or None.
    """
    ending = _checked_ending(path, FORMATS + READ_ONLY)
    if ending != ".uai" and evidence is not None and str(evidence) not in ("beside", "none"):
        raise InvalidFile(f"{evidence}: evidence goes with a UAI model, not with {ending}")
    match ending:
        case ".uai":
            from policrf.crf.io.uai import read_uai

            return read_uai(path, evidence=evidence)
        case ".wcsp":
            from policrf.crf.io.toulbar2.wcsp import read_wcsp

            return read_wcsp(path)
        case ".cfn":
            from policrf.crf.io.toulbar2.cfn import read_cfn

            return read_cfn(path)
        case ".h5":
            from policrf.crf.io.opengm import read_opengm

            return read_opengm(path)
        case _:
            from policrf.crf.io.native import load_any

            return load_any(path, functions=functions)


@typed(InvalidFile)
def write(crf: CRF, path: str | Path) -> None:
    """Write a model in the format that the path's ending says.

    Parameters
    ----------
    crf
        The model.
    path
        `.uai`, `.wcsp` and `.cfn` hold tables only, `.npz` every potential as it is; the first
        three are packed where `.gz`, `.xz` or `.bz2` follows.
    """
    match _checked_ending(path):
        case ".uai":
            from policrf.crf.io.uai_write import write_uai

            write_uai(crf, path)
        case ".wcsp":
            from policrf.crf.io.toulbar2.wcsp_write import write_wcsp

            write_wcsp(crf, path)
        case ".cfn":
            from policrf.crf.io.toulbar2.cfn_write import write_cfn

            write_cfn(crf, path)
        case _:
            from policrf.crf.io.native import save_crf

            save_crf(crf, path)


def _checked_ending(path: str | Path, known: tuple[str, ...] = FORMATS) -> str:
    from policrf.crf.io.compressed import plain_ending

    ending = plain_ending(path)
    if ending not in known:
        raise InvalidFile(
            f"{path}: a model file ends in .uai, .wcsp, .cfn or .npz (packed: and .gz, .xz or "
            f".bz2), not {ending or 'nothing'!r}"
        )
    return ending
