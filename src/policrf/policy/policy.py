"""Policy: a learned heuristic, ready to be used; what `load_policy` returns and `solve` takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policrf.crf.instance import Instance
from policrf.errors import InvalidOption, PolicyMismatch
from policrf.policy.network import Spec, Weights
from policrf.registry import Registry
from policrf.solvers.options import Option, dataclass_options

if TYPE_CHECKING:
    from policrf.policy.net import Net
    from policrf.solvers.run import Run

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

    >>> import policrf as pc
    >>> scene = pc.make_scene(50, "A")
    >>> policy = pc.Policy.untrained(n_labels=21, n_features=85)
    >>> pc.solve(scene, policy).order.shape
    (50,)
    """

    spec: Spec
    weights: Weights
    name: str = "policy"
    energy: dict[str, Any] = field(default_factory=dict)
    features: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", self.spec.checked(self.weights))

    @staticmethod
    def untrained(*, seed: int = 0, name: str = "untrained", **fields: Any) -> Policy:
        """Initial weights for a `Spec` of these fields; "residual": highest confidence first."""
        spec = Spec(**fields)
        return Policy(spec, spec.initial_weights(seed), name)

    @property
    def __name__(self) -> str:
        return self.name

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
        refine: bool = False,
        persistent: bool | None = None,
        scores: bool = False,
        snapshots: Sequence[int] = (),
        **options: Any,
    ) -> None:
        """Label the instance of `run`: this is what `pc.solve(instance, policy)` calls.

        Parameters
        ----------
        search
            Simulations of a tree search before every decision; 0: greedily, without one.
        refine
            End with local search, by the moves that pay after a policy.
        persistent
            First label, all at once, the nodes whose label is proven to be that of a minimum; by
            default with refine. Not with search.
        scores
            Put the score of every step into `info["scores"]`, in the order of the steps.
        snapshots
            Step numbers before which to put all scores `[N, L]` into `info["snapshots"]`.
        options
            Of the tree search (`search.search.SearchOptions`): depth, leaf, reward, …
        """
        from policrf.policy.solver import prove_labels, refine_after

        if search < 0:
            raise InvalidOption(f"search is {search}; it must be 0 (none) or more simulations")
        proven = None
        if search:
            if persistent or scores or len(snapshots):
                raise InvalidOption(
                    f"{self.name}: persistent, scores, snapshots are not for search"
                )
            labels = LABELERS.get("search")(run, self, search=search, **options)
        else:
            for name in options:
                raise InvalidOption(f"{self.name}: {name} is an option of search; give search= too")
            if persistent or (persistent is None and refine):
                proven = prove_labels(run)
            labels = LABELERS.get("greedy")(
                run, self, proven=proven, scores=scores, snapshots=snapshots
            )
        if refine and not run.expired():
            refine_after(run, labels, proven)

    @property
    def further_options(self) -> dict[str, Option]:
        """The options of a tree search; how many simulations is said by `search`."""
        return dataclass_options(LABELERS.get("search options"), without=("simulations",))

    def check(self, instance: Instance) -> None:
        """Raise `PolicyMismatch`, the difference spelled out, for other labels or features."""
        _compare(
            self.name, "labels", self.spec.n_labels, self.spec.label_names,
            instance.crf.n_labels, instance.label_names,
        )  # fmt: skip
        _compare(
            self.name, "features", self.spec.n_features, self.spec.feature_names,
            instance.features.shape[1], instance.feature_names,
        )  # fmt: skip

    def save(self, path: str | Path) -> None:
        """Write one safetensors file."""
        from policrf.policy.checkpoint import save_policy

        save_policy(self, path)

    def __repr__(self) -> str:
        spec = self.spec
        size = sum(array.size for array in self.weights.values())
        return (
            f"Policy({self.name}: {spec.kind}, {spec.n_labels} labels, {spec.n_features} features, "
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
