"""Train a policy from Python: `train_dqn(instances)`, and the same by other learners.

>>> import policrf as pc
>>> from policrf.learn.train import train_dqn
>>> scenes = [pc.make_scene(20, "A", seed=seed) for seed in range(8)]
>>> policy = train_dqn(scenes, rounds=2, updates=2)
>>> pc.solve(scenes[0], policy).labels.shape
(20,)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from policrf.crf.instance import Instance
from policrf.datasets.sources import split
from policrf.errors import InvalidInstance
from policrf.learn.corpus import Corpus
from policrf.learn.dqn import DQNLearner
from policrf.learn.dqn_options import DQN
from policrf.learn.evolve import Evolve, EvolveLearner
from policrf.learn.loop import Report, Schedule, run_loop
from policrf.learn.pools import Pooled
from policrf.learn.supervised import Supervised, SupervisedLearner
from policrf.policy.network import Spec
from policrf.policy.policy import Policy

HELD_OUT_SHARE, MOST_HELD_OUT = 0.1, 40


def train_dqn(
    instances: Sequence[Instance], config: DQN | None = None, *,
    kind: str = "paper", schedule: Schedule | None = None, network: dict[str, Any] | None = None,
    validation: Sequence[Instance] = (), out: str | Path | None = None, resume: bool = False,
    name: str = "dqn", seed: int = 0, report: Report | None = None, about: dict[str, Any] | None =
    None, **options: Any,
) -> Policy:  # fmt: skip
    """Learn a policy by Q-learning on instances of one kind; the best one found is returned.

    Parameters
    ----------
    config: how to learn; single fields may be given by name in `options` instead (`reward="sign"`).
    kind: "paper" or "residual"; `network` gives further fields of its `Spec` (rounds, width,
    costs). schedule: when to stop; `rounds` and `seconds` may be given in `options` instead.
    validation: data for the curves only. out: folder for log and checkpoints; with `resume`, go on
    from what is there. about: what else to say of the training in the policy's file.
    """
    plan, settings = _settings(config or DQN(), schedule, options)
    return _train(
        instances, DQNLearner, settings, plan, kind, network, validation, out, resume, name, seed,
        report, about, settings.actors,
    )  # fmt: skip


def train_evolve(
    instances: Sequence[Instance], config: Evolve | None = None, *,
    start: Policy | None = None, kind: str = "residual", schedule: Schedule | None = None,
    network: dict[str, Any] | None = None, validation: Sequence[Instance] = (),
    out: str | Path | None = None, resume: bool = False, name: str = "evolved", seed: int = 0,
    report: Report | None = None, about: dict[str, Any] | None = None, **options: Any,
) -> Policy:  # fmt: skip
    """Lower the energy that a policy ends with, by search over few of its weights.

    `start` is the policy to begin with; the untrained residual kind if not given.
    """
    plan, settings = _settings(config or Evolve(), schedule, options)
    if start is not None:
        kind, spec = start.spec.kind, start.spec
        network = {"rounds": spec.rounds, "width": spec.width, "head_width": spec.head_width}
        network |= {"costs": spec.costs, "squash": spec.squash, "foresight": spec.foresight}
        network |= {"quota_limit": spec.quota_limit}

    def learner_of(settings: Evolve, spec: Spec, corpus: Corpus, seed: int) -> EvolveLearner:
        return EvolveLearner(settings, spec, corpus, seed, start)

    return _train(
        instances, learner_of, settings, plan, kind, network, validation, out, resume, name, seed,
        report, about, settings.actors,
    )  # fmt: skip


def train_supervised(
    instances: Sequence[Instance], config: Supervised | None = None, *,
    kind: str = "paper", schedule: Schedule | None = None, network: dict[str, Any] | None = None,
    validation: Sequence[Instance] = (), out: str | Path | None = None, resume: bool = False,
    name: str = "supervised", seed: int = 0, report: Report | None = None,
    about: dict[str, Any] | None = None, **options: Any,
) -> Policy:  # fmt: skip
    """The paper's supervised baseline: the true label of a node from the features, all at once."""
    plan, settings = _settings(config or Supervised(), schedule, options)
    return _train(
        instances, SupervisedLearner, settings, plan, kind, network, validation, out, resume, name,
        seed, report, about, 1,
    )  # fmt: skip


def _settings(
    config: Any, schedule: Schedule | None, options: dict[str, Any]
) -> tuple[Schedule, Any]:
    plan_fields = {k: v for k, v in options.items() if k in Schedule.__dataclass_fields__}
    others = {k: v for k, v in options.items() if k not in plan_fields}
    return replace(schedule or Schedule(), **plan_fields), replace(config, **others)


def _train(
    instances: Sequence[Instance], learner_of: Callable[..., Any], config: Any, schedule: Schedule,
    kind: str, network: dict[str, Any] | None, validation: Sequence[Instance],
    out: str | Path | None, resume: bool, name: str, seed: int, report: Report | None,
    about: dict[str, Any] | None, actors: int,
) -> Policy:  # fmt: skip
    training, held_out = split(instances, HELD_OUT_SHARE, MOST_HELD_OUT)
    if not training:
        raise InvalidInstance("there are no instances to learn from")
    first = training[0]
    spec = Spec(
        n_labels=first.crf.n_labels, n_features=first.features.shape[1], kind=kind,
        label_names=first.label_names, feature_names=first.feature_names, **(network or {}),
    )  # fmt: skip
    told = {
        "method": type(config).__name__, "config": asdict(config), "schedule": asdict(schedule),
        "seed": seed, "instances": len(training), **(about or {}),
    }  # fmt: skip

    def finish(policy: Policy) -> Policy:
        energy = {"terms": sorted({type(p).__name__ for p in first.crf.potentials})}
        return replace(policy, name=name, energy=energy, training={**policy.training, **told})

    def learner(corpus: Corpus) -> Any:
        return learner_of(config, spec, corpus, seed)

    size = max(1, schedule.pool // max(1, first.crf.n_nodes))
    pooled: Any = (
        learner(Corpus(training))
        if len(training) <= size
        else Pooled(learner, training, size=size, rounds=schedule.pool_rounds, seed=seed)
    )
    return run_loop(
        pooled, held_out, schedule, actors=actors,
        out=None if out is None else Path(out), resume=resume, report=report, finish=finish,
        validation=validation,
    )  # fmt: skip
