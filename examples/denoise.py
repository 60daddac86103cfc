"""A noisy picture and its labeling of lowest energy, with the proof.

Run: python examples/denoise.py
"""

import numpy as np

import policrf as pc


def main() -> None:
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:48, :64]
    truth = ((x - 20) ** 2 + (y - 22) ** 2 < 200) + 2 * ((x > 38) & (y > 12))
    noisy = truth + rng.normal(0, 0.9, truth.shape)
    crf = pc.grid((noisy[..., None] - np.arange(4)) ** 2 / 2, weights=0.8)
    solution = pc.solve(crf, "exact", seconds=20)
    labels = solution.labels.reshape(truth.shape)
    print(f"energy {solution.energy:.3f}, proven: {solution.optimal}")
    print(f"{np.mean(labels != truth):.1%} of the pixels are wrong")
    draw({"noisy": noisy, "lowest energy": labels, "truth": truth})


def draw(pictures: dict[str, np.ndarray]) -> None:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return
    _, axes = plt.subplots(1, len(pictures), figsize=(9, 2.6))
    for axis, (name, picture) in zip(axes, pictures.items(), strict=True):
        axis.imshow(picture, vmin=0, vmax=3, cmap="cividis")
        axis.set_title(name)
        axis.axis("off")


if __name__ == "__main__":
    main()
