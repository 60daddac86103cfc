"""Goal "labels": labels close to the truth, learned from true labels, the energy, or both.

The default is imitation of true labels by the shared kind, which no other learner comes near
(benchmarks/results/learners.md); without truth, policy search on the energy. For kinds with weights
of a label's own (dqn, mcts),

    E'(y) = E(y) + t / (1 − t) · s · Σ_i (1 − share of node i's true pixels that have label y_i)

is what rewards and hindsight see while training, t being `truth` and s the mean spread of a node's
unaries, so that at t = 1/2 the truth of a node counts as much as its unaries do. t = 0, or data
without truth, is the energy alone. The paper's kind looks at features only: it never sees E'. Other
kinds that see costs would, and are refused; imitation has its truth in the targets instead.

Judged on held-out instances by IoU, energies beside it: against the untrained rule and the best
solver's labels under the same energy. Without truth, by the energy against the untrained rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from policrf.crf.instance import Instance
from policrf.crf.io.json_text import as_json
from policrf.crf.model import CRF
from policrf.datasets.sources import split
from policrf.errors import InvalidInstance, InvalidOption, UnsupportedPotential
from policrf.evaluation.tables import Table, write_tables
from policrf.learn.by_method import chosen_options, learn
from policrf.learn.options import Imitate, Method, Shared
from policrf.learn.options.flat_fields import with_fields
from policrf.learn.tuning.paired import LEAST, difference
from policrf.learn.tuning.race import Report
from policrf.metrics import mean_iou, node_confusion
from policrf.policy.network import KINDS
from policrf.policy.policy import Policy
from policrf.solvers import solve
from policrf.types import IntArray

TRUTH = 0.3
SOLVERS = ("alpha_expansion", "refine")  # whose labels of the lower mean energy are to be beaten
UNTRAINED, TRAINED = "untrained", "trained"
HELD_OUT_SHARE, MOST_HELD_OUT = 0.2, 60
BEST, REPORT = "best.safetensors", "report"
LEARNED = "learned.safetensors"  # what was learned, whether it won or not


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
    """A learned policy if it wins on held-out instances, else the untrained one.

    The parameters are those of `train`; `truth` is t above: 1 for imitation unless told, else 0.3.
    """
    training, held_out = _parts(instances)
    known = all(instance.truth is not None for instance in (*training, *held_out))
    named, wanted = _method(method, truth, known=known)
    fields = {key: options.pop(key) for key in list(options) if key not in _OF_LEARN}
    called, chosen = chosen_options(named, fields)
    if KINDS[chosen.kind].any_labels:
        if called != "evolve":  # imitation sees truth as a target, and nowhere else
            chosen = with_fields(chosen, {"truth": wanted}, called)
        share = 0.0
    else:
        share = wanted if known and called != "supervised" else 0.0
    if share > 0 and KINDS[chosen.kind].sees_costs:
        raise InvalidOption(
            f"kind {chosen.kind!r} sees the energy's costs, and would see the truth in them; give "
            'kind="paper", kind="shared", or truth=0'
        )
    mixed = [with_truth(instance, share) for instance in training]
    policy = learn(mixed, chosen, out=out, name=name or "labels", report=report, **options)
    if out is not None:
        policy.save(Path(out) / LEARNED)
    table, won, sentence = _judge(held_out, policy, known=known)
    reached = {
        **policy.training,
        "goal": "labels",
        "truth": wanted,
        "won": won,
        "verdict": sentence,
    }
    if not won:
        spec = policy.spec
        plain = Policy.untrained(
            kind="shared" if spec.any_labels else "residual", n_labels=spec.n_labels,
            n_features=spec.n_features, label_names=spec.label_names,
            feature_names=spec.feature_names,
        )  # fmt: skip
        policy = replace(plain, name=policy.name, energy=policy.energy)
    policy = replace(policy, training=reached)
    if out is not None:
        policy.save(Path(out) / BEST)
        write_tables(out, REPORT, [table], as_json(reached))
    if report is not None:
        report({"table": table, "verdict": sentence, "won": won})
    return policy


_OF_LEARN = ("resume", "overwrite", "seed", "about", "start", "validation")


def _parts(instances: Sequence[Instance | CRF]) -> tuple[list[Instance], list[Instance]]:
    found = [k for k in instances if isinstance(k, Instance)]
    if len(found) < len(instances):
        raise InvalidInstance('goal "labels" needs instances with features; a CRF has none')
    if len(found) < 2 * LEAST:
        raise InvalidInstance(
            f'there are {len(found)} instances; goal "labels" needs {2 * LEAST} or more, {LEAST} '
            "of them held out to judge by"
        )
    held = min(MOST_HELD_OUT, max(LEAST, int(len(found) * HELD_OUT_SHARE)))
    training, held_out = split(found, (held + 0.5) / len(found), held)
    return list(training), held_out


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


def _judge(held_out: list[Instance], policy: Policy, *, known: bool) -> tuple[Table, bool, str]:
    """The last table, whether the policy won, and the line that says so."""
    rows: dict[str, list[IntArray]] = {}
    ways: dict[str, str | Policy] = {UNTRAINED: "untrained", TRAINED: policy}
    for name, solver in (ways | dict(zip(SOLVERS, SOLVERS, strict=True))).items():
        try:
            rows[name] = [solve(instance, solver).labels for instance in held_out]
        except UnsupportedPotential:
            continue
    energies = {n: [i.crf.energy(y) for i, y in zip(held_out, ys, strict=True)]
                for n, ys in rows.items()}  # fmt: skip
    # Lower is better in both: what is compared is the negative IoU of every instance.
    misses = {n: [-_iou(i, y) for i, y in zip(held_out, ys, strict=True)]
              for n, ys in rows.items()} if known else energies  # fmt: skip
    best = min((n for n in SOLVERS if n in rows), key=lambda n: float(np.mean(energies[n])))
    against = [UNTRAINED, best] if known else [UNTRAINED]
    found = [difference(misses[TRAINED], misses[name]) for name in against]
    won = all(one.wins for one in found)
    what, sign = ("IoU", -1) if known else ("energy", 1)
    said = ", ".join(
        f"{sign * one.mean:+.3g} ± {one.half:.2g} against {name}"
        for one, name in zip(found, against, strict=True)
    )
    sentence = f"training {'won' if won else 'did not win'}: {what} {said} on {len(held_out)} "
    sentence += "held-out instances" + ("" if won else "; the untrained rule is returned")
    body = [
        (name, float(np.mean(energies[name])), str(difference(energies[name], energies[best])),
         _set_iou(held_out, ys) if known else None,
         -float(np.mean(misses[name])) if known else None)
        for name, ys in rows.items()
    ]  # fmt: skip
    columns = ("row", "energy", f"less {best}", "IoU of the set", "mean IoU of an instance")
    return Table("Labels on held-out instances", columns, tuple(body), sentence), won, sentence


def _iou(instance: Instance, labels: IntArray) -> float:
    assert instance.truth is not None
    return 100 * mean_iou(node_confusion(instance.truth, labels))


def _set_iou(instances: list[Instance], labelings: list[IntArray]) -> float:
    matrices = [
        node_confusion(i.truth, y)
        for i, y in zip(instances, labelings, strict=True)
        if i.truth is not None
    ]
    return 100 * mean_iou(np.sum(matrices, axis=0))
