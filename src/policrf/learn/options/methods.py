"""The options of each method of learning, put together from groups; one default each."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from policrf.errors import InvalidOption
from policrf.learn.options import groups
from policrf.learn.options.groups import at_least, one_of
from policrf.policy.kinds import check_kind
from policrf.policy.network import Network

if TYPE_CHECKING:
    from policrf.search.search import SearchOptions

DQN_TARGETS, MCTS_TARGETS = ("reward", "hindsight"), ("improved", "visits", "hindsight")
SHARED_LEARNERS = ("imitate", "q", "tree", "evolve")
SEARCHED = ("head_linear", "head_out", "prior_inputs")  # tensors of the kind shared
LOWER = ("refined", "icm", "greedy")


@dataclass(frozen=True)
class Method:
    """What every way to learn shares."""

    kind: str = "paper"
    """Kind of network: paper, residual (corrects the energy's costs), shared (for any labels)."""
    rounds: int = 1000
    """Rounds of learning."""
    seconds: float | None = None
    """Stop after this many seconds of learning even if rounds are left."""
    network: Network = field(default_factory=Network)
    schedule: groups.Schedule = groups.Schedule()

    def __post_init__(self) -> None:
        check_kind(self.kind)
        at_least(self, 0, "rounds")
        if self.seconds is not None and not self.seconds >= 0:
            raise InvalidOption(f"seconds is {self.seconds}; it must be 0 or more")

    @property
    def threads(self) -> int:
        """Threads that play."""
        return 1


@dataclass(frozen=True)
class DQN(Method):
    """Q-learning on the energy, with the structured replay memory."""

    reward: str = "sign"
    """sign (the paper's R2), difference (R1), shaped, or the name of a plugin's."""
    target: str = "hindsight"
    """hindsight: labels of the best labeling found so far; reward: returns."""
    teacher: str = ""
    """Whose labelings hindsight starts from: a solver or policy, as in solve; none if empty."""
    exploration: groups.Exploration = groups.Exploration()
    returns: groups.Returns = groups.Returns()
    memory: groups.Memory = groups.Memory()
    optimizer: groups.Optimizer = groups.Optimizer()

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_reward(self.reward)
        one_of(self, "target", DQN_TARGETS)

    @property
    def threads(self) -> int:
        """Threads that play."""
        return self.exploration.actors


@dataclass(frozen=True)
class MCTS(Method):
    """Self-play with tree search: the network learns what the search decides."""

    reward: str = "sign"
    """sign (the paper's R2), difference (R1), shaped, or the name of a plugin's."""
    target: str = "improved"
    """improved: values of the tree and known rewards; visits (the paper); hindsight."""
    search: groups.Search = groups.Search()
    play: groups.SelfPlay = groups.SelfPlay()
    targets: groups.TreeTargets = groups.TreeTargets()
    memory: groups.Memory = groups.Memory(capacity=20_000)
    optimizer: groups.Optimizer = groups.Optimizer(
        learning_rate=3e-3, decay_rounds=100, updates=32, batch=32
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_reward(self.reward)
        one_of(self, "target", MCTS_TARGETS)
        self.search_options()

    def search_options(self) -> SearchOptions:
        """The search of self-play."""
        from policrf.search.search import SearchOptions

        return SearchOptions(
            reward=self.reward, gumbel_scale=1.0, lowest=-1.0, borrow=0, stop_early=False,
            **asdict(self.search),
        )  # fmt: skip

    @property
    def threads(self) -> int:
        """Threads that play."""
        return self.play.actors


@dataclass(frozen=True)
class Evolve(Method):
    """Search over few weights for the lowest energy in the end; starts from a good policy."""

    kind: str = "residual"
    """Kind of network: paper, residual (corrects the energy's costs), shared (for any labels)."""
    lower: str = "refined"
    """What is lowered: the energy after local search (refined), after single relabels (icm), or of
    the labeling itself (greedy)."""
    perturbations: groups.Perturbations = groups.Perturbations()

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, "lower", LOWER)

    @property
    def threads(self) -> int:
        """Threads that try perturbations."""
        return self.perturbations.actors


@dataclass(frozen=True)
class Imitate(Method):
    """Imitation of true labels, or of the lowest energies known, by the kind shared."""

    kind: str = "shared"
    """Kind of network: shared (weights that all labels share)."""
    truth: float = 1.0
    """What true labels count, where there are any; the rest is for the lowest energy known."""
    teacher: str = ""
    """Who finds low energies to begin with: a solver or policy, as in solve; none if empty."""
    balance: float = 0.25
    """Nodes count by 1 / frequency^balance of their target's label in their instance."""
    network: Network = field(default_factory=lambda: Network(width=16))
    optimizer: groups.Optimizer = groups.Optimizer(
        learning_rate=5e-3, decay_rounds=100, updates=16, batch=8
    )
    schedule: groups.Schedule = groups.Schedule(select="iou")

    def __post_init__(self) -> None:
        super().__post_init__()
        groups.shares(self, "truth", "balance")


@dataclass(frozen=True)
class Shared(Method):
    """Every learner of the kind shared (any labels): imitate, q, tree, evolve."""

    kind: str = "shared"
    """Kind of network: shared (weights that all labels share)."""
    learner: str = ""
    """imitate, q, tree or evolve; if empty, imitate where truth is known and counts, else evolve:
    what lowers energies most (benchmarks/results/learners.md)."""
    lower: str = "icm"
    """What evolve lowers: energies of labelings (greedy), after single relabels (icm), or local
    search (refined)."""
    network: Network = field(default_factory=lambda: Network(width=16))
    labels: groups.LabelTargets = groups.LabelTargets()
    play: groups.SharedPlay = groups.SharedPlay()
    search: groups.Search = groups.Search(temperature=0.025)
    perturbations: groups.Perturbations = groups.Perturbations(
        sigma=0.15, step=0.05, scale="tries", tensors=SEARCHED
    )
    optimizer: groups.Optimizer = groups.Optimizer(
        learning_rate=5e-3, decay_rounds=100, updates=16, batch=8
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, "lower", LOWER)
        if self.learner:
            one_of(self, "learner", SHARED_LEARNERS)
        self.search_options()

    def as_imitate(self) -> Imitate:
        """What imitation reads of them."""
        return Imitate(
            kind=self.kind, rounds=self.rounds, seconds=self.seconds, network=self.network,
            optimizer=self.optimizer, schedule=self.schedule, **asdict(self.labels),
        )  # fmt: skip

    def as_evolve(self) -> Evolve:
        """What policy search reads of them."""
        return Evolve(
            kind=self.kind, rounds=self.rounds, seconds=self.seconds, network=self.network,
            schedule=self.schedule, lower=self.lower, perturbations=self.perturbations,
        )  # fmt: skip

    def search_options(self) -> SearchOptions:
        """The search of self-play."""
        from policrf.search.search import SearchOptions

        return SearchOptions(
            reward=self.play.reward, gumbel_scale=1.0, lowest=-1.0, borrow=0, stop_early=False,
            **asdict(self.search),
        )  # fmt: skip


@dataclass(frozen=True)
class Supervised(Method):
    """The supervised baseline: true labels from the same features."""

    balance: float = 0.5
    """Classes are drawn with frequency^(1 − balance): 0 as they come, 1 all equally often."""
    optimizer: groups.Optimizer = groups.Optimizer(decay_rounds=300, batch=256)


METHODS: dict[str, type[Method]] = {
    "dqn": DQN, "evolve": Evolve, "imitate": Imitate, "mcts": MCTS, "shared": Shared,
    "supervised": Supervised,
}  # fmt: skip


def _check_reward(reward: str) -> None:
    from policrf.mdp.rewards import load_reward

    load_reward(reward)
