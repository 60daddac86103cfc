"""What search costs and what it gains: python benchmarks/tree_search.py

Writes benchmarks/results/tree_search.md; scenes have seeds from 500,000,000.

Table 1: seconds of a labeling, greedy and with 20 simulations of depth 4 before every decision,
best of several in one run on one thread (processor seconds: other processes on the machine change
them little). The paper's own figures, another machine with a GPU, stand beside them.

Table 2: mean energy on U+P+HOP1+HOP2 scenes of regime B, greedy and with each way to search, and
how much a second of search lowers it; alpha-expansion with repair and refine for comparison.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import policrf as pc
from policrf.crf.io.files import atomic_write
from policrf.policy.engine import Engine
from policrf.search.search import SearchOptions, TreeSearch

SEED = 500_000_000
RESULTS = Path(__file__).parent / "results" / "tree_search.md"

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
    "search, exact tree": {"borrow": 0},
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


def policies(names, instance):
    """Stored ones by name or file; "residual" and "paper" are untrained ones of that kind."""
    n_labels, n_features = instance.crf.n_labels, instance.features.shape[1]
    return {
        name: pc.Policy.untrained(n_labels=n_labels, n_features=n_features, kind=name)
        if name in ("residual", "paper")
        else pc.load_policy(name)
        for name in names
    }


COSTED = ("search", "search, all 20 simulations", "R2 (sign)", "the paper's: R2, M1–M3")


def costs(names, sizes, repeats, say):
    cells = "".join(f" {way} (s) | × |" for way in COSTED)
    say(f"| policy | N | greedy (s) |{cells} the paper's figures (s) | × |")
    say("|---" * (5 + 2 * len(COSTED)) + "|")
    for name, policy in policies(names, pc.make_scene(20, "B")).items():
        for size in sizes:
            scene = pc.make_scene(size, "B", seed=SEED)
            count = repeats if size <= 2000 else 1
            searching(policy, pc.make_scene(20, "B"), SearchOptions())  # compiles
            greedy = min(greedily(policy, scene)[1] for _ in range(3 * repeats))
            both = [
                min(searching(policy, scene, SearchOptions(**WAYS[way]))[1] for _ in range(count))
                for way in COSTED
            ]
            theirs = PAPER.get(size)
            shown = f"{theirs[1]} | {theirs[1] / theirs[0]:.0f}" if theirs else "– | –"
            cells = " | ".join(f"{s:.4f} | {s / greedy:.1f}" for s in both)
            say(f"| {name} | {size} | {greedy:.4f} | {cells} | {shown} |")


def energies(policy, size, count, simulations, say):
    scenes = [pc.make_scene(size, "B", seed=SEED + k) for k in range(count)]
    greedily(policy, scenes[0])
    searching(policy, pc.make_scene(20, "B"), SearchOptions())  # compiles
    for name in ("alpha_expansion", "refine"):
        pc.solve(pc.make_scene(20, "B"), name)
    say(f"\n{count} scenes of regime B, N = {size}, {simulations} simulations, {policy!r}\n")
    say("| solver | energy | below greedy (%) | lowered / raised | seconds | energy a second |")
    say("|---|---|---|---|---|---|")
    found = [greedily(policy, scene) for scene in scenes]
    base = np.array([s.crf.energy(y) for s, (y, _) in zip(scenes, found, strict=True)])
    base_seconds = np.mean([seconds for _, seconds in found])
    say(show("greedy", base, base, base_seconds, base_seconds))
    for name, fields in WAYS.items():
        options = SearchOptions(simulations=simulations, **fields)
        runs = [searching(policy, scene, options) for scene in scenes]
        energy = np.array([s.crf.energy(run[0]) for s, run in zip(scenes, runs, strict=True)])
        say(show(name, energy, base, np.mean([run[1] for run in runs]), base_seconds))
    for name, options in (("alpha_expansion", {}), ("refine", {"start": policy})):
        start = time.process_time()
        solved = [pc.solve(scene, name, **options).energy for scene in scenes]
        seconds = (time.process_time() - start) / count
        say(show(name, np.array(solved), base, seconds, base_seconds))


def show(name, energy, base, seconds, base_seconds):
    gain = base.mean() - energy.mean()
    better, worse = int((energy < base - 1e-9).sum()), int((energy > base + 1e-9).sum())
    rate = gain / (seconds - base_seconds) if seconds > base_seconds else 0.0
    share = 100 * gain / abs(base.mean())
    return (
        f"| {name} | {energy.mean():.3f} | {share:.2f} | {better} / {worse} | {seconds:.4f} "
        f"| {rate:.3g} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    known = ["residual", "paper", "synthetic-50", "labels"]
    parser.add_argument("--policies", nargs="*", default=known, help="names, files, kinds")
    parser.add_argument("--sizes", type=int, nargs="*", default=[250, 1000, 10_000])
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--energy-size", type=int, default=100)
    parser.add_argument("--scenes", type=int, default=12)
    parser.add_argument("--simulations", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    lines = [
        "# Tree search: cost and gain",
        "",
        "Written by `python benchmarks/tree_search.py`.",
        "",
    ]

    def say(line):
        print(line, flush=True)
        lines.append(line)

    costs(options.policies, options.sizes, options.repeats, say)
    if options.scenes:
        for policy in policies(options.policies, pc.make_scene(20, "B")).values():
            energies(policy, options.energy_size, options.scenes, options.simulations, say)
    with atomic_write(options.out) as file:
        file.write("\n".join([*lines, ""]).encode())


if __name__ == "__main__":
    main()
