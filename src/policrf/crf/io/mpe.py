"""Labelings in the form of the UAI competitions: `MPE`, then the number of nodes and the labels."""

from __future__ import annotations

from pathlib import Path

from numpy.typing import ArrayLike

from policrf.argument_types import typed
from policrf.crf.io.files import atomic_write
from policrf.crf.io.tokens import Tokens
from policrf.crf.model import CRF
from policrf.errors import InvalidFile
from policrf.types import IntArray


@typed(InvalidFile)
def write_mpe(crf: CRF, labels: ArrayLike, path: str | Path) -> None:
    """Write a labeling of the model.

    Parameters
    ----------
    crf
        The model; labels that it does not have are refused.
    labels
        One label a node `[N]`.
    path
        The file, usually MODEL.uai.MPE.
    """
    checked = crf.checked_labels(labels)
    with atomic_write(path) as file:
        file.write(f"MPE\n{len(checked)} {' '.join(map(str, checked.tolist()))}\n".encode())


@typed(InvalidFile)
def read_mpe(crf: CRF, path: str | Path) -> IntArray:
    """Read a labeling of the model, the last one of a file with several.

    Parameters
    ----------
    crf
        The model; labels that it does not have are refused.
    path
        The file, in the form of any of the competitions.
    """
    tokens = Tokens(path, "an MPE solution")
    if tokens.word("the task") != "MPE":
        raise tokens.error(f"starts with {tokens.words[0]!r}; a solution starts with MPE")
    tokens.at = max(1, len(tokens.words) - crf.n_nodes - 1)
    count = tokens.count("the number of nodes")
    if count != crf.n_nodes:
        raise tokens.error(f"labels of {count} nodes, but the model has {crf.n_nodes}")
    return crf.checked_labels(tokens.integers(count, "the labels"))
