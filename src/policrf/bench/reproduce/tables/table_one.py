"""Table 1: energies and rewards of labeling three fully connected nodes, term by term."""

from __future__ import annotations

import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import Tables
from policrf.evaluation.tables import Table
from policrf.mdp.state import Episode

PAIRS = ((0, 1), (1, 2), (0, 2))


def three_nodes(seed: int = 4) -> CRF:
    """A term on each node, each pair and all three, two labels, drawn at random."""
    rng = np.random.default_rng(seed)
    unary, pairs = rng.normal(size=(3, 2)), rng.normal(size=(3, 2, 2))
    triple = rng.normal(size=(1, 2, 2, 2))
    return CRF(unary, Tables(PAIRS, pairs), Tables([[0, 1, 2]], triple))


def table_one() -> Table:
    """One row a step, for the labels that are best step by step."""
    terms = (
        "f1(y1)",
        "f1(y1) + f2(y2) + f12(y1, y2)",
        "all nodes, f12 + f23 + f13, f123",
    )
    crf = three_nodes()
    episode, before, rows = Episode(crf), 0.0, []
    for node, added in enumerate(terms):
        energies = [_energy_with(episode, node, label) for label in range(2)]
        label = int(np.argmin(energies))
        earned = episode.step(node, label)
        rows.append((
            node + 1, node + 1, added, label, episode.energy, energies[1 - label],
            earned["difference"], int(earned["sign"]),
        ))  # fmt: skip
        assert np.isclose(before - episode.energy, earned["difference"])
        before = episode.energy
    columns = (
        "t", "i_t", "E_t", "label", "E_t, value", "E_t of the other label", "r_t = E_{t−1} − E_t",
        "r_t = ±1",
    )  # fmt: skip
    total = sum(row[6] for row in rows)
    note = (
        f"Three fully connected nodes, two labels, terms drawn at random. The rewards of the first "
        f"scheme sum to {total:.4g} = −E(ŷ), and E(ŷ) is {crf.energy(episode.labels):.4g}."
    )
    return Table("Table 1: energy and reward of three fully connected nodes", columns, tuple(rows),
                 note)  # fmt: skip


def _energy_with(episode: Episode, node: int, label: int) -> float:
    """E_t if the node had this label."""
    episode.step(node, label)
    energy = episode.energy
    episode.undo()
    return energy
