"""Reproduce: what `policrf reproduce` is asked for."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from policrf.bench.reproduce.presets import PRESETS, Preset, find_preset
from policrf.errors import InvalidOption

TABLES = ("table1", "table2", "table3", "table4")
TARGETS = (*TABLES, "figures", "robustness", "all")


@dataclass(frozen=True)
class Nets:
    """What the unaries, the hypercolumns and the boxes come from."""

    net: Path | None = None
    """Segmentation net (.tflite or .onnx) with VOC's 21 classes."""
    hypercolumns: str = ""
    """Inner tensors for the hypercolumns, joined by commas."""
    feature_net: Path | None = None
    """Another net that --hypercolumns names the tensors of (the paper's VGG16)."""
    detector: Path | None = None
    """Detector: Darknet .cfg or .onnx."""


@dataclass(frozen=True)
class Reproduce:
    """The paper's tables and figures."""

    data: Path | None = None
    """Folder with voc/VOC2012 and mots/KITTI_MOTS; the preset quick brings its own scenes."""
    work: Path = Path("reproduce-work")
    """Folder for finished cells, prepared data and policies; the same command goes on from it."""
    out: Path = Path("reproduce")
    """Folder for the tables and figures."""
    preset: str = "ours"
    """paper (the literal method), ours (what this package does by default), or quick."""
    plan: bool = False
    """Only list the cells, with an estimate of the time that each takes."""
    jobs: int = os.cpu_count() or 1
    """Processes."""
    longest: float | None = None
    """Leave out cells that are estimated to take longer than this many seconds."""
    only: tuple[str, ...] = ()
    """Run only cells whose name has one of these texts ("MCTS R2"), and what they need."""
    data_sets: tuple[str, ...] = ()
    """Only these data sets: voc, mots."""
    sizes: tuple[int, ...] = ()
    """Only cells at these numbers of superpixels."""
    seeds: int | None = None
    """Runs of each learner, instead of the preset's."""
    epochs: float | None = None
    """Passes over the training images, instead of the preset's; part of a policy's cell."""
    nets: Nets = field(default_factory=Nets)

    def __post_init__(self) -> None:
        find_preset(self.preset)
        if self.jobs < 1:
            raise InvalidOption(f"jobs is {self.jobs}; it must be at least 1")
        for name in ("longest", "seeds", "epochs"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InvalidOption(f"{name} is {value}; it must be above 0")
        known = {found.name for preset in PRESETS.values() for found in preset.data_sets}
        for name in self.data_sets:
            if name not in known:
                raise InvalidOption(f"there is no data set {name!r}; there are voc and mots")

    def chosen(self) -> Preset:
        """The preset, with what was changed."""
        named = {"seeds": self.seeds, "epochs": self.epochs}
        changes = {name: value for name, value in named.items() if value is not None}
        preset = find_preset(self.preset, **changes)
        if not self.data_sets:
            return preset
        kept = tuple(found for found in preset.data_sets if found.name in self.data_sets)
        if not kept:
            raise InvalidOption(
                f"the preset {preset.name} has no data set {', '.join(self.data_sets)}; it has "
                + ", ".join(found.name for found in preset.data_sets)
            )
        return find_preset(self.preset, **changes, data_sets=kept)

    def wants(self, size: int) -> bool:
        """Whether cells at this number of superpixels are asked for."""
        return not self.sizes or size in self.sizes
