"""Which energy a policy was learned under, for its file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from policrf.crf.instance import Instance
from policrf.crf.io.json_text import as_json
from policrf.crf.model import CRF


def energy_weights(instances: Sequence[Instance | CRF]) -> dict[str, Any]:
    """The weights that prepared data is under; nothing for other data."""
    energy: Any = getattr(instances, "energy", None)
    if energy is None:
        return {}
    return {"weights": as_json(energy.as_dict(), infinity="inf")}
