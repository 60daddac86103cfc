"""A graph network that reparametrises the labeling, a peer of the benchmark.

The idea is that of NeuroLifting (2024), the code is ours, from the paper's description: every node
has a free embedding, two rounds of messages between neighbours and a linear layer turn embeddings
into label probabilities, and Adam descends the expected energy of independent labels. Labels are
the most probable ones, the best of all that were looked at.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import Potts, Tables
from policrf.errors import UnsupportedPotential
from policrf.optional import need
from policrf.types import IntArray

WIDTH = 32  # of the embeddings
RATE = 0.02
LOOK_EVERY = 5  # steps between two labelings


def graph_network(crf: CRF, seconds: float, seed: int) -> IntArray:
    """The best labels that were found in `seconds`."""
    torch = need("torch", "torch", "learn")
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    began = time.perf_counter()
    terms = _terms(torch, crf)
    pairs = torch.as_tensor(_neighbours(crf))
    layers = torch.nn.ModuleList(
        [torch.nn.Linear(2 * WIDTH, WIDTH), torch.nn.Linear(2 * WIDTH, WIDTH)]
    )
    last = torch.nn.Linear(WIDTH, crf.n_labels)
    start = torch.nn.Parameter(torch.randn(crf.n_nodes, WIDTH) * 0.5)
    degree = torch.bincount(pairs[1], minlength=crf.n_nodes).clamp(min=1)[:, None]
    optimiser = torch.optim.Adam([start, *layers.parameters(), *last.parameters()], lr=RATE)
    best: IntArray = np.argmin(crf.unary, axis=1).astype(np.int64)
    least, step = np.inf, 0
    while time.perf_counter() - began < seconds:
        hidden = start
        for layer in layers:
            seen = torch.zeros_like(hidden).index_add(0, pairs[1], hidden[pairs[0]]) / degree
            hidden = hidden + torch.relu(layer(torch.cat([hidden, seen], dim=1)))
        share = torch.softmax(last(hidden), dim=1)
        loss = sum(term(share) for term in terms)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        step += 1
        if step % LOOK_EVERY == 0:
            labels = share.detach().argmax(dim=1).numpy().astype(np.int64)
            energy = crf.energy(labels)
            if energy < least:
                best, least = labels, energy
    return best


def _terms(torch: Any, crf: CRF) -> list[Any]:
    """Functions of label probabilities `[N, L]`: the expected energy of every group."""
    unary = torch.as_tensor(np.array(crf.unary), dtype=torch.float32)
    terms = [lambda share: (unary * share).sum()]
    for group in crf.potentials:
        if isinstance(group, Potts):
            terms.append(_potts(torch, group))
        elif isinstance(group, Tables) and len(set(group.cliques.sizes.tolist())) == 1:
            terms.append(_tables(torch, group, crf.n_labels))
        else:
            raise UnsupportedPotential(f"the graph network cannot take {group.name}")
    return terms


def _potts(torch: Any, group: Potts) -> Any:
    first, second = torch.as_tensor(np.array(group.edges)).T
    weights = torch.as_tensor(np.array(group.weights), dtype=torch.float32)
    return lambda share: (weights * (1 - (share[first] * share[second]).sum(dim=1))).sum()


def _tables(torch: Any, group: Tables, n_labels: int) -> Any:
    order = int(group.cliques.sizes[0])
    scopes = torch.as_tensor(np.array(group.cliques.nodes)).reshape(-1, order)
    values = np.array(group.values).reshape(len(group), *[n_labels] * order)
    tables = torch.as_tensor(values, dtype=torch.float32)

    def expected(share: Any) -> Any:
        rest = tables
        for member in reversed(range(order)):
            rest = torch.einsum("t...l,tl->t...", rest, share[scopes[:, member]])
        return rest.sum()

    return expected


def _neighbours(crf: CRF) -> IntArray:
    """Pairs of nodes that share a term, both ways `[2, …]`."""
    a = crf.arrays
    sizes = np.diff(a.clique_ptr)
    pairs = [np.array(a.edges).T.reshape(2, -1)]
    for c_size in np.unique(sizes):
        starts = a.clique_ptr[:-1][sizes == c_size]
        for m in range(int(c_size)):
            for n in range(m):
                pairs.append(np.stack([a.clique_nodes[starts + m], a.clique_nodes[starts + n]]))
    joined = np.concatenate(pairs, axis=1)
    return np.concatenate([joined, joined[::-1]], axis=1)
