"""Small models made to break proofs: numbers that rounding confuses, in structures that hide it.

Numbers: decimals whose sums are nearly equal (0.1 + 0.2 and 0.3), neighbours in floating point,
thirds, whole numbers, all equal, all zero, costs from 1e-12 to 1e12 in one term, huge costs that
another term takes back. Structures: parts that are lowest everywhere at one labeling, tables that
cancel, tables shared by edges with weights of both signs, one scope many times, quotas, counts,
label costs, robust Potts, forbidden labels in unaries and in tables, labels that are the same.
"""

import numpy as np
from tests.solvers.proofs.claim_models import joined

import policrf as pc

DECIMALS = np.array(
    [0.0, 0.1, 0.2, 0.3, 0.1 + 0.2, 0.7, 0.1 * 7, 0.6, 0.1 * 6, 1.1, 1.1 + 2.2, 3.3]
)
NUMBERS = ("decimals", "signed", "whole", "wild", "thirds", "equal", "zero", "neighbours", "normal")
STRUCTURES = (
    "pairs", "triples", "shared", "edges", "cancelling", "repeated", "lowest", "agreement",
    "support", "label_cost", "counts", "robust", "together",
)  # fmt: skip
FORBIDDEN = (0.0, 0.0, 0.1, 0.35)


def adversarial_model(seed):
    """One to three independent parts, each with numbers and structures of its own."""
    rng = np.random.default_rng([seed, 20_26])
    n_labels = int(rng.integers(2, 4))
    left = 9 if n_labels == 2 else 6
    parts = []
    while left > 0 and len(parts) < 3:
        size = int(rng.integers(1, left + 1))
        parts.append(Part(rng, size, n_labels).crf())
        left -= size
    return joined(parts)


def numbers(rng, kind, shape):
    """Costs of a kind."""
    if kind == "decimals":
        return rng.choice(DECIMALS, shape)
    if kind == "signed":
        return rng.choice(DECIMALS, shape) * rng.choice([-1.0, 1.0], shape)
    if kind == "whole":
        return rng.integers(-3, 4, shape).astype(float)
    if kind == "wild":
        return rng.normal(size=shape) * 10.0 ** rng.integers(-12, 13, shape)
    if kind == "thirds":
        return rng.integers(-6, 7, shape) / 3.0
    if kind == "equal":
        return np.full(shape, float(rng.choice(DECIMALS)))
    if kind == "neighbours":
        return 1.0 + rng.integers(-3, 4, shape) * 2.0**-52
    return np.zeros(shape) if kind == "zero" else rng.normal(size=shape)


class Part:
    """Groups over a few nodes, in the making."""

    def __init__(self, rng, size, n_labels):
        self.rng, self.size, self.n_labels = rng, size, n_labels
        self.scale = 10.0 ** float(rng.choice([0, 0, 0, -12, 12, 6]))
        self.kind = str(rng.choice(NUMBERS))
        self.forbidden = float(rng.choice(FORBIDDEN))

    def crf(self):
        """Unaries of one kind, one to four structures, each of the part's kind or of another."""
        rng = self.rng
        unary = self.costs((self.size, self.n_labels))
        if rng.random() < 0.3:
            unary[:, :] = unary[0, 0] if np.isfinite(unary[0, 0]) else 0.0
        if rng.random() < 0.2:
            unary[:, 1] = unary[:, 0]
        free = np.isinf(unary).all(axis=1)
        unary[free, 0] = 0.0
        chosen = rng.choice(STRUCTURES, int(rng.integers(1, 5)))
        groups = [group for name in chosen for group in self.groups(str(name))]
        return pc.CRF(unary, *groups)

    def costs(self, shape, *, least=None, forbids=True):
        kind = str(self.rng.choice(NUMBERS)) if self.rng.random() < 0.25 else self.kind
        found = numbers(self.rng, kind, shape) * self.scale
        if least is not None:
            found = np.maximum(np.abs(found), least)
        if forbids:
            found[self.rng.random(shape) < self.forbidden] = np.inf
        return found

    def some_pairs(self):
        every = np.stack(np.triu_indices(self.size, 1), axis=1)
        return every[self.rng.random(len(every)) < 0.6]

    def cliques(self):
        count = int(self.rng.integers(1, 4))
        sizes = self.rng.integers(1, self.size + 1, count)
        return [self.rng.permutation(self.size)[:size] for size in sizes]

    def groups(self, name):
        """The groups of one structure; none where the part is too small for it."""
        pairs = self.some_pairs()
        if name in ("pairs", "shared", "edges", "cancelling", "repeated", "lowest"):
            return getattr(self, name)(pairs) if len(pairs) else []
        if name == "triples" and self.size < 3:
            return []
        return getattr(self, name)()

    def pairs(self, pairs):
        return [pc.Tables(pairs, self.costs((len(pairs), self.n_labels, self.n_labels)))]

    def shared(self, pairs):
        table = self.costs((self.n_labels, self.n_labels), forbids=False)
        weights = self.rng.choice([-1.0, 0.1, 0.3, 3.0, 1e-6], len(pairs))
        return [pc.Pairwise(pairs, table, weights)]

    def edges(self, pairs):
        return [pc.Potts(pairs, self.costs(len(pairs), forbids=False))]

    def cancelling(self, pairs):
        """A term and its opposite, and something small beside both."""
        tables = self.costs((len(pairs), self.n_labels, self.n_labels), forbids=False)
        tables = tables + 1e12 * self.scale
        small = self.costs(tables.shape)
        return [pc.Tables(pairs, tables), pc.Tables(pairs, -tables), pc.Tables(pairs, small)]

    def repeated(self, pairs):
        again = pairs[self.rng.integers(0, len(pairs), 4)]
        return [pc.Tables(again, self.costs((4, self.n_labels, self.n_labels)))]

    def lowest(self, pairs):
        """Every table lowest at one labeling."""
        best = self.rng.integers(0, self.n_labels, self.size)
        tables = np.abs(self.costs((len(pairs), self.n_labels, self.n_labels)))
        tables += float(self.rng.choice([0.0, 0.1])) * self.scale
        at = (np.arange(len(pairs)), best[pairs[:, 0]], best[pairs[:, 1]])
        tables[at] = float(self.rng.choice([0.0, -0.1])) * self.scale
        return [pc.Tables(pairs, tables)]

    def triples(self):
        scopes = [self.rng.permutation(self.size)[:3] for _ in range(2)]
        return [pc.Tables(scopes, self.costs((2, *[self.n_labels] * 3)))]

    def agreement(self):
        cliques = self.cliques()
        labels = self.rng.integers(0, self.n_labels, len(cliques))
        return [
            pc.BoxAgreement(cliques, labels, self.costs(len(cliques), least=0.0, forbids=False))
        ]

    def support(self):
        cliques = self.cliques()
        wanted = [self.rng.integers(0, len(clique) + 2) for clique in cliques]
        labels = self.rng.integers(0, self.n_labels, len(cliques))
        penalties = self.costs(len(cliques), least=0.0, forbids=False)
        return [pc.BoxSupport(cliques, labels, penalties, wanted)]

    def label_cost(self):
        return [pc.LabelCost(self.cliques(), self.costs(self.n_labels, least=0.0))]

    def counts(self):
        cliques = self.cliques()
        return [pc.CountFunction(cliques, self.costs((len(cliques), self.n_labels, self.size + 1)))]

    def robust(self):
        cliques = self.cliques()
        own = self.costs(self.n_labels, least=0.0, forbids=False)
        most = own.max() + self.costs(len(cliques), least=0.1 * self.scale, forbids=False)
        return [pc.RobustPotts(cliques, most, self.rng.integers(1, 4, len(cliques)), own)]

    def together(self):
        half = np.triu(self.costs((self.n_labels, self.n_labels), least=0.0), 1)
        half[np.tril_indices(self.n_labels)] = 0.0
        return [pc.CoOccurrence(self.cliques(), half + half.T)]
