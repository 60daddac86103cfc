"""The compiled energy that every solver and the learning share.

E(y) = Σ_i f_i(y_i) + Σ_ij w_ij [y_i ≠ y_j] + Σ_c f_c(y_c), and for a partial labeling (label −1 =
not labeled yet) the same sum over the terms whose nodes are all labeled (the paper's E_t), and
over what potentials that are asked half-way say of their labeled members.
"""

from __future__ import annotations

from policrf.compiled import inner, leaf
from policrf.crf.arrays import PARTIAL, TERM, Arrays
from policrf.crf.potentials import AGREE, COMPLETE, CUSTOM, SUPPORT, TABLE, TERM_NAMES
from policrf.crf.state import State
from policrf.crf.valued.clique_value import custom_clique_energy, partial_value
from policrf.crf.valued.value_changes import add_partial_costs
from policrf.types import FloatArray, IntArray

UNARY_TERM, PAIRWISE_TERM = TERM_NAMES.index("unary"), TERM_NAMES.index("pairwise")
N_TERMS = len(TERM_NAMES)


@inner
def clique_energy(a: Arrays, c: int, labels: IntArray) -> float:
    """f_c of a clique whose members are all labeled, from the labels alone."""
    start, stop = a.clique_ptr[c], a.clique_ptr[c + 1]
    kind = a.clique_kind[c]
    if kind == AGREE or kind == SUPPORT:
        matches = 0
        for m in range(start, stop):
            matches += labels[a.clique_nodes[m]] == a.clique_label[c]
        return counting_energy(a, c, matches)
    if kind == TABLE:
        return table_energy(a, c, labels)
    return custom_clique_energy(a, c, labels)


@inner
def table_energy(a: Arrays, c: int, labels: IntArray) -> float:
    """f_c of a TABLE clique whose members are all labeled."""
    at = a.data_start[c]
    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        at += a.clique_stride[m] * labels[a.clique_nodes[m]]
    return float(a.clique_weight[c] * a.data[at])


@inner
def counting_energy(a: Arrays, c: int, matches: int) -> float:
    """f_c of an AGREE or SUPPORT clique with `matches` members of its label."""
    if a.clique_kind[c] == AGREE:
        size = a.clique_ptr[c + 1] - a.clique_ptr[c]
        return float(a.clique_weight[c] * min(matches, size - matches))
    return float(a.clique_weight[c]) if matches < a.clique_count[c] else 0.0


@leaf
def energy_terms(a: Arrays, labels: IntArray, out: FloatArray) -> None:
    """Energy by term (`TERM_NAMES`), of the terms whose nodes are all labeled, into `out`."""
    out[:] = 0.0
    for i in range(len(a.unary)):
        if labels[i] >= 0:
            out[UNARY_TERM] += a.unary[i, labels[i]]
    for e in range(len(a.edges)):
        y, z = labels[a.edges[e, 0]], labels[a.edges[e, 1]]
        if y >= 0 and z >= 0 and y != z:
            out[PAIRWISE_TERM] += a.edge_weights[e]
    for c in range(len(a.clique_kind)):
        first = a.clique_ptr[c]
        if a.clique_kind[c] == TABLE and a.clique_ptr[c + 1] == first + 2:
            # Most tables are of two nodes: those of an image's pixels are to be read quickly.
            y, z = labels[a.clique_nodes[first]], labels[a.clique_nodes[first + 1]]
            if y >= 0 and z >= 0:
                at = a.data_start[c] + a.clique_stride[first] * y + a.clique_stride[first + 1] * z
                out[a.custom[c, TERM]] += a.clique_weight[c] * a.data[at]
                continue
        complete = True
        for m in range(first, a.clique_ptr[c + 1]):
            if labels[a.clique_nodes[m]] < 0:
                complete = False
                break
        if complete:
            out[a.custom[c, TERM]] += clique_energy(a, c, labels)
        elif a.custom[c, PARTIAL] != COMPLETE:
            out[a.custom[c, TERM]] += partial_value(a, c, labels)


@leaf
def label_costs(a: Arrays, s: State, i: int, out: FloatArray) -> None:
    """Sum of the terms of node i for each of its labels, given the other labeled nodes, into `out`.

    A term with another unlabeled node is left out, unless its clique is asked half-way: it counts
    with the change that the label makes, up to a constant where node i is labeled. `out[l]` is the
    energy that labeling an unlabeled node adds, `out[l] − out[y_i]` that of relabeling another.
    """
    n_labels = a.unary.shape[1]
    base = 0.0
    for label in range(n_labels):
        out[label] = a.unary[i, label]
    for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        y = s.labels[a.adj_node[k]]
        if y >= 0:
            base += a.adj_weight[k]
            out[y] -= a.adj_weight[k]
    own = s.labels[i]
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        size = a.clique_ptr[c + 1] - a.clique_ptr[c]
        kind = a.clique_kind[c]
        halfway = a.custom[c, PARTIAL] != COMPLETE
        if not halfway and s.labeled[c] - (own >= 0) != size - 1:
            continue
        if halfway or kind >= CUSTOM:
            add_partial_costs(a, s, i, c, a.node_entry[k], out)
        elif kind == AGREE or kind == SUPPORT:
            others = s.matches[c] - (own == a.clique_label[c])
            without = counting_energy(a, c, others)
            base += without
            out[a.clique_label[c]] += counting_energy(a, c, others + 1) - without
        else:
            add_table_costs(a, s.labels, i, c, a.node_entry[k], out)
    for label in range(n_labels):
        out[label] += base


@inner
def add_table_costs(
    a: Arrays, labels: IntArray, i: int, c: int, entry: int, out: FloatArray
) -> None:
    """Add the table's column for node i (at `entry` of the flat cliques), the others fixed."""
    at = a.data_start[c]
    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        if m != entry:
            at += a.clique_stride[m] * labels[a.clique_nodes[m]]
    for label in range(a.cardinalities[i]):
        out[label] += a.clique_weight[c] * a.data[at + a.clique_stride[entry] * label]
