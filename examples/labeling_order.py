"""The order in which the untrained rule labels a scene: the surest nodes first.

Run: python examples/labeling_order.py
"""

import numpy as np

import policrf as pc


def main() -> None:
    scene = pc.make_scene(800, "B", seed=5)
    solution = pc.solve(scene, "untrained")
    print(f"energy {solution.energy:.3f} in {len(solution.order)} steps")
    when = np.empty(len(solution.order))
    when[solution.order] = np.linspace(0, 1, len(when))
    draw(scene.positions, when, solution.labels)


def draw(positions: np.ndarray, when: np.ndarray, labels: np.ndarray) -> None:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return
    _, axes = plt.subplots(1, 2, figsize=(9, 4))
    panels = ((when, "viridis", "dark first, bright last"), (labels, "tab20", "labels"))
    for axis, (values, cmap, name) in zip(axes, panels, strict=True):
        axis.scatter(positions[:, 0], positions[:, 1], c=values, cmap=cmap, s=26, marker="s")
        axis.set_title(name)
        axis.invert_yaxis()
        axis.axis("off")


if __name__ == "__main__":
    main()
