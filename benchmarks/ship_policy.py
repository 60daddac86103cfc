"""Put a policy among those that ship, with its card, if its table says that it is good enough.

    python benchmarks/shipped_policies.py --policies runs/labels/best.safetensors=labels
    python benchmarks/ship_policy.py runs/labels/best.safetensors --name labels --goal labels \
        --data "..." --command "..." --limits "..."

Figures come from the files that the table's command wrote, under the policy's name there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import tyro

from policrf.policy.card import Card
from policrf.policy.checkpoint import load_policy

SHIPPED = Path(__file__).parent.parent / "src" / "policrf" / "pretrained"


@dataclass(frozen=True)
class Config:
    """The policy, and what its card says."""

    policy: tyro.conf.Positional[str]
    """Its name or file."""
    name: str
    goal: str
    data: str
    command: str
    limits: str
    table: Path = Path("benchmarks/results/shipped-policies.json")
    """What `shipped_policies.py` or `general_policy.py` wrote."""


def figures_of(config: Config, called: str) -> tuple[str, ...]:
    """The lines of the card; a policy that its table does not let pass ends the script."""
    summary, detail = (table["rows"] for table in json.loads(config.table.read_text())["tables"])
    if "verdict" in summary[0]:
        mine = [row for row in summary if (row["policy"], row["goal"]) == (called, config.goal)]
        if not mine or mine[0]["verdict"] != "ships":
            raise SystemExit(f"{called}: its table does not say that it ships for {config.goal}")
        first = "better than the untrained rule in {better} kinds of scenes, level in {level}"
        lines = [first.format(**mine[0]) + f", worse in {mine[0]['worse']}"]
        for row in detail:
            if (row["policy"], row["goal"]) == (called, config.goal):
                gain, lower = row["− untrained"], row["− untrained "]
                lines.append(f"{row['scenes']}: IoU {gain}, energy {lower}")
        return tuple(lines)
    if not summary[0]["below"] or summary[0]["above"]:
        raise SystemExit(f"{called}: its table does not say that it ships")
    first = "energy of {energy of}: below in {below}, level in {level}, above in {above} kinds"
    lines = [first.format(**row) for row in summary]
    for row in detail:
        lines.append(f"{row['instances']}: {row['energy, %']} %, after ICM {row['after ICM, %']} %")
    return tuple(lines)


def main(config: Config) -> None:
    policy = load_policy(config.policy)
    card = Card(
        goal=config.goal, data=config.data, command=config.command,
        seed=int(policy.training.get("seed", 0)), figures=figures_of(config, policy.name),
        limits=config.limits,
    )  # fmt: skip
    training = policy.training | {"card": card.as_dict()}
    replace(policy, name=config.name, training=training).save(
        SHIPPED / f"{config.name}.safetensors"
    )
    print(card)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
