"""Racing on made-up measurements: it finds what is better, and goes on after a kill."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from zlib import crc32

import numpy as np
import pytest

from policrf.learn.tuning.candidates import (
    SPACE,
    Learned,
    challengers,
    first_candidates,
    neighbour,
    next_candidates,
)
from policrf.learn.tuning.journal import Journal
from policrf.learn.tuning.race import AT_FIRST, Racer
from policrf.learn.tuning.trials import Measured
from policrf.solvers.numbers import DEFAULT, KNOWN, UNTRAINED_STARTS, Numbers


def noise(numbers: Numbers, trial: int) -> float:
    return float(np.random.default_rng([trial, crc32(repr(numbers).encode())]).normal())


def good_by_unary(numbers: Numbers, trial: int) -> Measured:
    """Instances differ by far more than numbers do; a solve takes 10 ms of a made-up clock."""
    better = 2.0 * (numbers.start == "unary") + 1.0 * (numbers.gain == 0.1)
    return Measured(50.0 * math.sin(trial) - better + 0.3 * noise(numbers, trial), 0.01, 0.01)


def propose(count, elite, rng):
    return next_candidates(count, elite, rng) or first_candidates(count, rng)


def racer(measure, folder=None, resume=False, propose=propose, **options):
    journal = Journal(folder, {"budget": "1us"}, resume=resume)
    return Racer(measure, propose, journal, most_trials=40, seed=3, **options)


def raced(measure, folder=None, resume=False):
    race = racer(measure, folder, resume)
    race.run(8.0)
    return race.best(), race.against(race.best(), DEFAULT), race.solves


def test_the_better_start_is_found_and_nothing_is_measured_after_time_is_out():
    race, lines = racer(good_by_unary), []
    race.report = lines.append
    race.run(8.0)
    assert race.best().start == "unary"
    assert race.against(race.best(), DEFAULT).limit < -1.5
    assert race.spent <= 8.0 + 0.011
    assert race.solves == round(race.spent / 0.01)
    assert {line["race"] for line in lines} >= {1, 2}
    assert all(line["candidates"] >= 1 and line["trials"] >= AT_FIRST for line in lines)


def test_where_nothing_matters_the_default_is_found():
    best, difference, _ = raced(lambda numbers, trial: Measured(float(trial), 0.01, 0.01))
    assert best == DEFAULT
    assert difference.mean == 0.0


def test_of_numbers_that_are_level_those_with_the_fewest_changes_are_taken():
    """But for one chance in twenty, about, for every finalist."""
    found = []
    for luck in range(8):

        def measure(numbers: Numbers, trial: int, luck: int = 1000 * luck) -> Measured:
            better = 2.0 * (numbers.start == "unary")
            return Measured(
                50 * math.sin(trial) - better + noise(numbers, trial + luck), 0.01, 0.01
            )

        found.append(raced(measure)[0])
    assert all(numbers.start == "unary" for numbers in found)
    assert sum(numbers == Numbers(start="unary") for numbers in found) >= 6


def test_one_lost_solve_does_not_decide():
    def measure(numbers: Numbers, trial: int) -> Measured:
        lost = 500.0 if (numbers == DEFAULT and trial == 1) else 0.0
        return Measured(trial + lost + 0.1 * noise(numbers, trial), 0.01, 0.01)

    assert abs(raced(measure)[1].mean) < 1.0


def test_infinite_energies_lose():
    def measure(numbers: Numbers, trial: int) -> Measured:
        return Measured(1.0 if numbers.start == "rule" else math.inf, 0.01, 0.01)

    assert raced(measure)[0].start == "rule"


def test_a_killed_race_goes_on_to_the_same_end(tmp_path):
    made = []

    def counted(numbers: Numbers, trial: int) -> Measured:
        made.append((numbers, trial))
        return good_by_unary(numbers, trial)

    def killed(numbers: Numbers, trial: int) -> Measured:
        if len(made) == 150:
            raise KeyboardInterrupt
        return counted(numbers, trial)

    whole = raced(good_by_unary)
    with pytest.raises(KeyboardInterrupt):
        raced(killed, tmp_path)
    with (tmp_path / "journal.jsonl").open("a") as file:
        file.write('["half a li')
    parts = raced(counted, tmp_path, resume=True)
    assert parts == whole
    assert len(made) == len(set(made)) == whole[2]


def test_challengers_win_against_the_base_or_leave_it():
    tuned = Numbers(start="unary")
    ready = Learned([tuned, DEFAULT], {"choices": 12}, True)

    def challenge(gain):
        def measure(numbers: Numbers, trial: int) -> Measured:
            found = good_by_unary(numbers, trial)
            return found._replace(energy=found.energy - gain * (numbers.start == "first_pass"))

        race = racer(measure, propose=partial(challengers, learned=ready), base=tuned)
        race.run(4.0)
        assert race.spent <= 4.0 + 0.011
        assert tuned not in race.elite
        return race.best()

    assert challenge(5.0).start == "first_pass"
    assert challenge(1.0).start == "unary"  # a pass is below the default, above the base


def test_candidates_are_distinct_start_with_the_default_and_come_from_the_seed():
    one, two = (first_candidates(60, np.random.default_rng(seed)) for seed in (1, 1))
    assert one == two
    assert one[0] == DEFAULT
    assert len(set(one)) == 60
    assert {numbers.start for numbers in one} == set(UNTRAINED_STARTS)
    later = next_candidates(20, one[1:3], np.random.default_rng(0))
    assert later[:2] == one[1:3]
    assert len(set(later)) == 20
    assert next_candidates(20, [], np.random.default_rng(0)) == []
    for name, values in SPACE.items():
        assert getattr(DEFAULT, name) in values


def test_neighbours_differ_in_one_or_two_numbers():
    rng = np.random.default_rng(0)
    for _ in range(50):
        near = neighbour(DEFAULT, rng)
        changed = [name for name in SPACE if getattr(near, name) != getattr(DEFAULT, name)]
        assert 1 <= len(changed) <= 2


def test_a_solve_that_takes_all_the_time_ends_the_race():
    """As on a machine that is busy: most candidates have not been measured once."""

    def slow(numbers: Numbers, trial: int) -> Measured:
        return Measured(float(trial), 0.01, 0.01 if numbers == DEFAULT else 100.0)

    best, _, solves = raced(slow)
    assert best == DEFAULT
    assert solves == AT_FIRST + 1


def test_what_was_learned_races_with_the_best_numbers_and_with_the_default():
    rng, learned = np.random.default_rng(0), {"choices": 12, "move_weights": (0.5,) * len(KNOWN)}
    best = Numbers(start="unary", sweep=False)
    found = challengers(40, [], rng, Learned([best], learned, True))
    assert found[:3] == [
        replace(best, start="first_pass"),
        replace(DEFAULT, start="first_pass"),
        replace(best, **learned),
    ]
    assert replace(DEFAULT, **learned) in found
    assert all(one.start == "first_pass" or one.choices == 12 for one in found[:15])
    later = challengers(40, found[:1], rng, Learned([best], learned, True))
    assert {one.start for one in later} == {"first_pass"}
    without = challengers(40, [], rng, Learned([best], learned, False))
    assert not any(one.start == "first_pass" for one in without)
    given = Numbers(start="known_part", gain=0.5, choices=4)
    assert first_candidates(3, rng, [given])[:2] == [DEFAULT, given]
