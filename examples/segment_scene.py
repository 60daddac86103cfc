"""An image with a net's scores and boxes, segmented: what the net says, and what comes out.

Run: python examples/segment_scene.py
"""

import numpy as np

import policrf as pc
from policrf.vision.boxes import Detections

NAMES = ("background", *(f"object {k}" for k in range(1, 6)))


def main() -> None:
    scene = pc.render_scene((150, 200), "A", seed=30_003, n_labels=len(NAMES))
    boxes, labels, confidences = scene.detections
    result = pc.Segmenter(labels=NAMES)(
        scene.image,
        scores=np.log(scene.scores + 1e-6),
        detections=Detections.of(boxes, confidences, labels),
        truth=scene.truth,
        seconds=1,
    )
    print(f"energy {result.solution.energy:.1f}, {result.instance.crf.n_nodes} superpixels")
    for name, labeled in (("net", result.net_labels), ("result", result.labels)):
        known = scene.truth >= 0
        print(f"{name}: {np.mean(labeled[known] == scene.truth[known]):.1%} of the pixels right")
    pictures = {"net": result.net_labels, "result": result.labels, "truth": scene.truth}
    draw(scene.image, pictures)


def draw(image: np.ndarray, pictures: dict[str, np.ndarray]) -> None:
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(1, 4, figsize=(11, 2.4))
    axes[0].imshow(image)
    axes[0].set_title("image")
    for axis, (name, picture) in zip(axes[1:], pictures.items(), strict=True):
        known = np.ma.masked_less(picture, 0)
        axis.imshow(known, vmin=0, vmax=9, cmap="tab10", interpolation="nearest")
        axis.set_title(name)
    for axis in axes:
        axis.axis("off")


if __name__ == "__main__":
    main()
