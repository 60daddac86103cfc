"""Training for few calls: what it learns, what it says, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import policrf as pc
from policrf.errors import InvalidInstance, InvalidOption
from policrf.learn.calls.fit import Fitter
from policrf.learn.calls.learning import Learner
from policrf.learn.calls.questions import Answers, ask_around, calls_of, spread_labelings
from policrf.learn.calls.surrogate import fit_surrogate
from policrf.learn.calls.train_calls import read_calls
from policrf.policy.stand_in.model import replaced
from policrf.scenes.family_functions import two_labels


def dear_crf(seed: int, n_labels: int = 4) -> pc.CRF:
    """Four cliques of nine nodes that want two labels each."""
    unary = np.random.default_rng(seed).exponential(size=(36, n_labels))
    cliques = [list(range(9 * c, 9 * c + 9)) for c in range(4)]
    edges = [[i, i + 1] for i in range(35)]
    return pc.CRF(
        unary, pc.Potts(edges, 0.1), pc.Custom(cliques, two_labels, of="counts", expensive=True)
    )


def answered(count: int) -> Answers:
    rng, answers = np.random.default_rng(0), dict[str, Answers]()
    for seed in range(count):
        crf = dear_crf(seed)
        for labels in spread_labelings(crf, crf.unary.argmin(1), 4, rng):
            ask_around(answers, crf, labels, rng)
    return answers["two_labels"]


def test_a_fitted_stand_in_tells_what_the_function_would() -> None:
    answers, crf = answered(20), dear_crf(1000)
    stand_in = Fitter("two_labels", 0).fit(answers, 600)
    assert stand_in.n_labels == 0  # one table for all labels
    told = replaced(crf, [stand_in])
    plain = replaced(crf, [fit_surrogate("two_labels", answers)])
    rng, errors, plain_errors = np.random.default_rng(1), [], []
    for labels in spread_labelings(crf, crf.unary.argmin(1), 40, rng):
        energy = crf.energy(labels)
        errors.append(abs(told.energy(labels) - energy))
        plain_errors.append(abs(plain.energy(labels) - energy))
    assert np.mean(errors) < 1.0  # of 0 to 40 for the four cliques
    assert np.mean(plain_errors) < 4.0


def test_what_is_returned_has_heard_all_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    learner, heard = Learner([dear_crf(seed) for seed in range(4)], 400, lambda n: 1e-5 * n), []
    fit = Learner.fit

    def fit_and_tell(self: Learner, steps: int) -> Any:
        heard.append((calls_of(self.answers), fit(self, 1)))
        return heard[-1][1]

    monkeypatch.setattr(Learner, "fit", fit_and_tell)
    learned = learner.learn(60.0)
    assert learned.calls == calls_of(learner.answers) == heard[-1][0] >= 400
    assert learned.stand_ins is heard[-1][1]
    assert len(learned.gains) == learned.rounds == len(heard) - 1 > 1


def test_training_wins_without_a_call_and_says_so(tmp_path: Path) -> None:
    told: list[dict[str, Any]] = []
    policy = pc.train(
        [dear_crf(seed) for seed in range(20)], goal="energy", calls=0, questions=800, seconds=0.1,
        table=False, out=tmp_path, report=told.append,
    )  # fmt: skip
    assert policy.tuning is not None
    assert policy.tuning.won
    assert told[-1]["verdict"].startswith("training won")
    read = pc.load_policy(tmp_path / "best.safetensors")
    gains = []
    for seed in range(2000, 2008):
        crf = dear_crf(seed)
        found = pc.solve(crf, read)
        assert found.calls == 0
        assert found.energy == pytest.approx(crf.energy(found.labels))
        gains.append(pc.solve(crf, "refine").energy - found.energy)
    assert np.mean(gains) > 0
    assert pc.solve(crf, read, calls=36).calls <= 36


def test_calls_are_numbers_or_a_number_a_node() -> None:
    assert [read_calls(text)(10) for text in ("0", "3", "1/node", "0.5 / node")] == [0, 3, 10, 5]
    for bad in ("-1", "two", "1.5", "1/edge"):
        with pytest.raises(InvalidOption, match="calls is"):
            read_calls(bad)


def test_instances_that_teach_nothing_are_refused() -> None:
    cheap = [pc.CRF(np.ones((4, 2)) * k, pc.Potts([[0, 1]], 0.5)) for k in range(1, 21)]
    with pytest.raises(InvalidInstance, match="expensive=True"):
        pc.train(cheap, goal="energy", calls=0)
    mixed = [dear_crf(seed, 3 + seed % 2) for seed in range(20)]
    with pytest.raises(InvalidInstance, match=r"[34] and [34] labels"):
        pc.train(mixed, goal="energy", calls=0)
    with pytest.raises(InvalidOption, match="questions is 10"):
        pc.train([dear_crf(seed) for seed in range(20)], goal="energy", calls=0, questions=10)
