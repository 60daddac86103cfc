"""Random clique moves and half-way repairs: taken back without a trace, never below the truth."""

import numba
import numpy as np
import pytest

import policrf as pc
from policrf.crf.changes import load_labels
from policrf.crf.state import new_state
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.errors import CustomPotentialFailed
from policrf.random_numbers import new_generator
from policrf.solvers.refine.refine_anytime import DRAW, SETTLE, UNLABEL, Kinds, advance, search_on
from policrf.solvers.refine.refine_known import EVERY, new_memory
from policrf.solvers.refine.refine_neighbourhoods import KEPT, MADE, STAGE, new_workspace
from policrf.solvers.refine.refine_trial import BEST, NOW, new_trial, take_back
from policrf.solvers.run import Run
from policrf.testing import random_crf, reference_energy

LIMITLESS = 10**9


@numba.njit
def at_most_two(labels, parameters):
    seen = np.zeros(16, np.bool_)
    for label in labels:
        seen[label] = True
    return parameters[0] * max(0, seen.sum() - 2)


@numba.njit
def odd_counts(counts, parameters):
    odd = 0
    for count in counts:
        odd += count % 2
    return parameters[0] * odd


def grid_crf(seed, *, side=6, n_labels=4, form="counts"):
    """A grid with one custom clique a quarter: odd counts, or at most two labels."""
    rng = np.random.default_rng(seed)
    index = np.arange(side * side).reshape(side, side)
    across = np.stack([index[:, :-1].reshape(-1), index[:, 1:].reshape(-1)], axis=1)
    down = np.stack([index[:-1].reshape(-1), index[1:].reshape(-1)], axis=1)
    half = side // 2
    cliques = [index[y : y + half, x : x + half].reshape(-1) for y in (0, half) for x in (0, half)]
    custom = (
        pc.Custom(cliques, odd_counts, [[1.5]] * 4, of="counts")
        if form == "counts"
        else pc.Custom(cliques, at_most_two, [[4.0]] * 4, partial=form)
    )
    unary = rng.exponential(size=(side * side, n_labels))
    return pc.CRF(unary, pc.Potts(np.concatenate([across, down]), 0.3), custom)


CRFS = {
    "counts": grid_crf(0),
    "subset": grid_crf(1, form="subset"),
    "complete": grid_crf(2, form="complete"),
    "all kinds": random_crf(3, n_nodes=9, groups=("potts", "hop1", "hop2", "tables", "custom")),
    "forbidden": random_crf(4, n_nodes=9, forbidden=0.2, ragged=True),
    "edges only": random_crf(5, n_nodes=12, groups=("potts",)),
    "nothing": pc.CRF(np.random.default_rng(6).normal(size=(5, 3))),
}
BOTH = Kinds(cliques=True, halfway=True, temperature=0.0)
KINDS = {
    "cliques": BOTH._replace(halfway=False),
    "halfway": BOTH._replace(cliques=False),
    "warm": BOTH._replace(temperature=0.3),
    "chosen": BOTH._replace(halfway=False, choice=EVERY._replace(among=4)),
}


class Search:
    """The search from the cheapest labels, to be driven by hand."""

    def __init__(self, crf, seed=0):
        self.crf, self.arrays = crf, crf.arrays
        self.state = new_state(self.arrays)
        load_labels(self.arrays, self.state, np.argmin(crf.unary, axis=1))
        self.trial, self.work = new_trial(self.arrays, self.state), new_workspace(self.arrays)
        self.generator, self.memory = new_generator(seed), new_memory(self.arrays)

    def advance(self, kinds, last, limit=LIMITLESS):
        kinds = kinds._replace(choice=kinds.choice._replace(memory=self.memory))
        advance(self.arrays, self.state, self.trial, self.work, self.generator, kinds, last, limit)
        raise_if_failed()

    def assert_like_new(self):
        """Labels, counts and values are those of a fresh start from the same labels."""
        fresh = new_state(self.arrays)
        load_labels(self.arrays, fresh, self.state.labels)
        for name in ("labels", "labeled", "matches", "counts", "forbidden"):
            assert np.array_equal(getattr(fresh, name), getattr(self.state, name)), name
        assert np.allclose(fresh.value, self.state.value, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CRFS)
def test_energies_follow_the_reference_move_after_move(name, kind):
    search = Search(CRFS[name])
    start = reference_energy(search.crf, search.state.labels)
    least = start
    for last in range(1, 60):
        search.advance(KINDS[kind], last)
        assert search.work.cursor[MADE] == last
        assert search.work.cursor[STAGE] == DRAW
        search.assert_like_new()
        energy = reference_energy(search.crf, search.state.labels)
        least = min(least, energy)
        if np.isfinite(start):
            assert energy - start == pytest.approx(search.trial.energy[NOW], abs=1e-9)
        assert reference_energy(search.crf, search.trial.best) == pytest.approx(least, abs=1e-9)
        assert (search.trial.forbidden[BEST] == 0) == np.isfinite(least)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CRFS)
def test_a_move_taken_back_at_any_point_leaves_nothing_behind(name, kind):
    search = Search(CRFS[name])
    stages = set()
    for limit in range(1, 120):
        search.advance(KINDS[kind], LIMITLESS, 1 + limit % 7)
        stages.add(int(search.work.cursor[STAGE]))
        if search.work.cursor[STAGE] == DRAW:
            continue
        changed = search.trial.changed[: search.trial.lengths[0]].copy()
        before = search.state.labels.copy()
        before[changed] = search.trial.before[changed]
        take_back(search.arrays, search.state, search.trial)
        search.work.cursor[STAGE] = DRAW
        assert np.array_equal(search.state.labels, before)
        assert (search.trial.before == -1).all()
        search.assert_like_new()
    assert len(stages) > 1
    assert kind != "halfway" or UNLABEL in stages or SETTLE in stages


@pytest.mark.parametrize("kind", ["warm", "chosen"])
@pytest.mark.parametrize("name", CRFS)
def test_slices_make_no_difference(name, kind):
    whole, sliced = Search(CRFS[name], 7), Search(CRFS[name], 7)
    whole.advance(KINDS[kind], 50)
    while sliced.work.cursor[MADE] < 50:
        sliced.advance(KINDS[kind], 50, 3)
    assert np.array_equal(whole.trial.best, sliced.trial.best)
    assert np.array_equal(whole.state.labels, sliced.state.labels)
    assert whole.work.cursor[KEPT] == sliced.work.cursor[KEPT]


def test_only_cold_searches_stay_downhill():
    search = Search(CRFS["counts"])
    energies = []
    for last in range(1, 200):
        search.advance(BOTH, last)
        energies.append(search.trial.energy[NOW])
    assert (np.diff(energies) <= search.trial.margin[0]).all()
    warm = Search(CRFS["counts"])
    energies = []
    for last in range(1, 200):
        warm.advance(KINDS["warm"], last)
        energies.append(warm.trial.energy[NOW])
    assert (np.diff(energies) > 1e-3).any()


def test_brute_force_is_mostly_reached_and_never_beaten():
    reached = 0
    for seed in range(20):
        crf = random_crf(
            seed, n_nodes=7, groups=("potts", "hop2", "custom"), forbidden=0.15 * (seed % 2)
        )
        least = pc.solve(crf, "brute_force").energy
        found = pc.solve(crf, "refine", seed=seed).energy
        if np.isinf(least):
            continue
        assert found >= least - 1e-9
        reached += found <= least + 1e-9
    assert reached >= 18


@pytest.mark.parametrize("option", ["cliques", "halfway"])
def test_each_kind_finds_what_single_relabels_cannot(option):
    """Two labels for a whole clique: from the cheapest labels every single relabel costs more."""
    crf = grid_crf(8, form="subset")
    off = dict.fromkeys(("pairs", "regions", "growth", "boxes", "cuts"), False)
    alone = pc.solve(crf, "refine", start="icm", cliques=False, halfway=False, **off)
    only = {"cliques": False, "halfway": False} | {option: True}
    found = pc.solve(crf, "refine", start="icm", **only, **off)
    assert found.energy < alone.energy - 1.0
    assert found.info["random_moves"]["kept"] > 0


def test_same_seed_same_answer():
    crf = grid_crf(9, side=8)
    first, again = (pc.solve(crf, "refine", seed=3) for _ in range(2))
    assert np.array_equal(first.labels, again.labels)
    assert first.info == again.info


def test_without_custom_cliques_and_seconds_there_are_no_random_moves():
    scene = pc.make_scene(50, "B", seed=1)
    assert "random_moves" not in pc.solve(scene, "refine").info


def test_both_kinds_off_is_local_search_alone():
    crf = grid_crf(9)
    assert "random_moves" not in pc.solve(crf, "refine", cliques=False, halfway=False).info


class LookedAt(Run):
    """Time is out after a number of looks at the clock, whatever a clock says."""

    looks = 0

    def expired(self):
        self.looks += 1
        return self.looks > 200

    def remaining(self):
        return 1.0


def test_goes_on_while_time_is_left():
    crf = CRFS["edges only"]
    run = LookedAt(crf, "refine", seconds=1e6, seed=0)
    labels = run.start_labels()
    search_on(run, labels, cliques=True, halfway=True)
    assert run.looks > 200
    assert run.info["random_moves"]["made"] > 200
    assert crf.energy(labels) <= crf.energy(run.start_labels())


def test_stops_where_the_labeling_is_proven():
    crf = CRFS["counts"]
    run = LookedAt(crf, "refine", seconds=1e6, seed=0)
    labels = pc.solve(crf, "refine").labels.copy()
    run.offer(labels)
    run.bound(crf.energy(labels))
    search_on(run, labels, cliques=True, halfway=True)
    assert "random_moves" not in run.info


def test_a_function_that_fails_is_named():
    calls = []

    def fails_late(labels, parameters):
        calls.append(1)
        if len(calls) > 2000:
            raise RuntimeError("out of coffee")
        return float(labels.sum() % 2)

    crf = pc.CRF(np.zeros((4, 3)), pc.Custom([[0, 1, 2, 3]], fails_late, partial="subset"))
    run = LookedAt(crf, "refine", seconds=1e6, seed=0)
    with pytest.raises(CustomPotentialFailed, match="out of coffee"):
        search_on(run, run.start_labels(), cliques=True, halfway=True)
