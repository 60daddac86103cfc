"""Policies for prepared images, a size and an energy at a time: train each, then compare on val.

    python benchmarks/learning_voc.py tables/voc --net half --sizes 50 250 500
    python benchmarks/learning_voc.py tables/mots --net full --sizes 2000 --name learning-mots

The folder is one that `segmentation_table.py` has prepared and calibrated. Everything is trained by
`policrf train` on the train split and stays in FOLDER/policies; a run that is finished is not begun
again. The last weights are taken: nothing is chosen on val. A table for every size and energy goes
to --out, and one that sets the policy against the best solver of each column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import tyro
from command import run as policrf
from learning_table import Config as TableConfig
from learning_table import measure

from policrf.evaluation.tables import Table, write_tables

KINDS = ("u", "u+p", "u+p+hop1", "u+p+hop1+hop2")
SOLVERS = (
    "unary", "icm", "highest_confidence_first", "alpha_expansion", "belief_propagation",
    "tree_reweighted", "dual_decomposition", "mean_field", "lazy_flipper", "refine",
)  # fmt: skip
DQN = (
    "--kind", "residual", "--balance", 0, "--teacher", "alpha_expansion",
    "--learning-rate", 3e-4, "--learning-rate-final", 3e-5, "--epsilon", 0.9, "--epsilon-final", 1,
    "--episodes", 8, "--batch", 64,
)  # fmt: skip
FEATURES = "paper+appearance"


@dataclass(frozen=True)
class Config:
    folder: Annotated[Path, tyro.conf.Positional]
    """Work folder of segmentation_table.py."""
    net: str = "half"
    sizes: tuple[int, ...] = (50, 250, 500)
    kinds: tuple[str, ...] = KINDS
    rounds: int = 60
    seconds: float = 2.0
    """Limit of a solver."""
    solvers: tuple[str, ...] = SOLVERS
    seeds: int = 1
    """Policies a size and energy, by their seed."""
    supervised: bool = True
    """Also train and show the supervised baseline."""
    mcts: tuple[str, ...] = ()
    """Rewards with which to train policies by tree search too: sign, difference."""
    mcts_rounds: int = 20
    search: int = 0
    """Simulations of a tree search with each policy; 0: none."""
    out: Path = Path("benchmarks/results")
    name: str = "learning-voc"


def train(config: Config, method: str, size: int, kind: str, name: str, *options: object) -> str:
    """The path of the last weights of a run, trained unless it is finished."""
    run = config.folder / "policies" / name
    if not (run / "last.safetensors").exists():
        arguments = [
            "train", method, config.folder / f"{config.net}-{size}-train", "--energy",
            energy_of(config, size, kind), "--potentials", kind, "--features", FEATURES,
            "--out", run, *options,
        ]  # fmt: skip
        policrf(*arguments)
    return str(run / "last.safetensors")


def energy_of(config: Config, size: int, kind: str) -> Path:
    return config.folder / f"{config.net}-{size}-energy.{kind}.yaml"


def policies_of(config: Config, size: int, kind: str) -> list[str]:
    schedule = ("--rounds", config.rounds, "--decay-rounds", config.rounds)
    cell = f"{config.net}-{size}-{kind}"
    paths = ["untrained"]
    paths += [
        train(config, "dqn", size, kind, f"dqn-{cell}-{seed}", *DQN, *schedule, "--seed", seed)
        for seed in range(config.seeds)
    ]
    for reward in config.mcts:
        options = (
            "--reward", reward, "--kind", "residual", "--balance", 0, "--temperature", 0.025,
            "--learning-rate", 3e-4, "--learning-rate-final", 3e-5, "--episodes", 8,
            "--rounds", config.mcts_rounds, "--decay-rounds", config.mcts_rounds,
        )  # fmt: skip
        paths.append(train(config, "mcts", size, kind, f"mcts-{reward}-{cell}", *options))
    if config.supervised:  # does not look at the energy: one for all kinds
        paths.append(
            train(config, "supervised", size, KINDS[-1], f"supervised-{config.net}-{size}",
                  "--rounds", 60)
        )  # fmt: skip
    return paths


def versus(table: Table, size: int, kind: str, solvers: tuple[str, ...]) -> list[tuple]:
    """Rows of the comparison: each policy beside the best solver of every column."""
    rows = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    columns = ("IoU (sp)", "IoU (p)", "IoU (p), frequent")
    best = [max(rows[name][column] for name in solvers) for column in columns]
    energy = rows["alpha_expansion"]["energy"]
    out = [(size, kind, "best solver of each column", *best, 0.0, rows["alpha_expansion"]["gap %"])]
    for name, row in rows.items():
        if name not in solvers or name == "alpha_expansion":
            above = 100 * (row["energy"] / energy - 1)
            out.append(
                (size, kind, name, *(row[column] for column in columns), above, row["gap %"])
            )
    return out


def main(config: Config) -> None:
    tables, summary = [], []
    for size in config.sizes:
        for kind in config.kinds:
            settings = TableConfig(
                data=(str(config.folder / f"{config.net}-{size}-val"),), count=0,
                policies=tuple(policies_of(config, size, kind)), solvers=config.solvers,
                seconds=config.seconds, energy=energy_of(config, size, kind), potentials=kind,
                features=FEATURES, search=config.search,
            )  # fmt: skip
            tables.append(measure(settings, settings.data[0]))
            tables[-1].show()
            summary += versus(tables[-1], size, kind, config.solvers)
    columns = (
        "N", "energy", "labels of", "IoU (sp)", "IoU (p)", "IoU (p), frequent",
        "mean energy above alpha_expansion, %", "gap %",
    )  # fmt: skip
    compared = Table("Policies against the best solver of each column", columns, tuple(summary))
    compared.show()
    # Paths of this machine say nothing to a reader.
    told = replace(config, folder=Path(config.folder.name))
    write_tables(config.out, config.name, [compared, *tables], told)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
