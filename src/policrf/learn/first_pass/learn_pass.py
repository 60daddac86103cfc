"""A first pass for the training instances of a run, within its time, kept in its journal."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from policrf.evaluation.cpu_time import cpu_budgets
from policrf.learn.first_pass.evolve_pass import evolve_pass
from policrf.learn.tuning.journal import Journal
from policrf.learn.tuning.race import Report
from policrf.learn.tuning.trials import Trials, crf_of
from policrf.policy.first_pass.model import FirstPass, looked_at


def can_learn(trials: Trials) -> bool:
    """Whether there are cliques that a first pass would look at."""
    return any(looked_at(crf_of(problem).arrays).any() for problem in trials.problems)


def learn_pass(
    trials: Trials, journal: Journal, *, passes: int, seconds: float, seed: int,
    begin: FirstPass | None = None, report: Report | None = None,
) -> tuple[FirstPass, dict[str, Any]]:  # fmt: skip
    """The pass, and how it went.

    Parameters
    ----------
    trials
        Training instances.
    journal
        Where it is kept: a run that goes on does not learn again.
    passes, seed, begin, report
        Of `evolve_pass`.
    seconds
        CPU time.
    """
    crfs = [crf_of(problem) for problem in trials.problems]

    def find() -> dict[str, Any]:
        with cpu_budgets():
            begun = time.perf_counter()
            found = evolve_pass(
                crfs, passes=passes, seconds=seconds, seed=seed, begin=begin, report=report
            )
            spent = time.perf_counter() - begun
        return {
            "weights": found.first_pass.weights.tolist(), "steps": found.steps, "spent": spent,
            "energy": found.energy, "start_energy": found.start,
        }  # fmt: skip

    told = dict(journal.recall("first pass", find))
    return FirstPass(np.array(told.pop("weights"))), told
