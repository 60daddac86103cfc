"""SceneRecipe: everything a synthetic scene is drawn from, except its seed and size.

The presets are the regimes that the benchmarks use (α = 1 and C = 2 in all):

    A   the unaries' best label is right on 85 % of the nodes, w = 0.2, λ = 0.1 · N
    B   right on 50 %,                                         w = 0.5, λ = 0.3 · N
    C   right on 60 %, each node erring for itself,            w = 0.5, λ = 0.3 · N

In A and B a net's errors come in patches, as those of real nets do: neighbours are wrong together.
In C they are independent from node to node, the classical model of noise (in fast scenes: over the
pixels of a rendered superpixel such noise averages out).

Lengths are in units of the scene's side: a scene is the unit square whatever its resolution.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from policrf.errors import InvalidOption


@dataclass(frozen=True)
class SceneRecipe:
    """The distribution of scenes, of a net's mistakes on them, and of a detector's mistakes."""

    name: str
    accuracy: float
    """Wanted mean fraction of nodes on which the scores' best label is the true one."""
    accuracy_spread: float = 0.03
    """Standard deviation of that fraction between scenes."""
    large_objects: tuple[int, int] = (2, 4)
    """Fewest and most objects that stand on the background."""
    small_objects: tuple[int, int] = (1, 2)
    """Fewest and most objects that lie inside a larger one."""
    large_radius: tuple[float, float] = (0.17, 0.27)
    small_share: tuple[float, float] = (0.35, 0.5)
    """Radius of a small object as a fraction of the radius of the object that holds it."""

    confidence: float = 5.5
    """Logit of the labels that compete at a node, over the background noise of all labels."""
    label_noise: float = 0.7
    """Standard deviation of the logits of labels that do not compete."""
    patch_length: float = 0.14
    """Correlation length of the score errors."""
    patch_slope: float = 3.0
    """Margin (in logits) per standard deviation of the error field; at most `patch_margin`."""
    patch_margin: float = 4.0
    node_noise: float = 1.0
    """Standard deviation of the margin from node to node."""
    stray: float = 0.3
    """Probability that a node's competing label is random, not its patch's; in fast scenes."""
    boundary_shift: float = 0.015
    """Standard deviation of the displacement of object boundaries in the scores."""
    missed_small: float = 0.12
    """Probability that the scores do not see a small object at all."""

    camouflage: float = 0.15
    """Probability that an object has nearly the colour of what lies behind it."""
    colour_noise: float = 0.03
    texture: float = 0.06
    """Amplitude of an object's texture, a source of edges inside objects."""
    colour_scale: float = 0.17
    """σ of the similarity exp(−|Δcolour|² / 2σ²) of neighbouring nodes."""
    gate: float = 0.5
    """β: neighbours have a pairwise term where their similarity is above it."""
    temperature: float = 0.25
    """Temperature of the softmax over neighbours' similarities that gives the edge weights."""

    boxes: tuple[int, int] = (3, 6)
    """Fewest and most detections."""
    missing_box: float = 0.15
    """Probability that an object has no box."""
    false_box: float = 0.35
    """Probability that a further box shows nothing."""
    wrong_box_label: float = 0.05
    box_jitter: float = 0.06
    """Standard deviation of a box's sides as a fraction of its size."""
    foreground_error: float = 0.2
    """Standard deviation of the foreground's boundary as a fraction of the object's radius."""

    void_band: float = 0.006
    """Half the width of the void band along object boundaries."""
    void_patch: float = 0.5
    """Probability of a small region without truth."""
    node_pixels: int = 100
    """Mean number of pixels of a node."""

    pairwise_weight: float = 1.0
    """α."""
    agreement_weight: float = 0.2
    """w of HOP1; a box's weight is w · its confidence."""
    support_penalty: float = 0.1
    """λ of HOP2 divided by the number of nodes."""
    support_divisor: float = 2.0
    """C of HOP2: a box wants |I_b| / C of its nodes."""

    def __post_init__(self) -> None:
        for name in _RANGES:
            low, high = getattr(self, name)
            if not 0 <= low <= high:
                raise InvalidOption(f"recipe: {name} is {(low, high)}; give (fewest, most) ≥ 0")
        for name in _PROBABILITIES:
            _require(name, getattr(self, name), 0.0, 1.0)
        for name in _POSITIVE:
            _require(name, getattr(self, name), _TINY, float("inf"))
        for name in _NOT_NEGATIVE:
            _require(name, getattr(self, name), 0.0, float("inf"))
        # Below 1, a quota asks for more nodes than its clique has.
        _require("support_divisor", self.support_divisor, 1.0, float("inf"))
        _require("large_objects", self.large_objects[0], 1, float("inf"))

    def as_dict(self) -> dict[str, Any]:
        """The fields as values that JSON can hold."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}


_TINY = 1e-9
_RANGES = ("large_objects", "small_objects", "large_radius", "small_share", "boxes")
_PROBABILITIES = (
    "accuracy",
    "stray",
    "missed_small",
    "camouflage",
    "gate",
    "missing_box",
    "false_box",
    "wrong_box_label",
    "void_patch",
)
_POSITIVE = (
    "confidence",
    "patch_length",
    "patch_slope",
    "patch_margin",
    "node_noise",
    "colour_scale",
    "temperature",
    "node_pixels",
)
_NOT_NEGATIVE = (
    "accuracy_spread",
    "label_noise",
    "boundary_shift",
    "colour_noise",
    "texture",
    "box_jitter",
    "foreground_error",
    "void_band",
    "pairwise_weight",
    "agreement_weight",
    "support_penalty",
)


def _require(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        span = f"at least {low:g}" if high == float("inf") else f"from {low:g} to {high:g}"
        raise InvalidOption(f"recipe: {name} is {value}; it must be {span}")


PRESETS: dict[str, SceneRecipe] = {
    "A": SceneRecipe("A", accuracy=0.85),
    "B": SceneRecipe(
        "B",
        accuracy=0.50,
        small_objects=(2, 3),
        confidence=6.0,
        patch_slope=2.0,
        patch_margin=2.0,
        stray=0.2,
        boundary_shift=0.02,
        missed_small=0.9,
        false_box=0.6,
        wrong_box_label=0.1,
        agreement_weight=0.5,
        support_penalty=0.3,
    ),
    "C": SceneRecipe(
        "C",
        accuracy=0.60,
        patch_length=0.001,
        patch_slope=2.0,
        patch_margin=2.0,
        stray=1.0,
        false_box=0.6,
        agreement_weight=0.5,
        support_penalty=0.3,
    ),
}


def chosen_recipe(preset: str, recipe: SceneRecipe | None) -> SceneRecipe:
    """The recipe itself if one is given, else the preset of that name."""
    if recipe is not None:
        if not isinstance(recipe, SceneRecipe):
            raise InvalidOption(f"recipe must be a SceneRecipe, not a {type(recipe).__name__}")
        return recipe
    if preset not in PRESETS:
        raise InvalidOption(f"unknown preset {preset!r}; the presets are {', '.join(PRESETS)}")
    return PRESETS[preset]
