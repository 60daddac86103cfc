"""Questions to expensive functions while training, and the answers that stand-ins learn from.

A question is a clique of a CRF with labels for its members; what is kept of it are the label
counts, the clique's size and own parameters, and the answer. Questions come from labelings of
training instances: before anything is learned random ones of several kinds (`spread_labelings`),
then those that the search with stand-ins ends in. Around every labeling its neighbours are asked
too, since search compares them: a member with another label, a label replaced by another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import Custom
from policrf.policy.stand_in.model import own_parameters
from policrf.solvers.call_limit import expensive_groups
from policrf.types import FloatArray, IntArray

NEIGHBOURS = 3  # of every clique of a labeling, one of each kind
KEPT = 60_000  # questions that are learned from, the latest


@dataclass
class Answers:
    """Of one function: counts `[S, L]`, sizes, own parameters and energies of S questions."""

    counts: list[IntArray] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    parameters: list[FloatArray] = field(default_factory=list)
    energies: list[float] = field(default_factory=list)
    calls: int = 0
    """Made so far, those whose answers were dropped too."""

    def add(self, group: Custom, clique: int, labels: IntArray, n_labels: int) -> float:
        """Ask about all members of a clique, or those with a label (≥ 0) of one asked half-way."""
        own = own_parameters(group)[clique]
        value = ask(group, labels, own, n_labels)
        self.calls += 1
        self.counts.append(np.bincount(labels[labels >= 0], minlength=n_labels))
        self.sizes.append(len(labels))
        self.parameters.append(own)
        self.energies.append(value)
        if len(self.energies) > 2 * KEPT:
            for column in (self.counts, self.sizes, self.parameters, self.energies):
                del column[:KEPT]
        return value


def ask(group: Custom, labels: IntArray, parameters: FloatArray, n_labels: int) -> float:
    """The function's answer for the labels `[k]` of all members of a clique."""
    if group.summary is not None:
        numbers = np.zeros(group.summary.size)
        for member, label in enumerate(labels.tolist()):
            group.summary.update(numbers, member, label, 1, parameters)
        return float(group.function(numbers, parameters))  # type: ignore[arg-type]
    if group.form == "counts":
        return float(group.function(np.bincount(labels, minlength=n_labels), parameters))
    return float(group.function(labels.copy(), parameters))


def ask_around(
    answers: dict[str, Answers], crf: CRF, labels: IntArray, rng: np.random.Generator
) -> float:
    """Ask every expensive clique about the labeling `[N]` and about some of its neighbours.

    Returns what the expensive groups say of the labeling itself.
    """
    total = 0.0
    for group in expensive_groups(crf):
        kept = answers.setdefault(str(group.function_name), Answers())
        ptr, nodes = group.cliques.ptr, group.cliques.nodes
        for c in range(len(group)):
            members = labels[nodes[ptr[c] : ptr[c + 1]]]
            total += kept.add(group, c, members, crf.n_labels)
            for near in _neighbours(members, crf.n_labels, rng):
                kept.add(group, c, near, crf.n_labels)
    return total


def calls_of(answers: dict[str, Answers]) -> int:
    """Calls of all functions so far."""
    return sum(kept.calls for kept in answers.values())


def calls_around(crf: CRF) -> int:
    """Calls that `ask_around` makes."""
    return (1 + NEIGHBOURS) * sum(len(group) for group in expensive_groups(crf))


def _neighbours(members: IntArray, n_labels: int, rng: np.random.Generator) -> Iterator[IntArray]:
    """One member relabeled, one label replaced, and some members that take a label at once."""
    single, replaced, several = members.copy(), members.copy(), members.copy()
    there = np.unique(members)
    single[rng.integers(len(members))] = rng.integers(n_labels)
    yield single
    replaced[members == rng.choice(there)] = rng.integers(n_labels)
    yield replaced
    some = rng.random(len(members)) < rng.random() * 0.4
    several[some] = rng.choice(there) if rng.random() < 0.5 else rng.integers(n_labels)
    yield several


def spread_labelings(
    crf: CRF, known: IntArray, count: int, rng: np.random.Generator
) -> Iterator[IntArray]:
    """Random labelings `[N]` of four kinds, a quarter each, `count` in all.

    Cheap labels at a random temperature; the best of a random few labels; what the known terms
    like, with a part of its nodes relabeled; labels with random shares.
    """
    n_nodes, n_labels = crf.unary.shape
    costs = np.where(np.isfinite(crf.unary), crf.unary, 1e9)
    for k in range(count):
        few = rng.choice(n_labels, int(rng.integers(1, n_labels + 1)), replace=False)
        heat = float(np.exp(rng.uniform(-3, 1)))
        noisy = costs + heat * rng.gumbel(size=costs.shape)
        if k % 4 == 0:
            labels = noisy.argmin(axis=1)
        elif k % 4 == 1:
            labels = few[costs[:, few].argmin(axis=1)]
        elif k % 4 == 2:
            labels = np.where(rng.random(n_nodes) < rng.random(), noisy.argmin(axis=1), known)
        else:
            shares = rng.dirichlet(np.full(n_labels, 0.3))
            labels = rng.choice(n_labels, n_nodes, p=shares)
        allowed = np.isfinite(crf.unary[np.arange(n_nodes), labels])
        yield np.where(allowed, labels, known).astype(np.int64)
