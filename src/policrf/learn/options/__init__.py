"""Every option of learning, said once: a frozen dataclass for each method, in groups.

The command line nests these very dataclasses; the docstring of a field is its help there. No two
fields of a method share a name, so that the name alone says which one is meant: `--width 16` and
`train(instances, "dqn", width=16)`, although `width` belongs to the group `network`.
"""

from policrf.learn.options.groups import (
    Exploration,
    LabelTargets,
    Memory,
    Optimizer,
    Perturbations,
    Returns,
    Schedule,
    Search,
    SelfPlay,
    SharedPlay,
    TreeTargets,
)
from policrf.learn.options.methods import (
    DQN,
    MCTS,
    METHODS,
    Evolve,
    Imitate,
    Method,
    Shared,
    Supervised,
)
from policrf.policy.network import Network

__all__ = [
    "DQN",
    "MCTS",
    "METHODS",
    "Evolve",
    "Exploration",
    "Imitate",
    "LabelTargets",
    "Memory",
    "Method",
    "Network",
    "Optimizer",
    "Perturbations",
    "Returns",
    "Schedule",
    "Search",
    "SelfPlay",
    "Shared",
    "SharedPlay",
    "Supervised",
    "TreeTargets",
]
