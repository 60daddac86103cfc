"""PrepareOptions: how a data set becomes prepared records; `prepare` and its command take these."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from policrf.errors import InvalidOption
from policrf.vision.nets.segmentation_net import Fit
from policrf.vision.recipe import Recipe
from policrf.vision.unaries import ScoreKind

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Options = TypeVar("Options", bound=DataclassInstance)


@dataclass(frozen=True)
class PrepareOptions:
    """Where scores and boxes come from, and what is made of them."""

    split: str | None = None
    """voc: a file of ImageSets/Segmentation; mots: sequences (0000,0002), train or val."""
    masks: Path | None = None
    """folder: where the masks are (PNG, same names, label indices, 255 = void)."""
    labels: Path | None = None
    """folder, images: the label names, one a line, background first; without it VOC's."""
    net: Path | None = None
    """Segmentation net (.tflite or .onnx)."""
    net_names: str | None = None
    """The net's classes, if they are not the data set's labels: a file, one a line, or voc."""
    net_scores: str | None = None
    """Tensor with the class scores; default: the first with one channel a class."""
    hypercolumns: str = ""
    """Inner tensors for the hypercolumns, joined by commas."""
    net_fit: Fit = Recipe.fit
    """How an image is put into a net of fixed size."""
    net_windows: int = Recipe.net_windows
    """Read a wide image through this many overlapping windows."""
    net_mean: tuple[float, float, float] = Recipe.mean
    """Subtracted from the pixels (0 … 255) of nets with real-valued input."""
    net_deviation: tuple[float, float, float] = Recipe.deviation
    """Then divided by."""
    net_bgr: bool = Recipe.bgr
    """The net wants blue first."""
    scores: Path | None = None
    """Folder with precomputed scores, NAME.npy or .npz, instead of the net's."""
    score_kind: ScoreKind = Recipe.score_kind
    """What the scores are."""
    detector: Path | None = None
    """Detector: Darknet .cfg (with .weights beside it) or .onnx."""
    detector_names: Path | None = None
    """The detector's class names; default: a .names file of the right length beside it."""
    class_map: Path | None = None
    """YAML from every class of the detector to a label or null; default: by name."""
    detector_windows: int = Recipe.detector_windows
    """Run the detector also on this many windows of a wide image."""
    detections: Path | None = None
    """Precomputed detections in COCO's results format."""
    categories: Path | None = None
    """For detections: a COCO annotation file, or names, the first being category 1."""
    trackrcnn: Path | None = None
    """mots: folder with TrackR-CNN results, SEQ.txt, for scores and boxes."""
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
    components: int = Recipe.components
    """Principal components of the hypercolumns to keep; 0 for none."""
    like: Path | None = None
    """Prepared training data whose principal components to use."""
    limit: int | None = None
    """Only the first images, this many."""
    strict: bool = False
    """Stop at the first image that cannot be used instead of skipping it."""


def changed(options: Options, changes: dict[str, Any], command: str) -> Options:
    """A dataclass of options with some fields changed by name; paths may be given as text.

    An unknown name is an error that lists the fields of `command`.
    """
    known = {field.name: str(field.type) for field in fields(options)}
    values = {}
    for name, value in changes.items():
        if name not in known:
            raise InvalidOption(f"{command} has no option {name!r}; there are {', '.join(known)}")
        is_path = "Path" in known[name] and isinstance(value, str)
        values[name] = Path(value) if is_path else value
    return replace(options, **values)
