"""Learn a policy by a method: Q-learning, tree search, evolution, or the supervised baseline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from policrf.crf.instance import Instance
from policrf.datasets.sources import split
from policrf.errors import InvalidInstance, InvalidOption
from policrf.execution.executor import Executor
from policrf.execution.processes import Processes
from policrf.learn.energy_weights import energy_weights
from policrf.learn.experience.corpus import Corpus, Instances
from policrf.learn.experience.pools import Pooled
from policrf.learn.learners.dqn import DQNLearner
from policrf.learn.learners.evolve import EvolveLearner
from policrf.learn.learners.imitate import ImitationLearner
from policrf.learn.learners.learner import Learner
from policrf.learn.learners.mcts import MCTSLearner
from policrf.learn.learners.shared import shared_learner
from policrf.learn.learners.supervised import SupervisedLearner
from policrf.learn.loop import Plan, Report, run_loop
from policrf.learn.options import METHODS, Method
from policrf.learn.options.flat_fields import flat, with_fields
from policrf.learn.run_folder import refuse_run
from policrf.policy.checkpoint import load_policy
from policrf.policy.network import Spec
from policrf.policy.policy import Policy

HELD_OUT_SHARE, MOST_HELD_OUT = 0.1, 40
LEARNERS: dict[str, Callable[..., Learner]] = {
    "dqn": DQNLearner, "evolve": EvolveLearner, "imitate": ImitationLearner, "mcts": MCTSLearner,
    "shared": shared_learner, "supervised": SupervisedLearner,
}  # fmt: skip
ON_CLUSTERS = ("dqn", "mcts", "supervised")  # methods whose experience others can make
ANY_LABELS = ("shared", "imitate", "evolve")  # methods that learn the shared kind


def learn(
    instances: Sequence[Instance],
    method: str | Method = "dqn",
    *,
    out: str | Path | None = None,
    resume: bool = False,
    validation: Sequence[Instance] = (),
    name: str | None = None,
    seed: int = 0,
    report: Report | None = None,
    about: dict[str, Any] | None = None,
    start: Policy | str | Path | None = None,
    overwrite: bool = False,
    executor: Executor | None = None,
    **fields: Any,
) -> Policy:
    """Learn a policy from instances of one kind; the best one found is returned.

    Parameters
    ----------
    instances
        Training data: instances with the same labels and features, or with any for the kind shared.
        A tenth of them, 40 or fewer, is held out to choose the best policy by.
    method
        How to learn: "dqn", "mcts", "evolve", "imitate", "shared", "supervised", or the options
        of one (`policrf.learn.options`: `DQN(...)`).
    out
        Folder for the log, checkpoints and policies; nothing is written without.
    resume
        Go on from the checkpoint in `out`; give the options that the run was begun with.
    validation
        Further data, for the curves only; nothing is chosen by it.
    name
        Name of the policy; the method's if not given.
    seed
        Of everything random: a run is the same for a seed.
    report
        Called with a dictionary of figures after every round and every validation.
    about
        What else to say of the training in the policy's file; values that JSON can hold.
    start
        A policy to start from, or its name or file. It gives the kind and sizes of the network too.
    overwrite
        Erase a run that `out` holds; without it that is an error.
    executor
        A `RayCluster`, whose actors play for "dqn" and "mcts"; `actors` says how many, `staleness`
        how many rounds they may be behind. "supervised" has no episodes: there only what is held
        out is labeled on the cluster. What is learned is the same as with threads.
    **fields
        Single options by name, whatever group they belong to: `rounds=100`, `width=16`.

    Returns
    -------
    Policy
        The best one on the held-out instances, or the last one (`select`).

    Examples
    --------
    >>> import policrf as pc
    >>> scenes = [pc.make_scene(20, "A", seed=seed) for seed in range(8)]
    >>> policy = learn(scenes, rounds=2, updates=2, width=16)
    >>> pc.solve(scenes[0], policy).labels.shape
    (20,)
    """
    called, options = chosen_options(method, fields)
    if not isinstance(executor, Processes | None) and called not in ON_CLUSTERS:
        raise InvalidOption(f"{called} does not learn on a cluster; {', '.join(ON_CLUSTERS)} do")
    if isinstance(start, str | Path):
        start = load_policy(start)
    if start is not None and not isinstance(start, Policy):
        raise InvalidOption(f"start is {start!r:.80}; give a policy, its name or its file")
    if start is not None:
        options = replace(options, kind=start.spec.kind, network=start.spec.network)
    if not (hasattr(validation, "__getitem__") and hasattr(validation, "index")):  # no array
        raise InvalidOption(f"validation is {validation!r:.80}; give a list of instances")
    if not hasattr(about or {}, "keys"):
        raise InvalidOption(f"about is {about!r:.80}; give a dictionary of plain values")
    if out is not None and not resume and not overwrite:
        refuse_run(Path(out))
    training: Sequence[Instance] = instances
    held_out: list[Instance] = []
    if options.schedule.select != "last":
        training, held_out = split(instances, HELD_OUT_SHARE, MOST_HELD_OUT)
    if len(training) == 0:
        raise InvalidInstance("there are no instances to learn from")
    first = training[0]
    if not isinstance(first, Instance):
        raise InvalidInstance(
            f"instances holds a {type(first).__name__}; give a list of instances "
            "(Instance.from_crf(crf), or load_instances(folder))"
        )
    spec = _spec(options, first, start)
    told = {
        "method": type(options).__name__, "config": flat(options), "seed": seed,
        "instances": len(training), **(about or {}),
    }  # fmt: skip

    def finish(policy: Policy) -> Policy:
        energy = {"terms": sorted({type(p).__name__ for p in first.crf.potentials})}
        energy |= energy_weights(instances)
        training = {**policy.training, **told}
        return replace(policy, name=name or called, energy=energy, training=training)

    if spec.any_labels and called not in ANY_LABELS:
        raise InvalidOption(
            f"{called} does not learn the kind {spec.kind!r}; use the method 'shared' with "
            "learner 'q', 'tree', 'imitate' or 'evolve'"
        )

    def learner(chosen: Sequence[Instance]) -> Learner:
        corpus = Instances(chosen) if spec.any_labels else Corpus(chosen)
        return LEARNERS[called](options, spec, corpus, seed, start)

    schedule = options.schedule
    size = max(1, schedule.pool // max(1, first.crf.n_nodes))
    driven = (
        learner(training)
        if len(training) <= size
        else Pooled(learner, training, size=size, rounds=schedule.pool_rounds, seed=seed)
    )
    plan = Plan(
        options=options, held_out=held_out, validation=validation,
        out=None if out is None else Path(out), report=report, executor=executor, finish=finish,
    )  # fmt: skip
    return run_loop(driven, plan, resume=resume, overwrite=overwrite)


def chosen_options(method: str | Method, fields: dict[str, Any]) -> tuple[str, Method]:
    """The name of the method, and its options."""
    if isinstance(method, str):
        if method not in METHODS:
            raise InvalidOption(f"method is {method!r}; it must be one of {', '.join(METHODS)}")
        return method, with_fields(METHODS[method](), fields, method)
    for name, options in METHODS.items():
        if isinstance(method, options):
            return name, with_fields(method, fields, name)
    raise InvalidOption(f"method is {method!r}; it must be one of {', '.join(METHODS)}, or options")


def _spec(options: Method, first: Instance, start: Policy | None) -> Spec:
    """The network to learn, for instances like this one."""
    return Spec(
        n_labels=first.crf.n_labels, n_features=first.features.shape[1], kind=options.kind,
        label_names=first.label_names, feature_names=first.feature_names,
        squash=True if start is None else start.spec.squash, **asdict(options.network),
    )  # fmt: skip
