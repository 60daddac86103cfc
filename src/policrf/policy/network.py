"""What a policy is, apart from its numbers: the kind of its network (`kinds`), sizes and names."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from policrf import limits
from policrf.argument_types import check_fields
from policrf.errors import InvalidOption
from policrf.policy.kinds import KINDS, SOURCES, Shapes, check_kind, embedding_shapes
from policrf.random_numbers import checked_seed
from policrf.solvers.numbers import DEFAULT
from policrf.types import Float32Array

COSTS = ("partial", "completed", "relaxed", "expected")
PAPER_BLOCKS = ("box_confidence", "box_unary", "box_overlap", "entropy")
# Those of them that do not change with the unit of cost where they are derived from a CRF alone.
UNIT_BLOCKS = ("box_confidence", "box_overlap")

Weights = dict[str, Float32Array]


@dataclass(frozen=True)
class Network:
    """Sizes of the network, and which costs the residual kind corrects."""

    layers: int = 3
    """K, layers of message passing."""
    width: int = 32
    """p, size of a node's embedding."""
    head_width: int = 16
    """Hidden units of the residual kind's correction."""
    costs: str = DEFAULT.costs
    """Costs that the residual kind corrects: partial, completed, relaxed or expected."""
    foresight: int = DEFAULT.foresight
    """Sweeps of mean field by which expected costs foresee unlabeled nodes; 0: their unaries."""
    quota_limit: float = 1.0
    """Expected costs leave out quotas of more than this many times their penalty; 0: none."""
    gain: float = DEFAULT.gain
    """What a label's promise to a clique that is asked half-way counts in its cost; 0: nothing."""
    units: bool = True
    """Whether costs are measured in the CRF's own unit (`crf.units`): E and c · E are then labeled
    alike. Policies from before have no units."""
    trust: float = 1.0
    """What the shared kind's learned correction counts beside the energy; 0: nothing."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.costs not in COSTS:
            raise InvalidOption(f"costs is {self.costs!r}; it must be one of {', '.join(COSTS)}")
        require_count("layers", self.layers, 1, limits.LAYERS)
        require_count("width", self.width, 1, limits.WIDTH)
        require_count("head_width", self.head_width, 1, limits.WIDTH)
        require_count("foresight", self.foresight, 0, limits.FORESIGHT)
        for name in ("quota_limit", "gain", "trust"):
            value = getattr(self, name)
            if not _is_real(value) or not 0 <= value <= limits.LARGEST_WEIGHT:
                raise InvalidOption(f"{name} is {value!r:.40}; it must be a number, 0 or more")
            object.__setattr__(self, name, float(value))  # kernels are compiled for floats


@dataclass(frozen=True, kw_only=True)
class Spec(Network):
    """Kind, sizes and names of a policy; with the weights, all that is needed to use it."""

    n_labels: int = 0
    """0: any number (the shared kind)."""
    n_features: int = 0
    """Columns of an instance's features; of the shared kind, blocks of them."""
    kind: str = "residual"
    """"paper", "residual" or "shared"."""
    squash: bool = True
    """Whether the residual kind's margins are squashed to (−1, 1)."""
    label_names: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()
    """Of the columns; of the shared kind, of the blocks that it reads (`shared.static_inputs`)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_kind(self.kind)
        if not isinstance(self.squash, bool | np.bool_):
            raise InvalidOption(f"squash is {self.squash!r:.40}; it must be true or false")
        if self.any_labels:
            self._take_any()
            return
        require_count("n_labels", self.n_labels, 1, limits.WIDTH)
        require_count("n_features", self.n_features, 1, limits.WIDTH)
        for names, size, what in (
            (self.label_names, self.n_labels, "label_names"),
            (self.feature_names, self.n_features, "feature_names"),
        ):
            if not all(isinstance(name, str) for name in names):
                raise InvalidOption(f"{what} holds something that is no name")
            if names and len(names) != size:
                raise InvalidOption(f"{what} has {len(names)} names for {size} columns")

    def _take_any(self) -> None:
        """Of a kind that takes any instance, names and numbers of labels and columns say nothing.

        Names with a colon are an instance's columns, not blocks: the policy reads the paper's.
        """
        blocks = self.feature_names
        if not blocks or any(":" in name for name in blocks):
            blocks = UNIT_BLOCKS if self.units else PAPER_BLOCKS
        fixed = {"n_labels": 0, "label_names": (), "n_features": len(blocks)}
        for name, value in (fixed | {"feature_names": blocks}).items():
            object.__setattr__(self, name, value)

    @property
    def any_labels(self) -> bool:
        """Whether labels share all weights, so that there may be any number of them."""
        return KINDS[self.kind].any_labels

    @property
    def sees_costs(self) -> bool:
        """Whether the network looks at conditional costs (margins and `INPUTS`)."""
        return KINDS[self.kind].sees_costs

    @property
    def network(self) -> Network:
        """The sizes alone, as learning takes them."""
        return Network(**{name: getattr(self, name) for name in Network.__dataclass_fields__})

    def shapes(self) -> Shapes:
        """The tensors of this policy."""
        common = {} if self.any_labels else embedding_shapes(self)
        return common | KINDS[self.kind].tensors(self)

    def initial_weights(self, seed: int = 0) -> Weights:
        """Random weights of variance 1 / inputs, but for those that the kind starts elsewhere."""
        generator = np.random.default_rng(checked_seed(seed))
        weights = {}
        for name, shape in self.shapes().items():
            inputs = 1 if name in ("theta1", "theta2") else shape[-1]
            if name.startswith("mix"):
                inputs = len(SOURCES) * shape[-1]
            weights[name] = (generator.normal(size=shape) / np.sqrt(inputs)).astype(np.float32)
        for name, value in KINDS[self.kind].start.items():
            weights[name][...] = value
        return weights

    def checked(self, weights: dict[str, Any]) -> Weights:
        """The weights as finite float32 of the right names and shapes."""
        shapes = self.shapes()
        if set(weights) != set(shapes):
            missing, extra = sorted(set(shapes) - set(weights)), sorted(set(weights) - set(shapes))
            raise InvalidOption(
                f"weights of a {self.kind} policy: missing {missing}, unknown {extra}"
            )
        checked = {name: np.array(weights[name], np.float32, order="C") for name in shapes}
        for name, array in checked.items():
            if array.shape != shapes[name]:
                raise InvalidOption(f"{name} has shape {array.shape}, it must be {shapes[name]}")
            if not np.isfinite(array).all():
                raise InvalidOption(f"{name} holds numbers that are not finite")
        return checked

    def as_dict(self) -> dict[str, Any]:
        """The fields as values that JSON can hold."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    @staticmethod
    def from_dict(fields: dict[str, Any]) -> Spec:
        """What `as_dict` wrote."""
        # Policies from before these fields look at the unaries, pursue every quota, have no units.
        values: dict[str, Any] = {"foresight": 0, "quota_limit": 0.0, "units": False} | fields
        if "rounds" in values:  # what `layers` was called in older files
            values["layers"] = values.pop("rounds")
        # Fields that are gone; a policy that needs one is refused below.
        for name in ("halfway_only", "least_labels", "most_labels"):
            if values.get(name) in (False, 0):
                del values[name]
        for name in ("label_names", "feature_names"):
            if not isinstance(fields.get(name, ()), list | tuple):
                raise InvalidOption(f"{name} is no list of names")
            values[name] = tuple(fields.get(name, ()))
        known = Spec.__dataclass_fields__
        if wrong := sorted({*values} - {*known} | {"n_labels", "n_features"} - {*values}):
            raise InvalidOption(f"the fields {', '.join(wrong)} are missing or not known")
        return Spec(**values)


def require_count(name: str, value: Any, least: int, most: int) -> None:
    """Refuse what is no whole number, or outside least … most."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not least <= value <= most:
        raise InvalidOption(
            f"{name} is {value!r:.40}; it must be whole, at least {least} and at most {most}"
        )


def _is_real(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
