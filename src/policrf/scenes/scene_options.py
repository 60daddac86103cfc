"""What a scene may be asked for; each mistake is one clear sentence."""

from __future__ import annotations

import numpy as np

from policrf.errors import InvalidOption

FEWEST_NODES, MOST_NODES = 20, 100_000
GROUPS = ("u", "p", "hop1", "hop2")


def checked_integer(name: str, value: object, fewest: int) -> int:
    """The value, if it is an integer of at least `fewest`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InvalidOption(f"{name} must be an integer, not {value!r}")
    if value < fewest:
        raise InvalidOption(f"{name} must be at least {fewest}, not {value}")
    return int(value)


def checked_size(n_nodes: object) -> int:
    """N, if it is one that scenes have."""
    value = checked_integer("n_nodes", n_nodes, FEWEST_NODES)
    if value > MOST_NODES:
        raise InvalidOption(f"n_nodes must be at most {MOST_NODES}, not {value}")
    return value


def checked_groups(potentials: object) -> tuple[str, ...]:
    """The groups named by "u+p+hop1+hop2", given in any order; the unary is always one of them."""
    names = [name.strip() for name in potentials.split("+")] if isinstance(potentials, str) else []
    if len(set(names)) != len(names) or not set(names) <= set(GROUPS) or "u" not in names:
        raise InvalidOption(
            f"potentials is {potentials!r}; give 'u' and any of 'p', 'hop1', 'hop2' once each, "
            "joined by '+'"
        )
    return tuple(group for group in GROUPS if group in names)
