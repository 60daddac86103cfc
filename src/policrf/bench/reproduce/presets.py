"""Presets: what the tables are made of, in the paper's form, in ours, and in two minutes.

paper     the literal method, no addition (docs/paper.md lists every departure and its switch)
ours      what this package does by default
quick     every kind of cell and figure on rendered scenes that come with the package
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from policrf.bench.reproduce import learners
from policrf.bench.reproduce.learners import Learner
from policrf.errors import UnknownName

TERMS = ("u", "u+p", "u+p+hop1", "u+p+hop1+hop2")
FULL = TERMS[-1]


@dataclass(frozen=True)
class DataSet:
    """A data set, and at which numbers of superpixels it is used."""

    name: str
    train: str
    """Split to calibrate and learn on."""
    test: str
    """Split that every figure is of."""
    sizes: tuple[int, ...]
    """Numbers of superpixels of Table 2."""
    learned_at: int
    """Table 3: the policies' own number of superpixels."""
    used_at: tuple[int, ...]
    """Table 3: and the ones they are used at."""
    width: int = 32
    """p, the size of a node's embedding."""
    features: str = ""
    """Beside the preset's, joined by +."""


VOC = DataSet("voc", "train", "val", (50, 250, 500), 250, (500, 1000, 2000, 10_000))
MOTS = DataSet("mots", "train", "val", (2000,), 2000, (5000, 10_000), width=16, features="+ridden")
SCENES = DataSet("scenes", "train", "test", (20,), 20, (30,), width=8)

# The paper's baselines as they were published, and the rows that it lacks.
PUBLISHED = {
    "BP": "belief_propagation:fraction=1,warm_up=0,damping=0",
    "TBP": "tree_reweighted:schedule=parallel",
    "DD": "dual_decomposition:polish=false",
    "L-Flip": "lazy_flipper:large_sets=false",
    "α-Exp": "alpha_expansion:hop2=ignore,orders=1",
}
SHIPPED = {
    "BP": "belief_propagation",
    "TBP": "tree_reweighted",
    "DD": "dual_decomposition",
    "L-Flip": "lazy_flipper",
    "α-Exp": "alpha_expansion:hop2=ignore",
}
SHIPPED_POLICY = "{shipped}"  # stands for the policy that ships for a data set and size
BESIDE = {
    "unary": "unary",
    "hcf": "highest_confidence_first",
    "ICM": "icm",
    "untrained": "untrained",
    "α-Exp + repair": "alpha_expansion",
    "refine": "refine",
    "exact": "exact",
}


@dataclass(frozen=True)
class Preset:
    """Everything that the cells of one preset share."""

    name: str
    form: str
    """Of superpixels and energies: paper or ours."""
    data_sets: tuple[DataSet, ...]
    solvers: Mapping[str, str]
    """The paper's baselines: column -> solver with options."""
    beside: Mapping[str, str]
    """Rows that the paper lacks."""
    learners: Mapping[str, Learner]
    seeds: int = 3
    """Runs of a learner; one at the sizes that are not `repeated`."""
    repeated: tuple[int, ...] = (50, 250)
    epochs: float = 10.0
    features: str = "paper"
    calibration_images: int = 100
    images: int | None = None
    """Test images; all if none is said."""
    solver_seconds: float = 10.0
    """Limit of one solver on one image."""
    timed_sizes: tuple[int, ...] = (50, 250, 500, 1000, 2000, 10_000)
    timed_images: int = 5
    timed_seconds: float = 60.0
    """Limit of one run of a timing."""
    drawn_scenes: int = 200
    """That the policy of Table 4's scenes learns from."""
    repeats: int = 3
    """Runs of a timing, of which the best counts."""
    damages: tuple[float, ...] = (0.1, 0.2, 0.3, 0.5)
    """Shares of boxes that are mislabeled, dropped or added."""
    factors: tuple[float, ...] = (0.25, 0.5, 2.0, 4.0)
    """By which the weights of the energy are mis-set."""
    actions: int = 50_000
    """Of the reward distributions (C1)."""
    scenes: tuple[int, int] = (0, 0)
    """Rendered scenes: of training, of testing."""
    small: bool = field(default=False)
    """Whether grids of weights are cut to one value each."""

    def data_set(self, name: str) -> DataSet:
        """The data set of that name."""
        return next(found for found in self.data_sets if found.name == name)

    def features_of(self, found: DataSet) -> str:
        """The node features of a data set."""
        return self.features + found.features

    def seeds_at(self, size: int) -> range:
        """The seeds of a learner at this number of superpixels."""
        return range(self.seeds if size in self.repeated else 1)


PAPER = Preset(
    name="paper", form="paper", data_sets=(VOC, MOTS), solvers=PUBLISHED, beside=BESIDE,
    learners=learners.PAPER,
)  # fmt: skip
OURS = Preset(
    name="ours", form="ours", data_sets=(VOC, MOTS), solvers=SHIPPED,
    beside=BESIDE | {"shipped": SHIPPED_POLICY},
    learners=learners.OURS, features="paper+appearance", calibration_images=200,
)  # fmt: skip
QUICK = Preset(
    name="quick", form="paper", data_sets=(SCENES,), solvers=PUBLISHED, beside=BESIDE,
    learners={name: learners.shortened(learner) for name, learner in learners.PAPER.items()},
    seeds=2, repeated=(20,), epochs=0.5, calibration_images=6, solver_seconds=5.0,
    timed_sizes=(20, 30, 40), timed_images=1, drawn_scenes=20, repeats=1, damages=(0.5,),
    factors=(0.25, 4.0), actions=300, scenes=(10, 4), small=True,
)  # fmt: skip
PRESETS = {preset.name: preset for preset in (PAPER, OURS, QUICK)}


def find_preset(name: str, **changes: Any) -> Preset:
    """The preset of that name, with some fields changed."""
    if name not in PRESETS:
        raise UnknownName(f"there is no preset {name!r}; there are {', '.join(PRESETS)}")
    return replace(PRESETS[name], **changes)
