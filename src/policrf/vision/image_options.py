"""ImageOptions: nets, classes and superpixels, for `policrf prepare` and `policrf segment` alike.

One name, default and help for each; `recipe_of` makes a recipe of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from policrf.errors import InvalidOption
from policrf.vision.classes import VOC_LABELS, read_class_map, read_names
from policrf.vision.nets.detectors import detector_names
from policrf.vision.nets.segmentation_net import AUTOMATIC, Fit
from policrf.vision.recipe import Recipe, file_digest
from policrf.vision.unaries import ScoreKind


@dataclass(frozen=True)
class ImageOptions:
    """Where scores and boxes come from, and what is made of them."""

    labels: Path | None = None
    """The label names, one a line, background first; without it VOC's (or the data set's)."""
    net: Path | None = None
    """Segmentation net (.tflite or .onnx)."""
    net_names: str | None = None
    """The net's classes, if they are not the labels: a file, one a line, or voc."""
    net_scores: str | None = None
    """Tensor with the class scores; default: the first with one channel a class."""
    hypercolumns: str = ""
    """Inner tensors for the hypercolumns, joined by commas."""
    net_fit: Fit = Recipe.fit
    """How an image is put into a net of fixed size."""
    net_windows: int | None = None
    """Read a wide image through this many overlapping windows; default: 1, or about square ones
    where an image is larger than the net's input and more than twice as long as wide."""
    net_mean: tuple[float, float, float] = Recipe.mean
    """Subtracted from the pixels (0 … 255) of nets with real-valued input."""
    net_deviation: tuple[float, float, float] = Recipe.deviation
    """Then divided by."""
    net_bgr: bool = Recipe.bgr
    """The net wants blue first."""
    feature_net: Path | None = None
    """Another net that --hypercolumns names the tensors of; it needs no class scores."""
    feature_mean: tuple[float, float, float] = Recipe.feature_mean
    """Subtracted from the pixels of the feature net, if it has real-valued input."""
    feature_deviation: tuple[float, float, float] = Recipe.feature_deviation
    """Then divided by."""
    feature_bgr: bool = Recipe.feature_bgr
    """The feature net wants blue first."""
    scores: Path | None = None
    """Precomputed scores instead of the net's: a folder with NAME.npy or .npz (for one image also a
    file)."""
    score_kind: ScoreKind = Recipe.score_kind
    """What the scores are."""
    detector: Path | None = None
    """Detector: Darknet .cfg (with .weights beside it) or .onnx; none is fine."""
    detector_names: Path | None = None
    """The detector's class names; default: a .names file of the right length beside it."""
    class_map: Path | None = None
    """YAML from every class of the detector to a label or null; default: by name."""
    detector_windows: int = Recipe.detector_windows
    """Run the detector also on this many windows of a wide image."""
    threshold: float = Recipe.threshold
    """Least confidence of a detection."""
    superpixels: int = Recipe.superpixels
    """How many superpixels SLIC is asked for."""
    compactness: float = Recipe.compactness
    """SLIC: the distance in Lab that counts as much as the side of a superpixel."""
    follow_net: bool = Recipe.follow_net
    """Cut superpixels along the boundaries of the net's labels."""
    smallest: int = Recipe.smallest
    """Fragments of such a cut with fewer pixels are joined to a neighbour."""
    long_range: int = Recipe.long_range
    """Tie every superpixel also to its nearest in position and colour, this many; 0 for none."""
    max_side: int = Recipe.max_side
    """Larger images are worked on at this size."""
    grabcut_scale: float = Recipe.grabcut_scale
    """Scale at which GrabCut works."""


# Fields of a recipe by the option that gives them; both hold the same plain value.
PLAIN = {
    "scores": "net_scores", "fit": "net_fit", "mean": "net_mean", "deviation": "net_deviation",
    "bgr": "net_bgr",
} | {
    name: name
    for name in (
        "feature_mean", "feature_deviation", "feature_bgr",
        "net_windows", "score_kind", "detector_windows", "threshold", "superpixels", "compactness",
        "follow_net", "smallest", "long_range", "max_side", "grabcut_scale",
    )
}  # fmt: skip


def recipe_of(options: ImageOptions, base: Recipe) -> Recipe:
    """A recipe with everything that the options say.

    Parameters
    ----------
    options
        Names that they leave open (labels, classes, class map) stay as in `base`.
    base
        What the labels are; or the recipe whose plain values the options start from.
    """
    values: dict[str, Any] = {field: getattr(options, name) for field, name in PLAIN.items()}
    if options.net_windows is None:
        values["net_windows"] = AUTOMATIC
    elif options.net_windows < 1:
        raise InvalidOption(f"net_windows is {options.net_windows}; it must be at least 1")
    parts = options.hypercolumns.split(",")
    values["hypercolumns"] = tuple(part.strip() for part in parts if part.strip())
    if options.feature_net is not None:
        values["feature_net"] = file_digest(options.feature_net)
        if not values["hypercolumns"]:
            raise InvalidOption("--feature-net needs --hypercolumns, which names its tensors")
    labels = base.labels
    if options.labels is not None:
        labels = values["labels"] = read_names(options.labels)
    if options.net_names is not None:
        is_voc = options.net_names == "voc"
        values["net_classes"] = VOC_LABELS if is_voc else read_names(options.net_names)
    elif options.labels is not None or not base.net_classes:
        values["net_classes"] = labels
    same = len(base.detector_classes) > 0 and base.detector == file_digest(options.detector)
    if options.detector is not None and (options.detector_names is not None or not same):
        values["detector_classes"] = detector_names(options.detector, options.detector_names)
    if options.class_map is not None:
        values["class_map"] = read_class_map(options.class_map)
    return replace(base, **values)


def plain_options(recipe: Recipe) -> dict[str, Any]:
    """The plain values of a recipe by the name of their option."""
    found = {name: getattr(recipe, field) for field, name in PLAIN.items()}
    found["net_windows"] = recipe.net_windows or None
    return found | {"hypercolumns": ",".join(recipe.hypercolumns)}
