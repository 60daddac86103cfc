"""Policy: a learned heuristic, ready to be used; what `load_policy` returns and `solve` takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from policrf.argument_types import check_fields, typed
from policrf.crf.instance import Instance
from policrf.errors import InvalidFile, InvalidInstance, InvalidOption, PolicyMismatch
from policrf.policy.first_pass.model import FirstPass
from policrf.policy.network import Spec, Weights
from policrf.policy.stand_in.model import StandIn
from policrf.policy.tuning import Tuning, numbers_for
from policrf.registry import Registry
from policrf.solvers.numbers import NAMES, RULE, Numbers
from policrf.solvers.options import Option, dataclass_options
from policrf.solvers.traits import Traits

if TYPE_CHECKING:
    from policrf.policy.net import Net
    from policrf.policy.solver import Proven
    from policrf.solvers.run import Run
    from policrf.types import IntArray

# How a policy decides. Tree search stands above this folder, so it is named by string.
LABELERS = Registry(
    "way to decide",
    {
        "greedy": "policrf.policy.solver:label_greedily",
        "search": "policrf.search.solver:label_by_search",
        "search options": "policrf.search.search:SearchOptions",
    },
)


@dataclass(frozen=True, eq=False)
class Policy:
    """Scores for every (node, label) of an instance, and a solver: `pc.solve(instance, policy)`.

    Parameters
    ----------
    spec
        Kind and sizes of the network, and the names of labels and features.
    weights
        Its tensors by name, float32.
    name
        What tables call it.
    energy
        The energy it was trained on: terms and their parameters. Values that JSON can hold.
    features
        How the node features were made (the recipe).
    training
        The configuration of the training run, and what it reached.
    tuning
        Tuned numbers of its rule and of the search after it; with them, `solve` goes on with
        `refine` while there is time, unless told not to.
    stand_ins
        What was learned of expensive functions; `solve` then searches with them, and asks the
        functions themselves as often as `calls=` allows.
    first_pass
        A network that labels every node first, in less than a microsecond each, where the
        numbers say `start="first_pass"`.

    >>> import policrf as pc
    >>> scene = pc.make_scene(50, "A")
    >>> policy = pc.Policy.untrained(n_labels=21, n_features=85)
    >>> pc.solve(scene, policy).order.shape
    (50,)
    """

    policrf_traits: ClassVar[Traits] = Traits(goes_on=True)

    spec: Spec
    weights: Weights
    name: str = "policy"
    energy: dict[str, Any] = field(default_factory=dict)
    features: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    tuning: Tuning | None = None
    stand_ins: tuple[StandIn, ...] = ()
    first_pass: FirstPass | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.tuning is not None and self.tuning.numbers.start == "first_pass":
            self._checked_pass()
        object.__setattr__(self, "weights", self.spec.checked(self.weights))

    @staticmethod
    @typed()
    def untrained(*, seed: int = 0, name: str = "untrained", **fields: Any) -> Policy:
        """Initial weights for a `Spec` of these fields; "residual": highest confidence first."""
        spec = Spec(**fields)
        return Policy(spec, spec.initial_weights(seed), name)

    @staticmethod
    def rule(tuning: Tuning, n_labels: int, **described: Any) -> Policy:
        """The untrained rule with tuned numbers: without a network, for any number of labels."""
        from policrf.policy.solver import untrained_policy

        plain = untrained_policy("residual", n_labels, 1, **tuning.numbers.of_rule)
        return replace(plain, tuning=tuning, **described)

    @cached_property
    def is_rule(self) -> bool:
        """Whether it is nothing but tuned numbers: its network adds nothing to any score."""
        silent = ("theta5", "head_out")
        return self.tuning is not None and not any(
            self.weights[name].any() if name in self.weights else True for name in silent
        )

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def kernel_plan(self) -> str:
        """Under which name `policrf.ahead` knows the kernels that it needs."""
        return f"policy {self.spec.kind}"

    @cached_property
    def net(self) -> Net:
        """The weights as the kernels read them; shared by engines, so not to be changed."""
        from policrf.policy.net import build_net

        return build_net(self.spec, self.weights)

    def __call__(
        self,
        run: Run,
        *,
        search: int = 0,
        refine: bool | None = None,
        persistent: bool | None = None,
        scores: bool = False,
        snapshots: Sequence[int] = (),
        **options: Any,
    ) -> None:
        """Label the instance of `run`: this is what `pc.solve(instance, policy)` calls.

        With `seconds`, search goes on from its labels until they are over (`solvers.go_on`).

        Parameters
        ----------
        search
            Simulations of a tree search before every decision; 0: greedily, without one.
        refine
            End with local search, by the moves that pay after a policy; by default if the policy
            has tuned numbers.
        persistent
            First label, all at once, the nodes whose label is proven to be that of a minimum; by
            default with refine. Not with search.
        scores
            Put the score of every step into `info["scores"]`, in the order of the steps.
        snapshots
            Step numbers before which to put all scores `[N, L]` into `info["snapshots"]`.
        options
            Of the tree search (`search.search.SearchOptions`): depth, leaf, reward, …; and the
            numbers of `solvers.numbers.Numbers`, which go before tuned ones.
        """
        from policrf.policy.solver import refine_after
        from policrf.solvers.starts import relabel_first

        if self.stand_ins and run.limit is not None:
            from policrf.policy.stand_in.solving import label_by_stand_ins

            label_by_stand_ins(run, self.stand_ins)
            return
        if search < 0:
            raise InvalidOption(f"search is {search}; it must be 0 (none) or more simulations")
        refine = self.tuning is not None if refine is None else refine
        given = {name: options.pop(name) for name in NAMES if name in options}
        numbers = numbers_for(self.tuning, run, given)
        asked: dict[str, Any] = {"persistent": persistent, "scores": scores, "snapshots": snapshots}
        proven = None
        if search:
            if persistent or scores or len(snapshots):
                raise InvalidOption(
                    f"{self.name}: persistent, scores, snapshots are not for search"
                )
            policy = self.fitting(run, numbers)
            labels = LABELERS.get("search")(run, policy, search=search, **options)
        else:
            for name in options:
                raise InvalidOption(f"{self.name}: {name} is an option of search; give search= too")
            labels, proven = self._start(run, numbers, refine=refine, **asked)
        if numbers.icm:
            labels = relabel_first(run, labels)
        if refine and not run.expired():
            refine_after(run, labels, proven, numbers, while_time=self.tuning is not None)

    def _start(
        self, run: Run, numbers: Numbers, *, refine: bool, persistent: bool | None, scores: bool,
        snapshots: Sequence[int],
    ) -> tuple[IntArray, Proven | None]:  # fmt: skip
        """The first labels `[N]`, by the policy's rule or by another start, and what is proven."""
        if numbers.start != "rule" and (scores or len(snapshots)):
            raise InvalidOption(f"{self.name}: scores, snapshots are for start 'rule'")
        if numbers.start == "first_pass":
            return self._checked_pass().label(run), None
        from policrf.policy.solver import prove_labels
        from policrf.solvers.starts import first_labels

        proven = prove_labels(run) if persistent or (persistent is None and refine) else None
        if numbers.start == "rule":
            labels = LABELERS.get("greedy")(
                run, self.fitting(run, numbers), proven=proven, scores=scores, snapshots=snapshots
            )
        else:
            labels = first_labels(run, numbers.start)
        return labels, proven

    def _checked_pass(self) -> FirstPass:
        if self.first_pass is None:
            raise InvalidOption(
                f"{self.name}: start is 'first_pass', and this policy has not learned one"
            )
        return self.first_pass

    def fitting(self, run: Run, numbers: Numbers) -> Policy:
        """What labels the run's instance: the rule in its sizes, or the policy, which must fit."""
        from policrf.policy.solver import bare_instance, untrained_policy

        if not self.is_rule:
            return self
        if run.instance is None:
            run.instance = bare_instance(run.crf)
        return untrained_policy(
            "residual", run.crf.n_labels, run.instance.features.shape[1], **numbers.of_rule
        )

    @property
    def further_options(self) -> dict[str, Option]:
        """The numbers, and the options of a tree search but for its number of simulations."""
        own = dataclass_options(Numbers, without=() if self.is_rule else RULE)
        return own | dataclass_options(LABELERS.get("search options"), without=("simulations",))

    @typed(InvalidInstance)
    def check(self, instance: Instance) -> None:
        """Raise `PolicyMismatch`, the difference spelled out, for other labels or features.

        The shared kind and the rule alone take any instance.
        """
        if self.is_rule or self.spec.any_labels:
            return
        _compare(
            self.name, "labels", self.spec.n_labels, self.spec.label_names,
            instance.crf.n_labels, instance.label_names,
        )  # fmt: skip
        _compare(
            self.name, "features", self.spec.n_features, self.spec.feature_names,
            instance.features.shape[1], instance.feature_names,
        )  # fmt: skip

    @typed(InvalidFile)
    def save(self, path: str | Path) -> None:
        """Write one safetensors file."""
        from policrf.policy.checkpoint import save_policy

        save_policy(self, path)

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the net that is built from the weights: who arrives builds its own.
        return Policy, tuple(getattr(self, field.name) for field in fields(self))

    def __repr__(self) -> str:
        spec = self.spec
        if self.is_rule and self.tuning is not None:
            at = self.tuning
            if self.first_pass is not None:
                return f"Policy({self.name}: a learned first pass, {self.first_pass.size} weights)"
            if self.stand_ins:
                names = ", ".join(found.function for found in self.stand_ins)
                return f"Policy({self.name}: with stand-ins for {names})"
            return (
                f"Policy({self.name}: the untrained rule with {'tuned' if at.won else 'default'} "
                f"numbers, tuned at {at.nodes[0]} to {at.nodes[1]} nodes, {at.labels[0]} to "
                f"{at.labels[1]} labels, {at.budget:.3g} s a node)"
            )
        size = sum(array.size for array in self.weights.values())
        takes = f"{spec.n_labels} labels, {spec.n_features} features"
        if spec.any_labels:
            takes = "any labels"
        return (
            f"Policy({self.name}: {spec.kind}, {takes}, "
            f"K = {spec.layers}, p = {spec.width}, {size} weights)"
        )


def _compare(
    policy: str,
    what: str,
    wanted: int,
    wanted_names: Sequence[str],
    given: int,
    names: Sequence[str],
) -> None:
    if wanted_names and names and tuple(wanted_names) != tuple(names):
        missing = [name for name in wanted_names if name not in names]
        extra = [name for name in names if name not in wanted_names]
        parts = []
        if missing:
            parts.append(f"the instance lacks {_some(missing)}")
        if extra:
            parts.append(f"it has {_some(extra)}, which the policy does not know")
        if not parts:
            at = next(
                k for k, (a, b) in enumerate(zip(wanted_names, names, strict=False)) if a != b
            )
            parts.append(
                f"they are in another order: number {at} is {wanted_names[at]!r} for the policy "
                f"and {names[at]!r} in the instance"
            )
        raise PolicyMismatch(
            f"policy {policy!r} was made for {wanted} {what}, the instance has {given}: "
            + "; ".join(parts)
        )
    if wanted != given:
        raise PolicyMismatch(
            f"policy {policy!r} was made for {wanted} {what}{_named(wanted_names)}, "
            f"the instance has {given}{_named(names)}"
        )


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:5]))
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def _named(names: Sequence[str]) -> str:
    return f" ({_some(names)})" if names else ""
