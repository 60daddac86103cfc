"""What part each node has in the energy: the value of a term, in equal parts to its members."""

from __future__ import annotations

import numpy as np

from policrf.compiled import leaf
from policrf.crf.arrays import TERM, Arrays
from policrf.crf.energy import N_TERMS, PAIRWISE_TERM, UNARY_TERM, clique_energy
from policrf.crf.model import CRF
from policrf.crf.potentials import TERM_NAMES
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.types import FloatArray, IntArray


def node_shares(crf: CRF, labels: IntArray) -> dict[str, FloatArray]:
    """Of a labeling `[N]`: by term, the part of every node `[N]`; terms that are 0 are left out.

    >>> import policrf as pc
    >>> crf = pc.CRF([[0.0, 1.0], [3.0, 0.0]], pc.Potts([[0, 1]], 0.5))
    >>> {name: part.tolist() for name, part in node_shares(crf, [0, 1]).items()}
    {'pairwise': [0.25, 0.25]}
    """
    out = np.zeros((N_TERMS, crf.n_nodes))
    _add_shares(crf.arrays, crf.checked_labels(labels), out)
    raise_if_failed()
    return {name: out[k] for k, name in enumerate(TERM_NAMES) if out[k].any()}


@leaf
def _add_shares(a: Arrays, labels: IntArray, out: FloatArray) -> None:
    """The shares `[terms, N]`, added to `out`."""
    for i in range(len(labels)):
        out[UNARY_TERM, i] += a.unary[i, labels[i]]
    for e in range(len(a.edges)):
        i, j = a.edges[e, 0], a.edges[e, 1]
        if labels[i] != labels[j]:
            out[PAIRWISE_TERM, i] += a.edge_weights[e] / 2
            out[PAIRWISE_TERM, j] += a.edge_weights[e] / 2
    for c in range(len(a.clique_kind)):
        start, stop = a.clique_ptr[c], a.clique_ptr[c + 1]
        part = clique_energy(a, c, labels) / (stop - start)
        for m in range(start, stop):
            out[a.custom[c, TERM], a.clique_nodes[m]] += part
