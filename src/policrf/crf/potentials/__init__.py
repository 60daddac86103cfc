"""One file a group: `Potts`, `BoxAgreement` (HOP1), `BoxSupport` (HOP2), `Tables`, `Custom`."""

from policrf.crf.potentials.base import (
    AGREE,
    COMPLETE,
    CUSTOM,
    MARKED,
    PARTIAL_FORMS,
    SUBSET,
    SUPPORT,
    TABLE,
    CliquePotential,
    Potential,
)
from policrf.crf.potentials.box_agreement import BoxAgreement
from policrf.crf.potentials.box_support import BoxSupport
from policrf.crf.potentials.custom import Custom
from policrf.crf.potentials.potts import Potts
from policrf.crf.potentials.tables import Tables

# Every built-in class. Files, names of energies and the terms of an energy go by this list.
POTENTIALS: tuple[type[Potential], ...] = (Potts, BoxAgreement, BoxSupport, Tables, Custom)

__all__ = [
    "AGREE",
    "COMPLETE",
    "CUSTOM",
    "MARKED",
    "PARTIAL_FORMS",
    "POTENTIALS",
    "SUBSET",
    "SUPPORT",
    "TABLE",
    "BoxAgreement",
    "BoxSupport",
    "CliquePotential",
    "Custom",
    "Potential",
    "Potts",
    "Tables",
]
