"""Goal "labels": labels close to the truth, learned from true labels, the energy, or both.

The default is imitation of true labels by the shared kind, which no other learner comes near
(benchmarks/results/learners.md); without truth, policy search on the energy. For kinds with weights
of a label's own (dqn, mcts),

    E'(y) = E(y) + t / (1 − t) · s · Σ_i (1 − share of node i's true pixels that have label y_i)

is what rewards and hindsight see while training, t being `truth` and s the mean spread of a node's
unaries, so that at t = 1/2 the truth of a node counts as much as its unaries do. t = 0, or data
without truth, is the energy alone. The paper's kind looks at features only: it never sees E'. Other
kinds that see costs would, and are refused; imitation has its truth in the targets instead.

Judged (`label_judge`) on instances that the policy has not seen: on a part that is held out where
there are `MANY` instances or more, else on all of them, by cross-fitting (`cross_fitting`), which
chooses `trust` too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from policrf.crf.instance import Instance
from policrf.crf.io.json_text import as_json
from policrf.crf.model import CRF
from policrf.datasets.sources import split
from policrf.errors import InvalidInstance, InvalidOption
from policrf.evaluation.tables import write_tables
from policrf.learn.by_method import chosen_options, learn
from policrf.learn.cross_fitting import FOLDS, cross_fit, with_trust
from policrf.learn.energy_weights import energy_weights
from policrf.learn.label_judge import Judge
from policrf.learn.options import Imitate, Method, Shared
from policrf.learn.options.flat_fields import with_fields
from policrf.learn.run_folder import CHECKPOINT
from policrf.learn.tuning.paired import LEAST
from policrf.learn.tuning.race import Report
from policrf.policy.kinds import KINDS
from policrf.policy.policy import Policy
from policrf.solvers import solve
from policrf.types import IntArray

TRUTH = 0.3
MANY = 300  # instances, from which on one held-out part is enough to judge by
HELD_OUT_SHARE, MOST_HELD_OUT = 0.2, 60
BEST, REPORT = "best.safetensors", "report"
LEARNED = "learned.safetensors"  # what was learned, whether it won or not
_OF_LEARN = ("resume", "overwrite", "seed", "about", "start", "validation")


class Learning(NamedTuple):
    """How to learn, whatever the instances."""

    method: Method
    share: float
    """Of the truth in the energy that is learned from; imitation has none there."""
    out: Path | None
    name: str
    report: Report | None
    options: dict[str, Any]

    def learn(self, instances: Sequence[Instance]) -> Policy:
        """A policy learned on all of these."""
        mixed = [with_truth(instance, self.share) for instance in instances]
        return learn(
            mixed, self.method, out=self.out, name=self.name, report=self.report, **self.options
        )

    def part(self, number: int) -> Learning:
        """One of several runs that share the seconds: a fold's, or the last one, of all."""
        seconds = self.method.seconds
        each = None if seconds is None else seconds / (FOLDS + 1)
        method = with_fields(self.method, {"seconds": each, "select": "last"}, "labels")
        before = number * (each or 0.0)
        report = self.report

        def shifted(line: dict[str, Any]) -> None:
            assert report is not None
            report(line | {"fold": number, "seconds": before + line.get("seconds", 0.0)})

        chosen = self._replace(method=method, report=None if report is None else shifted)
        if self.out is None:
            return chosen
        folder = self.out if number == FOLDS else self.out / f"fold-{number}"
        # A run that is resumed has begun its first part; without that, resuming is an error.
        begun = number == 0 or (folder / CHECKPOINT).is_file()
        resume = bool(self.options.get("resume")) and begun
        return chosen._replace(out=folder, options=self.options | {"resume": resume})


def learn_labels(
    instances: Sequence[Instance | CRF],
    method: str | Method | None = None,
    *,
    truth: float | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    report: Report | None = None,
    **options: Any,
) -> Policy:
    """A learned policy if it wins on instances that it has not seen, else the untrained one.

    The parameters are those of `train`; `truth` is t above: 1 for imitation unless told, else 0.3.
    """
    found = _checked(instances)
    known = all(instance.truth is not None for instance in found)
    named, wanted = _method(method, truth, known=known)
    fields = {key: options.pop(key) for key in list(options) if key not in _OF_LEARN}
    called, chosen = chosen_options(named, fields)
    any_labels = KINDS[chosen.kind].any_labels
    share = wanted if known and called != "supervised" and not any_labels else 0.0
    if any_labels and called != "evolve":  # imitation sees truth as a target, and nowhere else
        chosen = with_fields(chosen, {"truth": wanted}, called)
    if share > 0 and KINDS[chosen.kind].sees_costs:
        raise InvalidOption(
            f"kind {chosen.kind!r} sees the energy's costs, and would see the truth in them; give "
            'kind="paper", kind="shared", or truth=0'
        )
    folder = None if out is None else Path(out)
    learning = Learning(chosen, share, folder, name or "labels", report, options)
    imitates = known and any_labels and wanted > 0 and called != "evolve"
    if imitates and len(found) < MANY:
        policy, judge, labelings = _cross_fitted(learning, found)
    else:
        policy, judge, labelings = _held_out(learning, found, known=known)
    table, won, sentence = judge.verdict(labelings)
    reached = {
        **policy.training, "goal": "labels", "truth": wanted, "trust": policy.spec.trust,
        "won": won, "verdict": sentence,
    }  # fmt: skip
    policy = replace(policy, energy=policy.energy | energy_weights(instances))
    if folder is not None:
        policy.save(folder / LEARNED)
    policy = replace(policy if won else _untrained(policy), training=reached)
    if folder is not None:
        policy.save(folder / BEST)
        write_tables(folder, REPORT, [table], as_json(reached))
    if report is not None:
        report({"table": table, "verdict": sentence, "won": won})
    return policy


def _cross_fitted(
    learning: Learning, instances: list[Instance]
) -> tuple[Policy, Judge, list[IntArray]]:
    """What is learned of all instances, and labels of each by policies that have not seen it."""
    judge = Judge(instances, known=True)

    def learn_without(fold: int, others: list[Instance]) -> Policy:
        return learning.part(fold).learn(others)

    crossed = cross_fit(instances, learn_without, judge.opponents)
    policy = learning.part(FOLDS).learn(instances)
    return with_trust(policy, crossed.trust), judge, crossed.labelings


def _held_out(
    learning: Learning, instances: list[Instance], *, known: bool
) -> tuple[Policy, Judge, list[IntArray]]:
    """What is learned of most instances, and its labels of the others."""
    held = min(MOST_HELD_OUT, max(LEAST, int(len(instances) * HELD_OUT_SHARE)))
    training, held_out = split(instances, (held + 0.5) / len(instances), held)
    policy = learning.learn(training)
    labelings = [solve(instance, policy).labels for instance in held_out]
    return policy, Judge(held_out, known=known), labelings


def _untrained(policy: Policy) -> Policy:
    """What is returned in the place of a policy that did not win."""
    spec = policy.spec
    plain = Policy.untrained(
        kind="shared" if spec.any_labels else "residual", n_labels=spec.n_labels,
        n_features=spec.n_features, label_names=spec.label_names,
        feature_names=spec.feature_names,
    )  # fmt: skip
    return replace(plain, name=policy.name, energy=policy.energy)


def _checked(instances: Sequence[Instance | CRF]) -> list[Instance]:
    found = [k for k in instances if isinstance(k, Instance)]
    if len(found) < len(instances):
        raise InvalidInstance('goal "labels" needs instances with features; a CRF has none')
    if len(found) < 2 * LEAST:
        raise InvalidInstance(
            f'there are {len(found)} instances; goal "labels" needs {2 * LEAST} or more, to learn '
            "from and to judge by"
        )
    return found


def _method(
    method: str | Method | None, truth: float | None, *, known: bool
) -> tuple[str | Method, float]:
    """The learner, unless one is named, and the share of the truth."""
    if truth is not None and (
        isinstance(truth, bool) or not isinstance(truth, int | float) or not 0 <= truth <= 1
    ):
        raise InvalidOption(f"truth is {truth!r}; it must be from 0 (energy alone) to 1")
    if method is None:
        method = "imitate" if known and truth != 0 else "shared"
    imitates = method in ("imitate", "shared") or isinstance(method, Imitate | Shared)
    share = (1.0 if imitates else TRUTH) if truth is None else float(truth)
    return method, share if known else 0.0


def with_truth(instance: Instance, share: float) -> Instance:
    """The instance with a share of its truth in its unaries; nodes without truth keep theirs."""
    if share == 0:
        return instance
    assert instance.truth is not None
    unary = instance.crf.unary
    allowed = np.where(np.isfinite(unary), unary, np.nan)
    spread = float(np.mean(np.nanmax(allowed, axis=1) - np.nanmin(allowed, axis=1))) or 1.0
    pixels = instance.truth.sum(axis=1, keepdims=True)
    wrong = np.where(pixels > 0, 1 - instance.truth / np.maximum(pixels, 1), 0.0)
    weight = min(share / (1 - share), 1e6) if share < 1 else 1e6
    mixed = CRF(
        unary + weight * spread * wrong, *instance.crf.potentials,
        cardinalities=instance.crf.cardinalities,
    )  # fmt: skip
    return replace(instance, crf=mixed)
