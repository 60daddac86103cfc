"""Claims on models beyond enumeration, against plain toulbar2: whole costs, so that it is exact.

toulbar2 gets the terms as they were drawn, past everything of this package.
"""

import importlib.util

import numpy as np
import pytest

import policrf as pc

needs_toulbar2 = pytest.mark.skipif(
    importlib.util.find_spec("pytoulbar2") is None, reason="pytoulbar2 is not installed"
)

UNITS = (1.0, 1.0, 2.0**40, 2.0**-40)  # powers of two: sums stay exact
FORBIDDEN = 10**9
SOLVERS = ("exact", "exact:backend=highs", "auto", "tree_reweighted", "belief_propagation")
SLOWER = ("exact:backend=toulbar2", "dual_decomposition:iterations=60", "refine")


def whole_terms(rng):
    """(nodes, whole costs) for every term; np.inf forbids. One to three parts, of equal labels."""
    n_labels, first = int(rng.integers(2, 5)), 0
    terms, highest = [], int(rng.choice([1, 3, 20, 1000]))
    for _ in range(int(rng.integers(1, 4))):
        size = int(rng.integers(6, 20))
        nodes = np.arange(first, first + size)
        terms += [((int(i),), _costs(rng, highest, n_labels, 1)) for i in nodes]
        for _ in range(int(rng.integers(size, 3 * size))):
            order = 2 if rng.random() < 0.9 else 3
            scope = tuple(int(i) for i in rng.choice(nodes, order, replace=False))
            terms.append((scope, _costs(rng, highest, n_labels, order)))
        first += size
    return first, n_labels, terms


def _costs(rng, highest, n_labels, order):
    costs = rng.integers(0, highest + 1, (n_labels,) * order).astype(np.float64)
    if order > 1 and rng.random() < 0.15:
        costs[rng.random(costs.shape) < 0.3] = np.inf
    return costs


def as_crf(n_nodes, n_labels, terms, unit):
    unary = np.zeros((n_nodes, n_labels))
    groups = []
    for order in (2, 3):
        chosen = [term for term in terms if len(term[0]) == order]
        if chosen:
            nodes, tables = zip(*chosen, strict=True)
            groups.append(pc.Tables(np.array(nodes), unit * np.stack(tables)))
    for scope, costs in terms:
        if len(scope) == 1:
            unary[scope[0]] += unit * costs
    return pc.CRF(unary, *groups)


def minimum_by_toulbar2(n_nodes, n_labels, terms):
    """A whole number; None if every labeling is forbidden."""
    import pytoulbar2

    problem = pytoulbar2.CFN(FORBIDDEN)
    for i in range(n_nodes):
        problem.AddVariable(f"x{i}", range(n_labels))
    for scope, costs in terms:
        whole = np.where(np.isinf(costs), FORBIDDEN, costs).astype(int)
        problem.AddFunction(list(scope), whole.ravel().tolist())
    answer = problem.Solve()
    return None if answer is None else round(answer[1])


def check(seed, solvers):
    rng = np.random.default_rng(seed)
    n_nodes, n_labels, terms = whole_terms(rng)
    unit = float(rng.choice(UNITS))
    lowest = minimum_by_toulbar2(n_nodes, n_labels, terms)
    crf = as_crf(n_nodes, n_labels, terms, unit)
    for solver in solvers:
        name = (seed, solver)
        solution = pc.solve(crf, solver)
        if lowest is None:
            assert solution.energy == np.inf, name
            continue
        assert not solution.info.get("infeasible"), name
        assert solution.energy >= unit * lowest, name
        assert solution.lower_bound <= unit * lowest, name
        assert all(line.lower_bound <= unit * lowest for line in solution.trace), name
        if solution.optimal:
            assert solution.energy == unit * lowest, name
        if solver == "exact":
            assert solution.optimal, name


@needs_toulbar2
def test_claims_agree_with_plain_toulbar2():
    for seed in range(8):
        check(seed, SOLVERS)


@needs_toulbar2
@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 600, 100))
def test_claims_agree_with_plain_toulbar2_on_hundreds_of_models(first):
    for seed in range(first, first + 100):
        check(seed, SOLVERS if seed % 4 else SOLVERS + SLOWER)
