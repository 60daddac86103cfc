"""load_prepared: prepared data under an energy, as a lazy sequence of instances."""

from __future__ import annotations

from pathlib import Path

from policrf.crf.instance import Instance
from policrf.crf.selection import parse_potentials
from policrf.datasets.kept_pixels import RebuiltImage
from policrf.datasets.lazy import LazyInstances
from policrf.datasets.store import Prepared
from policrf.vision.energy.build import to_instance
from policrf.vision.energy.weights import Energy
from policrf.vision.pixels.options import PixelStage
from policrf.vision.pixels.stage import stage_of
from policrf.vision.record import Record


class InstanceSequence(LazyInstances):
    """Instances that are read and weighted when they are asked for; nothing is kept in memory.

    Parameters
    ----------
    prepared
        The folder of records.
    energy
        The weights.
    potentials, features
        As in `load_prepared`.
    """

    def __init__(
        self, prepared: Prepared, energy: Energy, *, potentials: str, features: str
    ) -> None:
        parse_potentials(potentials)
        super().__init__(range(len(prepared)))
        self.prepared = prepared
        self.energy = energy
        self.potentials = potentials
        self.features = features

    def read(self, position: int) -> Instance:
        """The instance of a record."""
        return self.build(self.prepared.record(position))

    def record(self, position: int) -> Record:
        """The raw quantities behind one instance."""
        return self.prepared.record(self.positions[position])

    def build(self, record: Record) -> Instance:
        """Apply this sequence's weights to a record."""
        return to_instance(
            record,
            self.energy,
            potentials=self.potentials,
            features=self.features,
            label_names=self.prepared.labels,
            source={"prepared": self.prepared.folder.name},
        )

    def stage(self, solver: str) -> PixelStage | None:
        """The pixel stage that follows a solver, None where it has none or pixels are not kept."""
        if not self.prepared.recipe.keep_pixels:
            return None
        return stage_of(self.energy, self.potentials, solver)

    def rebuilt(self, position: int, record: Record) -> RebuiltImage:
        """The pixel maps of one image, whose record is at hand."""
        return self.prepared.rebuilt(self.positions[position], record)

    @property
    def names(self) -> list[str]:
        """The images' names."""
        return [self.prepared.names[k] for k in self.positions]


def load_prepared(
    folder: str | Path,
    energy: Energy | str | Path | None = None,
    *,
    potentials: str = "u+p+hop1+hop2",
    features: str = "paper",
) -> InstanceSequence:
    """The instances of a prepared folder, read lazily.

    Parameters
    ----------
    folder
        What `policrf prepare` wrote.
    energy
        The weights, or the path of an energy.yaml; the default weights without it.
    potentials
        Which terms the energy has, joined by +.
    features
        "paper", "appearance", "ridden", or several joined by +.
    """
    if not isinstance(energy, Energy):
        energy = Energy() if energy is None else Energy.load(energy)
    return InstanceSequence(Prepared(folder), energy, potentials=potentials, features=features)
