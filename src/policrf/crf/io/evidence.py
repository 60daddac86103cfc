"""Evidence beside a UAI model: labels of nodes that were observed.

Two forms are in use: `K node label … ` (since 2014), and `1 K node label …`, which counts samples
first. A file has an odd number of words in the first form and an even one in the second.
"""

from __future__ import annotations

from pathlib import Path

from policrf.crf.io.compressed import PACKED
from policrf.crf.io.tokens import Tokens
from policrf.errors import InvalidFile
from policrf.types import IntArray

BESIDE = "beside"


def evidence_of(model: str | Path, evidence: str | Path | None) -> Path | None:
    """The file of evidence for a model: what was given, or what lies beside it, if anything.

    `MODEL.uai.evid` or `MODEL.evid`, packed or not, whether or not the model is.
    """
    if evidence is None or str(evidence).lower() == "none":
        return None
    if str(evidence) != BESIDE:
        return Path(evidence)
    path = Path(model)
    whole = path.with_suffix("") if path.suffix.lower() in PACKED else path
    names = [path.name + ".evid", whole.name + ".evid", whole.stem + ".evid"]
    for name in dict.fromkeys(names):
        for ending in ("", *PACKED):
            found = path.parent / (name + ending)
            if found.is_file():
                return found
    return None


def read_evidence(path: str | Path, cardinalities: IntArray) -> dict[int, int]:
    """Observed label by node."""
    tokens = Tokens(path, "evidence")
    if len(tokens.words) % 2 == 0 and tokens.words:
        samples = tokens.count("the number of samples")
        if samples != 1:
            raise InvalidFile(f"{path}: line 1: {samples} samples of evidence; give one a file")
    count = tokens.count("the number of observed nodes") if tokens.words else 0
    observed: dict[int, int] = {}
    for k in range(count):
        node, label = tokens.integers(2, f"observation {k}").tolist()
        if not 0 <= node < len(cardinalities):
            raise tokens.error(
                f"observation {k} names node {node}, but there are nodes "
                f"0 … {len(cardinalities) - 1}"
            )
        if not 0 <= label < cardinalities[node]:
            raise tokens.error(
                f"observation {k} gives node {node} label {label}, but it has labels "
                f"0 … {cardinalities[node] - 1}"
            )
        if observed.setdefault(node, label) != label:
            raise tokens.error(f"observation {k} gives node {node} a second label")
    tokens.finish("the last observation", "the number of observed nodes is wrong")
    return observed
