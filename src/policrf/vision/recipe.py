"""Recipe: everything that decides what prepared data contains, kept beside it as plain values."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass, field, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from policrf._version import __version__
from policrf.crf.io.json_text import as_json
from policrf.errors import InvalidFile, InvalidOption
from policrf.vision.boxes import SupportRule
from policrf.vision.nets.segmentation_net import Fit, NetOptions
from policrf.vision.recipe_checks import check_fields
from policrf.vision.unaries import ScoreKind

SCHEMA = 3
_LIBRARIES = (
    "numpy", "scipy", "numba", "opencv-python-headless", "pillow", "pyarrow", "onnxruntime",
    "ai-edge-litert", "pycocotools",
)  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """How images become records."""

    labels: tuple[str, ...]
    """Names of the data set's labels; the first is the background."""
    superpixels: int = 250
    """How many superpixels SLIC is asked for."""
    compactness: float = 10.0
    """SLIC: the distance in Lab that counts as much as the side of a superpixel."""
    smoothing: float = 1.0
    """SLIC: width of the blur before it, in pixels."""
    slic_iterations: int = 4
    follow_net: bool = True
    """Cut superpixels along the boundaries of the net's labels."""
    smallest: int = 8
    """Fragments of such a cut with fewer pixels are joined to a neighbour."""
    long_range: int = 16
    """Tie every superpixel also to its nearest in position and colour, this many; 0 for none."""
    far_reach: float = 67.0
    """The distance in pixels that counts as one when they are searched."""
    far_colour: float = 5.0
    """The distance in Lab that counts as one."""
    max_side: int = 2048
    """Larger images are worked on at this size; truth stays at full size."""
    net: str = ""
    """SHA-256 of the net's file, empty without one."""
    net_classes: tuple[str, ...] = ()
    """The net's classes; they are matched to the labels by name."""
    scores: str | None = None
    hypercolumns: tuple[str, ...] = ()
    score_kind: ScoreKind = "logits"
    fit: Fit = "pad"
    net_windows: int = 1
    """Windows of a wide image that the net sees; 0: by the shape of every image."""
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    deviation: tuple[float, float, float] = (1.0, 1.0, 1.0)
    bgr: bool = False
    feature_net: str = ""
    """SHA-256 of the file that the hypercolumns come from, empty where it is the net's."""
    feature_mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    feature_deviation: tuple[float, float, float] = (1.0, 1.0, 1.0)
    feature_bgr: bool = False
    detector: str = ""
    """SHA-256 of the detector's file (or of the file with detections), empty without one."""
    detector_classes: tuple[str, ...] = ()
    class_map: dict[str, str | None] | None = None
    """From every class of the detector to a label or None; by name without it."""
    threshold: float = 0.3
    """Least confidence of a detection."""
    overlap: float = 0.45
    """Intersection over union at which the less confident of two boxes of a label is dropped."""
    detector_windows: int = 1
    """Windows of a wide image that the detector sees, beside the whole."""
    grabcut_scale: float = 0.4
    """Scale at which GrabCut works."""
    grabcut_iterations: int = 2
    support: SupportRule = "inside"
    """Which boxes HOP2 asks for a quota."""
    components: int = 32
    """Principal components of the hypercolumns that are kept."""
    keep_pixels: bool = True
    """Keep what the pixel maps of an image are rebuilt from, beside its record."""
    dataset: dict[str, Any] = field(default_factory=dict)
    """Which images these are: name, split, root folder's name."""

    def __post_init__(self) -> None:
        check_fields(vars(self))

    def net_options(self) -> NetOptions:
        """The part that concerns the segmentation net."""
        return NetOptions(
            scores=self.scores,
            hypercolumns=() if self.feature_net else self.hypercolumns,
            fit=self.fit,
            windows=self.net_windows,
            mean=self.mean,
            deviation=self.deviation,
            bgr=self.bgr,
        )

    def feature_options(self) -> NetOptions:
        """The part that concerns the net of the hypercolumns."""
        return NetOptions(
            hypercolumns=self.hypercolumns,
            fit=self.fit,
            windows=self.net_windows,
            mean=self.feature_mean,
            deviation=self.feature_deviation,
            bgr=self.feature_bgr,
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        plain: dict[str, Any] = as_json(self)
        return plain

    @staticmethod
    def from_dict(values: dict[str, Any], where: str = "recipe") -> Recipe:
        """From plain values, lists turned to tuples."""
        known = {item.name for item in fields(Recipe)}
        unknown = sorted(set(values) - known)
        if unknown or "labels" not in values:
            what = f"unknown field {unknown[0]!r}" if unknown else "no labels"
            raise InvalidFile(f"{where}: not a recipe of this version of policrf ({what})")
        tuples: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in values.items()
        }
        try:
            return Recipe(**tuples)
        except InvalidOption as error:
            raise InvalidFile(f"{where}: {error}; prepare the images again") from None

    def difference(self, other: Recipe) -> str | None:
        """The first field in which two recipes differ, as text."""
        mine, theirs = self.as_dict(), other.as_dict()
        for name, value in mine.items():
            if theirs[name] != value:
                return f"{name} was {theirs[name]!r} and is {value!r}"
        return None


def read_recipe(content: dict[str, Any], folder: Path) -> Recipe:
    """The recipe of a prepared folder from its recipe.json; other schemas are refused."""
    versions = content.get("versions", {})
    if not isinstance(versions, dict) or not isinstance(content.get("recipe", {}), dict):
        raise InvalidFile(f"{folder / 'recipe.json'}: not a recipe; prepare the images again")
    found = str(versions.get("schema", "none"))
    if found != str(SCHEMA):
        raise InvalidFile(
            f"{folder}: prepared by another version of policrf (its records have schema {found}, "
            f"this version reads {SCHEMA}); prepare the images again, into another folder"
        )
    return Recipe.from_dict(content.get("recipe", {}), str(folder / "recipe.json"))


def file_digest(path: str | Path | None) -> str:
    """SHA-256 of a file (Darknet: of both files); empty for None."""
    if path is None:
        return ""
    files = [Path(path)]
    if files[0].suffix == ".cfg":
        files.append(files[0].with_suffix(".weights"))
    digest = hashlib.sha256()
    for file in files:
        try:
            digest.update(file.read_bytes())
        except OSError as error:
            raise InvalidFile(f"{file}: cannot be read ({error.strerror or error})") from None
    return digest.hexdigest()


def library_versions() -> dict[str, str]:
    """Versions of what took part; absent libraries are left out."""
    found = {"policrf": __version__, "python": platform.python_version(), "schema": str(SCHEMA)}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
