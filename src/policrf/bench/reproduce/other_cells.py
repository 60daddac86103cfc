"""The cells of run times, of robustness and of figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from policrf.bench.reproduce.catalogue import POLICY, Catalogue
from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.data_cells import own_size
from policrf.bench.reproduce.presets import FULL, TERMS, DataSet

TIMED = TERMS[1:]
SYNTHETIC = "synthetic:B"
DAMAGES = ("mislabeled", "dropped", "added")
HARDY = ("unary", "BP", "L-Flip", "α-Exp + repair", "untrained")  # rows beside the policies
POLICY_ROW = "DQN R2"
HARDY_POLICIES = ("DQN R1", POLICY_ROW)
FIGURES = (
    "rewards", "embeddings", "policy", "potentials", "cases", "learners", "curves-dqn",
    "curves-mcts", "robustness",
)  # fmt: skip


def timed_rows(catalogue: Catalogue) -> dict[str, Any]:
    """Row -> a solver's text; the policy's file stands in it as POLICY.

    Both ways to decide have the policy of Q-learning under R2: searching takes as long with it as
    with one that self-play has learned, whose network has the same sizes.
    """
    preset = catalogue.preset
    rows: dict[str, Any] = dict(preset.solvers) | {"α-Exp + repair": "alpha_expansion"}
    for row in (POLICY_ROW, "MCTS R2"):
        rows[row.split()[0]] = preset.learners[row].row(POLICY)
    return rows


def timing(catalogue: Catalogue, source: DataSet | str, size: int, terms: str) -> Cell:
    """All rows, one after the other, on the same instances."""
    preset = catalogue.preset
    found = preset.data_sets[0]
    about: dict[str, Any] = {
        "rows": timed_rows(catalogue), "terms": terms, "repeats": preset.repeats,
        "images": preset.timed_images, "seconds": preset.timed_seconds, "size": size,
        "features": preset.features_of(found),
    }  # fmt: skip
    if isinstance(source, str):
        policy = catalogue.policy_of_scenes(source, found.learned_at, POLICY_ROW)
        needs = {"policy": policy}
        return Cell("time", f"{source} {size} {terms}", about | {"scenes": source}, needs)
    needs = {
        "data": catalogue.data.prepared(source, source.test, size, preset.timed_images),
        "energy": catalogue.data.energies(source, own_size(source, size)),
        "policy": catalogue.policy(source, source.learned_at, FULL, POLICY_ROW),
    }
    return Cell("time", f"{source.name} {size} {terms}", about, needs)


def timings(catalogue: Catalogue) -> Iterator[tuple[str, int, str, Cell]]:
    """Table 4: source, number of nodes, energy and cell."""
    found = catalogue.preset.data_sets[0]
    for source in (found, SYNTHETIC):
        name = source if isinstance(source, str) else source.name
        for size in catalogue.preset.timed_sizes:
            if catalogue.asked.wants(size):
                for terms in TIMED:
                    yield name, size, terms, timing(catalogue, source, size, terms)


def damages(catalogue: Catalogue) -> list[dict[str, Any]]:
    """What is done to boxes and weights; the first is nothing."""
    preset = catalogue.preset
    found: list[dict[str, Any]] = [{}]
    found += [{kind: share} for kind in DAMAGES for share in preset.damages]
    return found + [{"weights": factor} for factor in preset.factors]


def robustness(catalogue: Catalogue) -> Iterator[tuple[dict[str, Any], str, Cell]]:
    """What is damaged, row and cell."""
    found, size = catalogue.shown()
    for damage in damages(catalogue):
        for row in HARDY:
            yield damage, row, catalogue.solver(found, size, FULL, row, damage)
        for row in HARDY_POLICIES:
            yield damage, row, catalogue.learned(found, size, FULL, row, damage=damage)


def figure(catalogue: Catalogue, name: str) -> Cell:
    """The cell of a figure."""
    found, size = catalogue.shown()
    needs = _figure_needs(catalogue, name)
    features = catalogue.preset.features_of(found)
    about: dict[str, Any] = {"figure": name, "terms": FULL, "features": features}
    if name == "robustness":
        about["lines"] = [[damage, row] for damage, row, _ in robustness(catalogue)]
    if name == "rewards":
        about["actions"] = catalogue.preset.actions
    return Cell("figure", f"{name} {found.name} {size}", about, needs)


def _figure_needs(catalogue: Catalogue, name: str) -> dict[str, Cell]:
    found, size = catalogue.shown()
    data = {
        "data": catalogue.data.prepared(found, found.test, size),
        "energy": catalogue.data.energies(found, size),
    }
    if name == "potentials":
        for terms in TERMS:
            data[f"score {terms}"] = catalogue.learned(found, size, terms, POLICY_ROW)
            data[f"policy {terms}"] = catalogue.policy(found, size, terms, POLICY_ROW)
    elif name in ("cases", "learners"):
        rows = [row for row in catalogue.rows(FULL) if row not in ("unary", "untrained", "exact")]
        data |= {f"solver {row}": catalogue.solver(found, size, FULL, row) for row in rows}
        for row in ("DQN R2", "MCTS R2") if name == "learners" else ("DQN R2",):
            data[f"score {row}"] = catalogue.learned(found, size, FULL, row)
            data[f"policy {row}"] = catalogue.policy(found, size, FULL, row)
    elif name == "robustness":
        cells = [cell for *_, cell in robustness(catalogue)]
        return {f"score {k}": cell for k, cell in enumerate(cells)}
    elif name.startswith("curves"):
        for row, learner in catalogue.preset.learners.items():
            if name.endswith(learner.method):
                for seed in catalogue.preset.seeds_at(size):
                    cell = catalogue.policy(found, size, FULL, row, seed)
                    data[f"{row} seed {seed}"] = cell
    else:
        data["policy"] = catalogue.policy(found, size, FULL, POLICY_ROW)
    return data


def figures(catalogue: Catalogue) -> list[Cell]:
    """All of them."""
    return [figure(catalogue, name) for name in FIGURES]


def wanted(catalogue: Catalogue, target: str) -> list[Cell]:
    """The cells of a table, of the figures, of the robustness, or of all."""
    made: dict[str, Callable[[], list[Cell]]] = {
        "table1": list,
        "table2": catalogue.table2,
        "table3": catalogue.table3,
        "table4": lambda: [cell for *_, cell in timings(catalogue)],
        "figures": lambda: figures(catalogue),
        "robustness": lambda: [cell for *_, cell in robustness(catalogue)],
    }
    names = list(made) if target == "all" else [target]
    return [cell for name in names for cell in made[name]()]
