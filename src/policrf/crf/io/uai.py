"""UAI MARKOV (and BAYES) files: factors of any order over variables of any cardinalities.

Energies are −log of the factors, so a zero factor is a forbidden labeling (+inf): the energy of
every labeling is −Σ log factor, exactly.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from policrf.argument_types import typed
from policrf.crf.io.evidence import BESIDE, evidence_of, read_evidence
from policrf.crf.io.factors import Factor, Room, build_crf
from policrf.crf.io.tokens import Tokens
from policrf.crf.io.uai_write import write_uai
from policrf.crf.model import CRF
from policrf.errors import InvalidFile
from policrf.types import FloatArray, IntArray

__all__ = ["read_uai", "write_uai"]


@typed(InvalidFile)
def read_uai(
    path: str | Path, *, detect_potts: bool = True, evidence: str | Path | None = BESIDE
) -> CRF:
    """Read a UAI model as a CRF; its energy is −Σ log factor.

    Parameters
    ----------
    path
        A file that starts with MARKOV or BAYES; `.gz`, `.xz` and `.bz2` are unpacked.
    detect_potts
        Whether a pairwise factor with one value on its diagonal and one off it becomes an edge of
        `Potts`, which more solvers take and all solve faster; the energies are the same.
    evidence
        A file of observed labels (`.evid`). "beside": PATH.evid or the model's name with `.evid`,
        where there is one; None: without. Labels keep their numbers: of an observed node all but
        one are forbidden, and the factors it is in are cut to that one.
    """
    tokens = Tokens(path, "a UAI model")
    kind = tokens.word("the network type")
    if kind.upper() not in ("MARKOV", "BAYES"):
        raise tokens.error(f"starts with {kind!r}; a UAI model starts with MARKOV (or BAYES)")
    cards = read_cardinalities(tokens, tokens.count("the number of variables", 1))
    scopes = _read_scopes(tokens, len(cards))
    room = Room(path, cards, len(tokens.text))
    for scope in scopes:
        room.add(scope)
    factors = [
        Factor(tuple(scope.tolist()), _read_table(tokens, f, scope, cards))
        for f, scope in enumerate(scopes)
    ]
    tokens.finish("the last factor", "the number of factors or a scope is wrong")
    observed = None
    file = evidence_of(path, evidence)
    if file is not None:
        observed = read_evidence(file, cards)
    return build_crf(path, cards, factors, detect_potts=detect_potts, observed=observed)


def read_cardinalities(tokens: Tokens, n_nodes: int) -> IntArray:
    """The number of labels of every node, each at least 1."""
    cards = tokens.integers(n_nodes, "the cardinalities")
    if (cards < 1).any():
        node = int(np.argmax(cards < 1))
        raise tokens.error(
            f"variable {node} has {cards[node]} labels; it needs at least 1",
            tokens.at - n_nodes + node,
        )
    return cards


def read_scope(tokens: Tokens, size: int, what: str, n_nodes: int) -> IntArray:
    """`size` different nodes."""
    scope = tokens.integers(size, what)
    if size and not 0 <= scope.min() <= scope.max() < n_nodes:
        wrong = scope[(scope < 0) | (scope >= n_nodes)][0]
        raise tokens.error(
            f"{what} names variable {wrong}, but there are variables 0 … {n_nodes - 1}"
        )
    if len(np.unique(scope)) != size:
        raise tokens.error(f"{what} repeats a variable: {scope.tolist()}")
    return scope


def _read_scopes(tokens: Tokens, n_nodes: int) -> list[IntArray]:
    scopes = []
    for f in range(tokens.count("the number of factors")):
        size = tokens.count(f"the size of scope {f}")
        scopes.append(read_scope(tokens, size, f"scope {f}", n_nodes))
    return scopes


def _read_table(tokens: Tokens, f: int, scope: IntArray, cards: IntArray) -> FloatArray:
    shape = tuple(cards[scope].tolist())
    wanted = int(np.prod(shape)) if shape else 1
    count = tokens.count(f"the size of factor {f}")
    if count != wanted:
        raise tokens.error(
            f"factor {f} over {scope.tolist()} has {count} entries, "
            f"but its variables have {'×'.join(map(str, shape)) or 'none'} = {wanted}"
        )
    factor = tokens.numbers(count, f"factor {f}")
    right = np.isfinite(factor) & (factor >= 0)
    if not right.all():
        k = int(np.argmin(right))
        raise _bad_value(tokens, f, factor[k], tokens.at - count + k)
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(factor).reshape(shape) + 0.0)


def _bad_value(tokens: Tokens, f: int, value: float, at: int) -> InvalidFile:
    return tokens.error(f"factor {f} holds {value}; factors are finite and not negative", at)
