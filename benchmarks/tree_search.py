"""What search costs and what it gains: python benchmarks/tree_search.py [--policy FILE]

Table 1: seconds of a labeling, greedy and with 20 simulations of depth 4 before every decision,
best of several in one run on one thread (processor seconds: other processes on the machine change
them little). The paper's own figures, another machine with a GPU, stand beside them.

Table 2: mean energy on U+P+HOP1+HOP2 scenes of regime B, greedy and with each way to search, and
how much a second of search lowers it; alpha-expansion with repair and refine for comparison.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import policrf as pc
from policrf.policy.engine import Engine
from policrf.search.search import SearchOptions, TreeSearch

# Table 4 of the paper, U+P+HOP1+HOP2: seconds of DQN (greedy) and of MCTS.
PAPER = {250: (0.22, 3.01), 1000: (0.78, 22.8), 2000: (1.72, 46.2), 10_000: (8.20, 210.3)}

# "search" is the default: shaped reward, c = 0.6, T = 0.1, no encouraged sets, early stop.
PAPERS_WAY = {"encourage": True, "temperature": 1.0, "exploration": 1.0, "stop_early": False}
WAYS = {
    "search": {},
    "search, all 20 simulations": {"stop_early": False},
    "search, c = 1": {"exploration": 1.0},
    "search, depth 2, c = 2": {"depth": 2, "exploration": 2.0},
    "search, gumbel": {"root": "gumbel"},
    "R2 (sign)": {"reward": "sign", "exploration": 1.0},
    "R1 (difference)": {"reward": "difference", "exploration": 1.0},
    "the paper's: R2, M1–M3": PAPERS_WAY | {"reward": "sign"},
    "the paper's: R1, M1–M3": PAPERS_WAY | {"reward": "difference"},
    "rollout": {"leaf": "rollout"},
    "rollout, gumbel, noise, 40 candidates": {
        "leaf": "rollout", "root": "gumbel", "gumbel_scale": 1.0, "candidates": 40,
    },
}  # fmt: skip


def greedily(policy, instance):
    seconds = float("inf")
    for _ in range(2):
        engine = Engine(policy, instance, track=False)
        start = time.process_time()
        labels = engine.label_all()[0]
        seconds = min(seconds, time.process_time() - start)
    return labels, seconds


def searching(policy, instance, options):
    search = TreeSearch(policy, instance, options)
    start = time.process_time()
    while search.remaining:
        search.decide(search.remaining)
    seconds = time.process_time() - start
    labels, energy = search.best_rollout
    decided = search.engine.labels
    if energy < instance.crf.energy(decided):
        decided = labels
    return decided, seconds, search.effort


def policies(path, instance):
    n_labels, n_features = instance.crf.n_labels, instance.features.shape[1]
    if path:
        return {path: pc.load_policy(path)}
    return {
        kind: pc.Policy.untrained(n_labels=n_labels, n_features=n_features, kind=kind)
        for kind in ("residual", "paper")
    }


def costs(path, sizes, repeats):
    print("| policy | N | greedy (s) | search (s) | × | R2 (s) | × | paper (s) | × |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, policy in policies(path, pc.make_scene(20, "B")).items():
        for size in sizes:
            scene = pc.make_scene(size, "B", seed=1)
            count = repeats if size <= 2000 else 1
            searching(policy, pc.make_scene(20, "B"), SearchOptions())  # compiles
            greedy = min(greedily(policy, scene)[1] for _ in range(3 * repeats))
            both = [
                min(searching(policy, scene, SearchOptions(**WAYS[way]))[1] for _ in range(count))
                for way in ("search", "R2 (sign)")
            ]
            theirs = PAPER.get(size)
            shown = f"{theirs[1]} | {theirs[1] / theirs[0]:.0f}" if theirs else "– | –"
            cells = " | ".join(f"{s:.4f} | {s / greedy:.1f}" for s in both)
            print(f"| {name} | {size} | {greedy:.4f} | {cells} | {shown} |", flush=True)


def energies(path, size, count, simulations):
    scenes = [pc.make_scene(size, "B", seed=5000 + k) for k in range(count)]
    policy = next(iter(policies(path, scenes[0]).values()))
    searching(policy, pc.make_scene(20, "B"), SearchOptions())  # compiles
    for name in ("alpha_expansion", "refine"):
        pc.solve(pc.make_scene(20, "B"), name)
    print(f"\n{count} scenes of regime B, N = {size}, {simulations} simulations, {policy!r}\n")
    print("| solver | energy | below greedy (%) | lowered / raised | seconds | energy a second |")
    print("|---|---|---|---|---|---|")
    found = [greedily(policy, scene) for scene in scenes]
    base = np.array([s.crf.energy(y) for s, (y, _) in zip(scenes, found, strict=True)])
    base_seconds = np.mean([seconds for _, seconds in found])
    show("greedy", base, base, base_seconds, base_seconds)
    for name, fields in WAYS.items():
        options = SearchOptions(simulations=simulations, **fields)
        runs = [searching(policy, scene, options) for scene in scenes]
        energy = np.array([s.crf.energy(run[0]) for s, run in zip(scenes, runs, strict=True)])
        show(name, energy, base, np.mean([run[1] for run in runs]), base_seconds)
    for name, options in (("alpha_expansion", {}), ("refine", {"start": policy})):
        start = time.process_time()
        solved = [pc.solve(scene, name, **options).energy for scene in scenes]
        show(name, np.array(solved), base, (time.process_time() - start) / count, base_seconds)


def show(name, energy, base, seconds, base_seconds):
    gain = base.mean() - energy.mean()
    better, worse = int((energy < base - 1e-9).sum()), int((energy > base + 1e-9).sum())
    rate = gain / (seconds - base_seconds) if seconds > base_seconds else 0.0
    share = 100 * gain / abs(base.mean())
    print(
        f"| {name} | {energy.mean():.3f} | {share:.2f} | {better} / {worse} | {seconds:.4f} "
        f"| {rate:.3g} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", help="a policy file or name; else untrained ones")
    parser.add_argument("--sizes", type=int, nargs="*", default=[250, 1000, 2000, 10_000])
    parser.add_argument("--energy-size", type=int, default=100)
    parser.add_argument("--scenes", type=int, default=20)
    parser.add_argument("--simulations", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if options.sizes:
        costs(options.policy, options.sizes, options.repeats)
    if options.scenes:
        energies(options.policy, options.energy_size, options.scenes, options.simulations)


if __name__ == "__main__":
    main()
