"""Few labels, none of them in crumbs: label costs and size priors as built-in groups.

Run: python examples/label_costs.py
"""

import numpy as np

import policrf as pc


def main() -> None:
    rng = np.random.default_rng(0)
    side, n_labels = 30, 8
    index = np.arange(side * side).reshape(side, side)
    pairs = [(i, i + 1) for i in index[:, :-1].flat] + [(i, i + side) for i in index[:-1].flat]
    truth = np.where(index // side < 12, 0, np.where(index % side < 15, 3, 5)).ravel()
    unary = rng.random((side * side, n_labels))
    unary[np.arange(side * side), truth] -= 0.25
    edges = pc.Potts(pairs, 0.1)
    whole = [range(side * side)]
    crumbs = pc.CountFunction(
        whole, lambda counts, size: np.where((counts > 0) & (counts < 80), 5.0, 0.0)
    )
    for name, groups in (
        ("edges", [edges]),
        ("edges, label costs", [edges, pc.LabelCost(whole, 20.0)]),
        ("edges, label costs, no crumbs", [edges, pc.LabelCost(whole, 20.0), crumbs]),
    ):
        found = pc.solve(pc.CRF(unary, *groups), seconds=2.0)
        right = 100 * np.mean(found.labels == truth)
        used = len(np.unique(found.labels))
        print(f"{name:30} {used} labels, {right:.0f} % right, energy {found.energy:.1f}")


if __name__ == "__main__":
    main()
