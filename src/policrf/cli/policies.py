"""`policrf policies [NAME]`: the policies that ship, their goals, and what they reached."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated

import tyro


@dataclass(frozen=True)
class Config:
    """List the policies that ship with the package, or show the card of one."""

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[NAME]")] = ""
    """A policy's name or file, to show its whole card; all that ship if not given."""
    json: bool = False
    """Print JSON instead of text."""


def run(config: Config) -> None:
    """Print the list, or the card."""
    from policrf.policy.card import card_of
    from policrf.policy.checkpoint import list_policies, load_policy

    found = [load_policy(name) for name in ([config.name] if config.name else list_policies())]
    cards = {policy.name: card_of(policy) for policy in found}
    if config.json:
        print(json.dumps({name: card and card.as_dict() for name, card in cards.items()}))
        return
    for policy in found:
        card = cards[policy.name]
        print(policy)
        if card is None:
            print("  no card: nothing is known of what it reaches")
        elif config.name:
            print(card)
        else:
            print(f"  goal {card.goal}; {card.figures[0]}")
    if not config.name:
        print("policrf policies NAME shows how it was made, all figures and limits")
