"""The cells of data: prepared images, and energies calibrated on those of the training split."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.options import Reproduce
from policrf.bench.reproduce.presets import DataSet, Preset
from policrf.datasets.opening import open_dataset
from policrf.errors import InvalidOption
from policrf.policy.checkpoint import load_policy
from policrf.vision.recipe import file_digest

ROOTS = {"voc": Path("voc") / "VOC2012", "mots": Path("mots") / "KITTI_MOTS"}


def net_digest(path: Path | None) -> str:
    """The digest of a net's file, read once as long as it does not change."""
    if path is None or not path.is_file():
        return file_digest(path)
    return _digest(path, path.stat().st_mtime_ns, path.stat().st_size)


@lru_cache(maxsize=16)
def _digest(path: Path, modified: int, size: int) -> str:
    return file_digest(path)


@lru_cache(maxsize=16)
def policy_digest(name: str) -> str:
    """A digest of the weights of a policy that ships."""
    weights = sorted(load_policy(name).weights.items())
    return sha256(b"".join(array.tobytes() for _, array in weights)).hexdigest()


def own_size(found: DataSet, size: int) -> int:
    """Where weights and components for a size come from: Table 3 brings those of its policies."""
    return size if size in found.sizes else found.learned_at


@dataclass(frozen=True)
class DataCells:
    """Makes the cells of data of one preset."""

    asked: Reproduce
    preset: Preset

    def prepared(self, found: DataSet, split: str, size: int, images: int | None = None) -> Cell:
        """The records of a split at a number of superpixels; of its first images, if told."""
        about = {
            "dataset": found.name, "split": split, "size": size, "form": self.preset.form,
            "images": images, **self._nets(found.name),
        }  # fmt: skip
        needs = {}
        # A few images for timings have principal components of their own.
        if split != found.train and found.name != "scenes" and images is None:
            needs["like"] = self.prepared(found, found.train, own_size(found, size))
        return Cell("prepare", f"{found.name} {size} {split}", about, needs)

    def _nets(self, name: str) -> dict[str, object]:
        if name == "scenes":
            return {"scenes": list(self.preset.scenes)}
        nets = self.asked.nets
        return {
            "net": net_digest(nets.net),
            "hypercolumns": nets.hypercolumns,
            "feature_net": net_digest(nets.feature_net),
            "detector": net_digest(nets.detector),
        }

    def energies(self, found: DataSet, size: int) -> Cell:
        """The weights for every kind of energy, chosen on the training split."""
        about = {
            "form": self.preset.form, "images": self.preset.calibration_images, "seed": 0,
            "small": self.preset.small,
        }  # fmt: skip
        trained = own_size(found, size)
        needs = {"data": self.prepared(found, found.train, trained)}
        return Cell("calibrate", f"{found.name} {trained}", about, needs)

    def root(self, name: str) -> Path | None:
        """The folder of a data set, None where it is not at hand."""
        if self.asked.data is None or name not in ROOTS:
            return None
        folder = self.asked.data / ROOTS[name]
        return folder if folder.is_dir() else None

    def check(self) -> None:
        """Refuse a call that asks for cells on data, and could run none of them."""
        names = [found.name for found in self.preset.data_sets if found.name in ROOTS]
        if self.asked.data is None or not names:
            return
        if all(self.root(name) is None for name in names):
            wanted = " nor ".join(str(ROOTS[name]) for name in names)
            raise InvalidOption(f"--data {self.asked.data} has no {wanted}")
        if self.asked.nets.net is None and not self.asked.plan:
            raise InvalidOption("images need a net for their unaries; give --net")

    def counts(self) -> dict[tuple[str, str], int]:
        """How many images the splits have that are at hand."""
        found = {}
        for data_set in self.preset.data_sets:
            root = self.root(data_set.name)
            for split in (data_set.train, data_set.test):
                if root is not None:
                    opened = open_dataset(data_set.name, root, split=split)
                    found[data_set.name, split] = len(opened.samples())
        return found

    def missing(self, name: str) -> str:
        """Why the cells of a data set cannot be run, empty if they can."""
        if name == "scenes":
            return ""
        if self.root(name) is None:
            return f"--data has no {ROOTS[name]}"
        nets = self.asked.nets
        if nets.net is None:
            return "no --net"
        return ""
