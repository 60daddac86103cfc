"""What a shipped policy says of itself: its goal, its data, how it was made, what it reached.

A card is part of a policy's file (`training["card"]`); `policrf policies` shows it. Figures are
taken from the table of fresh instances that decided whether the policy ships.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from policrf.errors import InvalidFile
from policrf.policy.policy import Policy

GOALS = ("labels", "energy")


@dataclass(frozen=True)
class Card:
    """What to know before a policy is used."""

    goal: str
    """"labels": close to the truth; "energy": low energies."""
    data: str
    """What it was trained on."""
    command: str
    """The command that trained it."""
    seed: int
    """Of the training."""
    figures: tuple[str, ...]
    """What it reached on fresh instances, less the untrained rule."""
    limits: str
    """Where it should not be used."""
    energy: str = ""
    """Weights of the energy of its data; empty for scenes, whose generator draws them."""

    def __post_init__(self) -> None:
        if self.goal not in GOALS:
            raise InvalidFile(f"the goal of a card is {self.goal!r:.40}; it must be one of {GOALS}")

    def as_dict(self) -> dict[str, Any]:
        """Values that JSON can hold."""
        return asdict(self) | {"figures": list(self.figures)}

    def __str__(self) -> str:
        lines = [
            f"goal     {self.goal}",
            f"data     {self.data}",
            f"energy   {self.energy or 'as the scenes are drawn'}",
            f"command  {self.command}",
            f"seed     {self.seed}",
            f"limits   {self.limits}",
            "on fresh instances, less the untrained rule:",
        ]
        return "\n".join([*lines, *(f"  {figure}" for figure in self.figures)])


def card_of(policy: Policy) -> Card | None:
    """The policy's card; None if it has none."""
    found = policy.training.get("card")
    if found is None:
        return None
    if not isinstance(found, dict) or set(found) | {"energy"} != set(Card.__dataclass_fields__):
        raise InvalidFile(f"policy {policy.name!r}: its card is damaged")
    return Card(**found | {"figures": tuple(map(str, found["figures"]))})
