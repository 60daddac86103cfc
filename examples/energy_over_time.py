"""Energy and lower bound of several solvers over time, until they meet.

Run: python examples/energy_over_time.py
"""

import policrf as pc


def main() -> None:
    scene = pc.make_scene(400, "B", seed=2)
    solutions = []
    for name in ("icm", "alpha_expansion", "belief_propagation", "tree_reweighted", "exact"):
        pc.solve(scene, name, seconds=10, go_on=False)  # kernels
        found = pc.solve(scene, name, seconds=10, go_on=False)
        solutions.append(found)
        print(f"{name:20} energy {found.energy:9.3f}  bound {found.lower_bound:9.3f}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return
    pc.plot_trace(solutions, "energy_over_time-1.png", title="400 nodes, 21 labels")


if __name__ == "__main__":
    main()
