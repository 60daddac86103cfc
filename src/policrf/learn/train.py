"""Train from Python: by a goal, judged against the untrained rule, or by a method of learning.

`policrf train` does the same from the command line. torch is needed by methods of learning only:
tuned numbers are found without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policrf.argument_types import typed
from policrf.crf.instance import Instance
from policrf.crf.model import CRF
from policrf.errors import InvalidOption, MissingDependency
from policrf.learn.tuning.race import Report
from policrf.policy.policy import Policy
from policrf.random_numbers import checked_seed

if TYPE_CHECKING:
    from policrf.learn.options import Method

GOALS = ("energy", "labels")


@typed()
def train(
    instances: Sequence[Instance | CRF],
    method: str | Method | None = None,
    *,
    goal: str | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    name: str | None = None,
    seed: int = 0,
    report: Report | None = None,
    overwrite: bool = False,
    **options: Any,
) -> Policy:
    """Learn a policy from instances of one kind.

    With a goal, the policy is judged against the untrained rule on held-out instances, and what is
    returned is the untrained rule, marked as such, unless the policy wins by more than noise.

    Parameters
    ----------
    instances
        Training data, of the sizes that the policy is for. A part of them is held out.
    method
        How to learn: "dqn", "mcts", "evolve", "imitate", "shared", "supervised", or the options
        of one (`policrf.learn.options`: `DQN(...)`). The goal chooses one if none is named;
        without a goal it is "dqn".
    goal
        "energy": the lowest energy at an inference budget, by tuned numbers and a first pass.
        "labels": labels close to the truth. None: what the method does, not judged.
    out
        Folder for configuration, log or journal, and policies; nothing is written without.
    resume
        Go on with the run in `out`; give the options that it was begun with.
    name
        Name of the policy.
    seed
        Of everything random.
    report
        Called with a dictionary of figures while it goes on, and with the last table at the end.
    overwrite
        Erase a run that `out` holds; without it that is an error.
    **options
        For goal "energy": `budget` (CPU time a node at inference: "10us", or seconds), `seconds`
        of racing and learning, `network` (whether a first pass is learned too), `table`
        (`learn.tuning.tune.Tune`), and `start`, a tuned policy to go on from; with
        `calls`, how often expensive functions may be asked at inference (0, 100, "1/node"),
        stand-ins for them are learned (`learn.calls.train_calls.FewCalls`). For goal "labels":
        `truth`, the share of the truth in what is learned, and the method's options. For a method:
        `validation`, `about`, `start`, and its options by name (`learn.by_method.learn`).

    Examples
    --------
    >>> import policrf as pc
    >>> scenes = [pc.make_scene(20, "A", seed=seed) for seed in range(16)]
    >>> policy = pc.train(scenes, "dqn", rounds=2, updates=2, width=16)
    >>> pc.solve(scenes[0], policy).labels.shape
    (20,)
    >>> policy = pc.train(scenes, goal="energy", budget="5us", seconds=0.1, table=False)
    >>> pc.solve(scenes[0], policy, seconds=0.001).labels.shape
    (20,)
    """
    shared: dict[str, Any] = {
        "out": out, "resume": resume, "name": name, "seed": checked_seed(seed), "report": report,
        "overwrite": overwrite,
    }  # fmt: skip
    if goal is not None and goal not in GOALS:
        raise InvalidOption(f"goal is {goal!r}; it must be one of {', '.join(GOALS)}")
    if resume and out is None:
        raise InvalidOption("resume goes on with the run in a folder; give it as out")
    if goal == "energy":
        return _tuned(instances, method, shared, options)
    if goal is None and "budget" in options:
        raise InvalidOption('budget belongs to a goal; give goal="energy" too')
    if goal == "labels":
        learn_labels = _needing_torch("policrf.learn.labels_goal", "learn_labels")
        return learn_labels(instances, method, **shared, **options)
    learn = _needing_torch("policrf.learn.by_method", "learn")
    return learn(instances, "dqn" if method is None else method, **shared, **options)


def _needing_torch(module: str, function: str) -> Callable[..., Policy]:
    try:
        found: Callable[..., Policy] = getattr(import_module(module), function)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("policrf"):
            raise
        raise MissingDependency(
            f"learning by a method needs {error.name}; run pip install 'policrf[learn]'"
        ) from None
    return found


def _tuned(
    instances: Sequence[Instance | CRF], method: str | Method | None, shared: dict[str, Any],
    options: dict[str, Any],
) -> Policy:  # fmt: skip
    from policrf.learn.options.flat_fields import with_fields
    from policrf.learn.tuning.tune import Tune, tune

    if method is not None:
        raise InvalidOption(
            f'goal "energy" tunes numbers and takes no method; leave out {method!r}, or the goal'
        )
    about = options.pop("about", None)
    budget = options.get("budget")
    if isinstance(budget, int | float) and not isinstance(budget, bool):
        options = options | {"budget": f"{float(budget)!r}s"}
    if "calls" in options:
        few = _needing_torch("policrf.learn.calls.train_calls", "FewCalls")()
        train_calls = _needing_torch("policrf.learn.calls.train_calls", "train_calls")
        options["calls"] = str(options["calls"])
        chosen: Any = with_fields(few, options, "goal energy with calls")
        return train_calls(instances, chosen, about=about, **shared)
    if "budget" not in options:
        raise InvalidOption(
            'goal "energy" needs a budget, the CPU time a node at inference: budget="10us"'
        )
    start = options.pop("start", None)
    if start is not None and (not isinstance(start, Policy) or start.tuning is None):
        raise InvalidOption(
            'start is not a policy with tuned numbers; goal "energy" begins with one, or with none'
        )
    chosen = with_fields(Tune(), options, "goal energy")
    return tune(instances, chosen, about=about, start=start, **shared)
