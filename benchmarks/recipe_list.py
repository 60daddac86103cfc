"""How each policy that ships is made: the data and the options of its training."""

from __future__ import annotations

from dataclasses import dataclass

FACTOR = 0.4  # at which the net's accuracy on VOC train is that on val
LEARNED_FROM = 290  # images: below 300 trust is chosen by cross-fitting


@dataclass(frozen=True)
class Recipe:
    """Of one policy."""

    name: str
    dataset: str
    size: int
    data: str
    limits: str
    rounds: int = 10
    block: int = 1
    """Images that are drawn together for intervals: neighbours of a film are much alike."""
    train: tuple[object, ...] = ()
    """Options of `policrf train dqn`; images are learned from by imitation."""


def _of_voc(size: int) -> Recipe:
    data = (
        f"{LEARNED_FROM} images of Pascal VOC train at {size} superpixels, made smaller by "
        f"{FACTOR:g} and enlarged again, with noise, until the net does on them as on new ones; "
        "DeepLabV3 with a half-width MobileNetV2, boxes of YOLO-Fastest (COCO)"
    )
    limits = (
        f"VOC's 21 labels with a net and a detector like these, near {size} superpixels that "
        "follow the net's labels. It goes by the truth: the untrained rule has lower energies."
    )
    return Recipe(f"voc-{size}", "voc", size, data, limits)


def _of_scenes(size: int) -> Recipe:
    train = (
        "--data", f"synthetic:A+B+C:{size}", "--count", 3000, "--learning-rate", 3e-3,
        "--rounds", 120, "--decay-rounds", 120, "--episodes", 48, "--epsilon", 0.7,
        "--capacity", 100_000, "--select", "iou",
    )  # fmt: skip
    data = f"3,000 synthetic scenes without truth: regimes A, B, C, {size} nodes, 21 labels"
    limits = (
        "The paper's network, learned from energies alone: 21 labels and 85 features only. The "
        "policy 'labels' has better labels, the untrained rule lower energies."
    )
    return Recipe(f"synthetic-{size}", "scenes", size, data, limits, train=train)


RECIPES = {
    recipe.name: recipe
    for recipe in (
        *(_of_voc(size) for size in (50, 250, 500)),
        Recipe(
            "mots-2000", "mots", 2000,
            "77 frames of KITTI MOTS 0000 at 2,000 superpixels; DeepLabV3 of VOC with a half-width "
            "MobileNetV2, boxes of YOLO-Fastest (COCO)",
            "Background, car, pedestrian in street scenes, with a net and a detector like these.",
            block=13,
        ),
        *(_of_scenes(size) for size in (50, 250)),
    )
}  # fmt: skip
