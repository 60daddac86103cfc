"""A solver of your own: simulated annealing in twenty lines, checked and compared.

Run: python examples/own_solver.py
"""

import numpy as np

import policrf as pc
from policrf.testing import check_solver


def annealing(run, *, steps: int = 20_000, hot: float = 2.0):
    """Random relabels, accepted with probability exp(−change / temperature)."""
    crf = run.crf
    scale = np.ptp(crf.unary[np.isfinite(crf.unary)]) or 1.0
    walk = crf.labeling(run.start_labels())
    run.offer(walk.labels)
    for step in range(steps):
        if step % 200 == 0 and run.expired():
            break
        temperature = hot * scale * (1 - step / steps) ** 3 / crf.n_labels + 1e-12 * scale
        node = int(run.rng.integers(crf.n_nodes))
        costs = walk.costs(node)
        gumbel = -np.log(-np.log(run.rng.random(crf.n_labels)))
        label = int(np.argmin(costs - temperature * gumbel))  # a sample of the softmax
        if np.isfinite(costs[label]):
            walk.assign(node, label)
    run.offer(walk.labels)


def main() -> None:
    refused = {
        k: v for k, v in check_solver(annealing, options={"steps": 2000}).items() if v != "ok"
    }
    print("check_solver:", refused or "all cases ok")
    scene = pc.make_scene(150, "B", seed=3)
    for solver in (annealing, "icm", "alpha_expansion", "exact"):
        print(pc.solve(scene, solver, seconds=10))


if __name__ == "__main__":
    main()
