"""hypothesis strategies: random CRFs and labelings for property tests."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from hypothesis import strategies as st

from policrf.crf.model import CRF
from policrf.testing.random_crf import GROUPS, random_crf


def crfs(
    *,
    max_nodes: int = 7,
    max_labels: int = 4,
    groups: Collection[str] = GROUPS,
    forbidden: float = 0.1,
) -> Any:
    """CRFs with a random subset of `groups`; some with forbidden labels or unequal sizes."""
    return st.builds(
        random_crf,
        st.integers(0, 2**32 - 1),
        n_nodes=st.integers(1, max_nodes),
        n_labels=st.integers(1, max_labels),
        groups=st.lists(st.sampled_from(sorted(groups)), unique=True) if groups else st.just(()),
        forbidden=st.sampled_from([0.0, forbidden]),
        ragged=st.booleans(),
        scale=st.sampled_from([1.0, 1e-3, 1e6]),
        partial=st.sampled_from(["complete", "lowest"]),
    )


def labelings(crf: CRF, *, partial: bool = False) -> Any:
    """Labelings of one CRF; with `partial`, some nodes are −1."""
    lowest = -1 if partial else 0
    return st.tuples(*(st.integers(lowest, int(card) - 1) for card in crf.cardinalities))
