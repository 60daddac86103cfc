"""How long a synthetic scene takes at every size: python benchmarks/scenes.py"""

from __future__ import annotations

import time

from policrf.scenes import make_scene, render_scene

SIZES = (20, 250, 1000, 10_000, 100_000)


def best_seconds(function, *arguments, repeats: int) -> float:
    seconds = []
    for seed in range(repeats):
        start = time.perf_counter()
        function(*arguments, seed=seed)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    print("| nodes | make_scene (ms) | render_scene (ms) |\n|---|---|---|")
    for size in SIZES:
        repeats = 20 if size <= 1000 else 3
        fast = best_seconds(make_scene, size, "B", repeats=repeats)
        rendered = best_seconds(render_scene, size, "B", repeats=min(repeats, 3))
        print(f"| {size} | {1e3 * fast:.1f} | {1e3 * rendered:.1f} |", flush=True)


if __name__ == "__main__":
    main()
