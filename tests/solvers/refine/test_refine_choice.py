"""Choice of clique moves: what is known of a move is true, and the lowest score is tried."""

import numpy as np
import pytest

import policrf as pc
from policrf.crf.changes import load_labels
from policrf.crf.state import new_state
from policrf.errors import InvalidOption
from policrf.random_numbers import new_generator
from policrf.scenes import make_family
from policrf.solvers.numbers import DEFAULT, KNOWN, Numbers
from policrf.solvers.refine.refine_anytime import Kinds, advance
from policrf.solvers.refine.refine_cliques import Drawn
from policrf.solvers.refine.refine_known import (
    AGE,
    CHANGE,
    CHOSEN,
    EVERY,
    LOOKED,
    SINCE,
    look,
    new_memory,
)
from policrf.solvers.refine.refine_neighbourhoods import (
    CLIQUE,
    LENGTH,
    MADE,
    NEW,
    OLD,
    new_workspace,
)
from policrf.solvers.refine.refine_trial import new_trial
from policrf.testing import reference_energy

LIMITLESS = 10**9
FORBIDDING = [[0.0, 2.0, np.inf, 0.5, np.inf]] * 4  # by the number of members: not 2, not 4


def boxes():
    """A chain with disjoint boxes of both kinds, and a node that is in none."""
    rng = np.random.default_rng(1)
    edges = [[i, i + 1] for i in range(8)]
    agree = pc.BoxAgreement([[0, 1, 2], [3, 4]], [1, 2], [1.0, 3.0])
    support = pc.BoxSupport([[5, 6, 7]], [0], [2.0], [2])
    return pc.CRF(rng.exponential(size=(9, 3)), pc.Potts(edges, 0.4), agree, support)


def forbidding():
    """Counts and unaries that forbid."""
    rng = np.random.default_rng(2)
    unary = rng.exponential(size=(8, 4))
    unary[rng.random(unary.shape) < 0.2] = np.inf
    unary[:, 3] = 1.0
    group = pc.CountFunction([range(4), range(4, 8)], FORBIDDING)
    return pc.CRF(unary, pc.Potts([[i, i + 1] for i in range(7)], 0.3), group)


CRFS = {
    "counts": make_family("size_prior", 36, 4, seed=3),
    "pairs of labels": make_family("co_occurrence", 36, 4, seed=4),
    "boxes": boxes(),
    "forbidding": forbidding(),
}


class Search:
    """A search from random labels, to be driven by hand."""

    def __init__(self, crf, seed=0):
        self.arrays = crf.arrays
        self.state, rng = new_state(self.arrays), np.random.default_rng(seed)
        load_labels(self.arrays, self.state, rng.integers(crf.n_labels, size=crf.n_nodes))
        self.trial, self.work = new_trial(self.arrays, self.state), new_workspace(self.arrays)
        self.memory = new_memory(self.arrays)
        self.generator = new_generator(seed)

    def look(self, c, drawn):
        choice = by_change(6)._replace(memory=self.memory)
        return look(self.arrays, self.state, self.trial, self.work, c, drawn, choice)

    def advance(self, choice, last):
        choice = choice._replace(memory=self.memory)
        kinds = Kinds(cliques=True, halfway=False, temperature=0.0, choice=choice)
        advance(
            self.arrays, self.state, self.trial, self.work, self.generator, kinds, last, LIMITLESS
        )


def by_change(among, weight=1.0):
    weights = np.zeros(len(KNOWN))
    weights[CHANGE] = weight
    return EVERY._replace(among=among, weights=weights)


def moves(crf):
    """Every move of every clique, growth over few members and over all."""
    labels = range(crf.n_labels)
    for c in range(len(crf.arrays.clique_kind)):
        for old in labels:
            yield from ((c, Drawn(old, new, np.inf)) for new in (*labels, -1) if new != old)
            yield from ((c, Drawn(-1, old, most)) for most in (0.0, 0.7, np.inf))


@pytest.mark.parametrize("name", ["counts", "pairs of labels", "boxes"])
def test_the_known_change_is_the_change_of_the_energy(name):
    search, crf, changed = Search(CRFS[name]), CRFS[name], 0
    before = reference_energy(crf, search.state.labels)
    for c, drawn in moves(crf):
        change, infinite = search.look(c, drawn)
        nodes = search.work.nodes[: search.work.cursor[LENGTH]]
        after = search.state.labels.copy()
        after[nodes] = search.work.choice[nodes]
        assert infinite == 0
        assert before + change == pytest.approx(reference_energy(crf, after), abs=1e-9)
        assert np.abs(search.memory.known[LOOKED]).max() <= 1.0
        changed += len(nodes)
    assert changed > 50


def test_what_is_forbidden_is_counted_and_not_added():
    crf = CRFS["forbidding"]
    for seed in range(20):
        search, before, after = Search(crf, seed), new_state(crf.arrays), new_state(crf.arrays)
        load_labels(crf.arrays, before, search.state.labels)
        for c, drawn in moves(crf):
            change, infinite = search.look(c, drawn)
            nodes = search.work.nodes[: search.work.cursor[LENGTH]]
            labels = search.state.labels.copy()
            labels[nodes] = search.work.choice[nodes]
            load_labels(crf.arrays, after, labels)
            assert infinite == after.forbidden[0] - before.forbidden[0]
            assert before.total[0] + change == pytest.approx(after.total[0], abs=1e-9)
            assert np.isfinite(search.memory.known[LOOKED]).all()
            if infinite:
                assert search.memory.known[LOOKED, CHANGE] == np.sign(infinite)


@pytest.mark.parametrize("name", CRFS)
def test_looking_changes_nothing(name):
    search = Search(CRFS[name])
    before = [array.copy() for array in search.state]
    for c, drawn in moves(CRFS[name]):
        search.look(c, drawn)
    for array, old in zip(search.state[:4], before[:4], strict=True):
        assert np.array_equal(array, old)
    assert np.array_equal(search.state.value, before[6])


def test_the_lowest_score_is_tried():
    """Moves that are chosen by a fall of the known terms fall by more than those that are not."""
    means = {}
    for weight in (1.0, 0.0, -1.0):
        search, seen = Search(CRFS["counts"], 5), []
        for last in range(1, 100):
            search.advance(by_change(6, weight), last)
            seen.append(search.memory.known[CHOSEN, CHANGE])
        means[weight] = np.mean(seen)
    assert means[1.0] < means[0.0] - 0.1 < means[-1.0] - 0.2


def test_a_move_is_young_once_it_is_tried_and_a_clique_once_it_changed():
    search = Search(CRFS["counts"])
    search.advance(by_change(6), 1)
    cursor = search.work.cursor
    tried = Drawn(int(cursor[OLD]), int(cursor[NEW]), 0.0)
    c, changed = int(cursor[CLIQUE]), search.trial.changed_at.copy()
    search.look(c, tried)
    assert 0 < search.memory.known[LOOKED, AGE] < 0.1
    assert changed[c] == cursor[MADE] == 1
    assert 0 < search.memory.known[LOOKED, SINCE] < 0.1
    untried = (c + 1) % len(search.arrays.clique_kind)
    search.look(untried, tried)
    assert search.memory.known[LOOKED, AGE] == 1.0


def test_one_choice_is_every_move_that_is_drawn():
    first, second = Search(CRFS["counts"], 7), Search(CRFS["counts"], 7)
    first.advance(by_change(1), 60)
    second.advance(by_change(1, -1.0), 60)
    assert np.array_equal(first.state.labels, second.state.labels)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"choices": 0}, "choices must be a whole number ≥ 1"),
        ({"choices": 2.5}, "choices must be a whole number"),
        ({"move_weights": (1.0,)}, "a list of 10 numbers"),
        ({"move_weights": 3.0}, "a list of 10 numbers"),
        ({"move_weights": (np.nan,) * 10}, "finite numbers"),
        ({"move_weights": ("much",) * 10}, "finite numbers"),
    ],
)
def test_bad_numbers_are_named(numbers, message):
    with pytest.raises(InvalidOption, match=message):
        Numbers(**numbers)


def test_weights_are_options_of_a_solver():
    text = ",".join(map(str, DEFAULT.move_weights))
    crf = CRFS["counts"]
    given = pc.solve(crf, f"refine:choices={DEFAULT.choices},move_weights=[{text}]", seed=2)
    assert np.array_equal(given.labels, pc.solve(crf, "refine", seed=2).labels)
    assert Numbers(move_weights=list(DEFAULT.move_weights)) == DEFAULT
