"""Write src/policrf/ahead/kernel_plan.json: which kernels solvers need, in which order.

    python scripts/kernel_plan.py            after a change of what kernels take

Each solver solves small models in a process of its own, which notes every kernel that it loads or
compiles, with its types and the size of what numba keeps of it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from policrf.ahead.foreman import JOBS
from policrf.ahead.plan import FILE, shape_of
from policrf.ahead.type_texts import Tuples, UnknownType, to_text
from policrf.policy.checkpoint import load_policy

PLAN = Path(__file__).resolve().parents[1] / "src" / "policrf" / "ahead" / FILE
SOLVERS = (
    "auto", "refine", "untrained", "exact", "tree_reweighted", "alpha_expansion", "annealing",
    "belief_propagation", "dual_decomposition", "highest_confidence_first", "icm", "lazy_flipper",
    "lns", "mean_field", "fusion", "alpha_beta_swap",
)  # fmt: skip
POLICIES = ("labels", "synthetic-50")


def models() -> list[Any]:
    """A scene first, which policies can see; then one of every other kind that users bring."""
    from policrf.bench.warmup import small_models
    from policrf.scenes import make_scene

    return [make_scene(60, "B", seed=0), *small_models()[1:]]


def record(solver: str, model: int, tuples: Tuples) -> dict[str, Any]:
    """What one solve asks for: rows of kernels, in order; size 0 where one was not on disk."""
    from policrf import kernel_cache
    from policrf.errors import PolicrfError
    from policrf.solvers import solve

    problem, rows, sizes = models()[model], [], [0]
    load, read = kernel_cache._KernelCache.load_overload, kernel_cache._SealedFile._load_data

    def noted(self: Any, signature: Any, context: Any) -> Any:
        sizes.append(0)
        found = load(self, signature, context)
        name = f"{self._py_func.__module__}:{self._py_func.__qualname__}"
        with suppress(UnknownType):
            texts = [to_text(kind, tuples) for kind in signature]
            rows.append([name, texts, round(sizes[-1] / 1e6, 3)])
        return found

    def sized(self: Any, name: str) -> Any:
        sizes[-1] = os.path.getsize(self._data_path(name))
        return read(self, name)

    kernel_cache._KernelCache.load_overload = noted  # type: ignore[method-assign]
    kernel_cache._SealedFile._load_data = sized  # type: ignore[method-assign]
    try:
        solve(problem, solver)
    except PolicrfError:  # a model that it does not take
        rows.clear()
    return {"shape": shape_of(getattr(problem, "crf", problem)), "rows": rows, "tuples": tuples}


def recorded(solver: str, model: int, tuples: Tuples) -> dict[str, Any]:
    """The same in a process of its own; once more if it had to compile."""
    command = [sys.executable, __file__, solver, str(model)]
    for _ in range(2):
        found: dict[str, Any] = json.loads(
            subprocess.run(
                command, input=json.dumps(tuples), capture_output=True, text=True, check=True,
                env=os.environ | {JOBS: "1"},
            ).stdout
        )  # fmt: skip
        if all(size for *_, size in found["rows"]):
            break
    return found


def main() -> None:
    """All solvers on all models."""
    tuples: Tuples = {}
    kernels: dict[str, list[Any]] = {}
    orders: dict[str, dict[str, list[int]]] = {}
    for solver in (*SOLVERS, *POLICIES):
        key = f"policy {load_policy(solver).spec.kind}" if solver in POLICIES else solver
        for model in range(1 if solver in POLICIES else len(models())):
            found = recorded(solver, model, tuples)
            tuples = found["tuples"]
            for row in found["rows"]:
                kernels.setdefault(json.dumps(row[:2]), row)
            places = {text: place for place, text in enumerate(kernels)}
            if found["rows"]:
                order = [places[json.dumps(row[:2])] for row in found["rows"]]
                orders.setdefault(key, {}).setdefault(found["shape"], order)
        print(solver, {shape: len(order) for shape, order in orders.get(key, {}).items()})
    stored = {"tuples": tuples, "orders": orders, "kernels": list(kernels.values())}
    PLAN.write_text(json.dumps(stored) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(record(sys.argv[1], int(sys.argv[2]), json.load(sys.stdin))))
    else:
        main()
