"""Learn a heuristic for a potential of your own: windows that should hold at most two labels.

Run: python examples/train_custom_potential.py
"""

import numba
import numpy as np

import policrf as pc


@numba.njit
def too_many_labels(labels, parameters):
    used = 0
    for i in range(len(labels)):
        used += np.all(labels[:i] != labels[i])
    return parameters[0] * max(0, used - 2)


def make(seed, side=8, n_labels=5):
    rng = np.random.default_rng(seed)
    grid = np.arange(side * side).reshape(side, side)
    right = np.stack([grid[:, :-1].ravel(), grid[:, 1:].ravel()], axis=1)
    down = np.stack([grid[:-1].ravel(), grid[1:].ravel()], axis=1)
    windows = [grid[r : r + 4, c : c + 4].ravel() for r in (0, 4) for c in (0, 4)]
    custom = pc.Custom(windows, too_many_labels, np.full((len(windows), 1), 6.0))
    crf = pc.CRF(
        rng.gumbel(size=(side * side, n_labels)), pc.Potts(np.vstack([right, down]), 0.3), custom
    )
    return pc.Instance.from_crf(crf)


training, test = [make(seed) for seed in range(60)], [make(seed) for seed in range(900, 910)]
policy = pc.train(training, kind="residual", rounds=30, learning_rate=3e-3, episodes=8, batch=64)
for solver in ("icm", "highest_confidence_first", policy):
    first = [pc.solve(instance, solver) for instance in test]
    then = [
        pc.solve(instance, "refine", initial=s.labels)
        for instance, s in zip(test, first, strict=True)
    ]
    print(
        f"{first[0].solver:25} energy {np.mean([s.energy for s in first]):7.2f}, "
        f"then refine {np.mean([s.energy for s in then]):7.2f}"
    )
