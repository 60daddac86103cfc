"""A potential of your own, asked half-way: at most `k` labels in a region, beside other terms.

Run: python examples/own_potential.py
"""

import numba
import numpy as np

import policrf as pc
from policrf.testing import check_potential


@numba.njit
def label_cost(labels, parameters):
    """`parameters[0]` for every label beyond the first `parameters[1]` of the region."""
    seen = np.zeros(64, np.bool_)
    for label in labels:
        seen[label] = True
    return parameters[0] * max(0.0, seen.sum() - parameters[1])


def main() -> None:
    rng = np.random.default_rng(0)
    side, n_labels = 12, 6
    index = np.arange(side * side).reshape(side, side)
    across = np.stack([index[:, :-1].ravel(), index[:, 1:].ravel()], axis=1)
    down = np.stack([index[:-1].ravel(), index[1:].ravel()], axis=1)
    quarters = [index[y : y + 6, x : x + 6].ravel() for y in (0, 6) for x in (0, 6)]
    parameters = [[8.0, 2.0]] * 4
    regions = pc.Custom(quarters, label_cost, parameters, partial="subset")
    print(check_potential(regions, n_nodes=side * side, n_labels=n_labels, trials=3))

    unary = rng.random((side * side, n_labels)) * 2
    edges = pc.Potts(np.concatenate([across, down]), 0.3)
    for asked, group in (
        ("when complete", pc.Custom(quarters, label_cost, parameters)),
        ("half-way", regions),
    ):
        crf = pc.CRF(unary, edges, group)
        for solver in ("icm", "highest_confidence_first", "untrained", "annealing", "refine"):
            solution = pc.solve(crf, solver)
            print(f"{asked:14} {solver:26} energy {solution.energy:8.3f}  {solution.calls:8} calls")


if __name__ == "__main__":
    main()
