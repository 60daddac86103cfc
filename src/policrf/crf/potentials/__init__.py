"""One file a group: the paper's `Potts`, `BoxAgreement`, `BoxSupport`, and what the field uses."""

from policrf.crf.potentials.base import (
    AGREE,
    COMPLETE,
    CONNECTED,
    COUNTED,
    CUSTOM,
    DOMINANT,
    LOWEST,
    MARKED,
    ORDERED,
    PARTIAL_FORMS,
    SUBSET,
    SUPPORT,
    TABLE,
    TOGETHER,
    CliquePotential,
    Potential,
)
from policrf.crf.potentials.box_agreement import BoxAgreement
from policrf.crf.potentials.box_support import BoxSupport
from policrf.crf.potentials.co_occurrence import CoOccurrence
from policrf.crf.potentials.connectivity import Connectivity
from policrf.crf.potentials.count_function import CountFunction
from policrf.crf.potentials.custom import Custom, Summary
from policrf.crf.potentials.label_cost import LabelCost
from policrf.crf.potentials.label_order import LabelOrder
from policrf.crf.potentials.pairwise import Pairwise
from policrf.crf.potentials.potts import Potts
from policrf.crf.potentials.robust_potts import RobustPotts
from policrf.crf.potentials.tables import Tables

# Every built-in class. Files, names of energies and the terms of an energy go by this list.
POTENTIALS: tuple[type[Potential], ...] = (
    Potts,
    BoxAgreement,
    BoxSupport,
    Tables,
    Custom,
    Pairwise,
    LabelCost,
    CountFunction,
    CoOccurrence,
    RobustPotts,
    Connectivity,
    LabelOrder,
)
# The terms of an energy, in the order of `CRF.terms`.
TERM_NAMES: tuple[str, ...] = ("unary", *dict.fromkeys(group.term for group in POTENTIALS))

__all__ = [
    "AGREE",
    "COMPLETE",
    "CONNECTED",
    "COUNTED",
    "CUSTOM",
    "DOMINANT",
    "LOWEST",
    "MARKED",
    "ORDERED",
    "PARTIAL_FORMS",
    "POTENTIALS",
    "SUBSET",
    "SUPPORT",
    "TABLE",
    "TERM_NAMES",
    "TOGETHER",
    "BoxAgreement",
    "BoxSupport",
    "CliquePotential",
    "CoOccurrence",
    "Connectivity",
    "CountFunction",
    "Custom",
    "LabelCost",
    "LabelOrder",
    "Pairwise",
    "Potential",
    "Potts",
    "RobustPotts",
    "Summary",
    "Tables",
]
