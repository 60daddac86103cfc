"""Energies by name: "u", "u+p", "u+p+hop1", "u+p+hop1+hop2", as the paper's tables have them."""

from __future__ import annotations

from dataclasses import replace

from policrf.crf.instance import Instance
from policrf.crf.model import CRF
from policrf.crf.potentials import POTENTIALS, Potential
from policrf.errors import InvalidOption

KINDS: dict[str, tuple[type[Potential], ...]] = {"u": ()}
for _class in POTENTIALS:
    KINDS[_class.short_name] = (*KINDS.get(_class.short_name, ()), _class)


def parse_potentials(names: str) -> tuple[type[Potential], ...]:
    """The groups that a "+"-separated list names; unaries are always there.

    >>> [kind.__name__ for kind in parse_potentials("u+p+hop1")]
    ['Potts', 'Pairwise', 'BoxAgreement']
    """
    parts = [part.strip().lower() for part in names.split("+")]
    for part in parts:
        if part not in KINDS:
            raise InvalidOption(
                f"potentials {names!r}: {part!r} is unknown; join some of {', '.join(KINDS)} with +"
            )
    return tuple(kind for part in parts for kind in KINDS[part])


def restrict_crf(crf: CRF, names: str) -> CRF:
    """The CRF with only the named groups of potentials."""
    kinds = parse_potentials(names)
    kept = [p for p in crf.potentials if isinstance(p, kinds)]
    return crf if len(kept) == len(crf.potentials) else crf.with_potentials(*kept)


def restrict(instance: Instance, names: str) -> Instance:
    """The instance with only the named groups; features, graph and truth do not change."""
    return replace(instance, crf=restrict_crf(instance.crf, names))
