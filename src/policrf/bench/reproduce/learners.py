"""How the rows DQN, MCTS and supervised learn and decide, in the paper's form and in ours.

What the paper leaves open, as it is taken here: γ = 0 (0.9 without a target network collapses), ε =
½ throughout, 128 steps in a batch of Q-learning and 32 in one of tree search. Its 375,000 gradient
steps in 10 epochs of 10,582 images are 3.5 an image: 14 in a round of four episodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

R1, R2 = "difference", "sign"
REWARD_NAMES = {R1: "R1", R2: "R2"}
EVERYTHING = 10**6


@dataclass(frozen=True)
class Learner:
    """A row of learned policies."""

    method: str
    options: Mapping[str, Any]
    """Of the method, by their flat names."""
    deciding: Mapping[str, Any] = field(default_factory=dict)
    """Options of the policy when it labels; none: greedily."""
    weights: str = "last"
    """Which policy of a run is taken: last, or best (by the energy on held-out training images)."""
    rounds: int = 0
    """Rounds of learning; 0: as many as the preset's epochs take."""
    per_term: bool = True
    """Whether it looks at the energy; one that does not is learned once for all energies."""

    def row(self, policy: str) -> str:
        """A policy's file with the options of deciding, as `solve` takes it."""
        if not self.deciding:
            return policy
        told = ",".join(f"{name}={_text(value)}" for name, value in self.deciding.items())
        return f"{policy}:{told}"


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_ADAM = {"learning_rate": 1e-3, "learning_rate_final": 1e-3}
_NETWORK = {"kind": "paper", "layers": 3}
_REPLAY = {"keep": EVERYTHING, "share": 0.5, "balance": 1.0}
_TREE = {
    "depth": 4, "leaf": "rewards", "root": "puct", "candidates": 0, "encourage": True,
    "exploration": 1.0, "temperature": 1.0, "scaled": False,
}  # fmt: skip


def _paper_dqn(reward: str) -> Learner:
    options = _NETWORK | _ADAM | _REPLAY | {
        "reward": reward, "target": "reward", "backup": "taken", "discount": 0.0, "scaled": False,
        "epsilon": 0.5, "epsilon_final": 0.5, "episodes": 4, "updates": 14, "batch": 128,
    }  # fmt: skip
    return Learner("dqn", options)


def _paper_mcts(reward: str) -> Learner:
    options = _NETWORK | _ADAM | _REPLAY | _TREE | {
        "reward": reward, "target": "visits", "simulations": 50, "repeats": 10, "episodes": 10,
        "actors": 1, "others": EVERYTHING, "updates": 4, "batch": 32, "capacity": 5000,
    }  # fmt: skip
    deciding = {"search": 20, "reward": reward, **_TREE, "borrow": 0, "stop_early": False}
    return Learner("mcts", options, deciding)


def _supervised(**options: Any) -> Learner:
    return Learner("supervised", {"kind": "paper", "layers": 3} | options, per_term=False)


PAPER = {
    "supervised": _supervised(**_ADAM, updates=14),
    "DQN R1": _paper_dqn(R1),
    "DQN R2": _paper_dqn(R2),
    "MCTS R1": _paper_mcts(R1),
    "MCTS R2": _paper_mcts(R2),
}

_RESIDUAL = {
    "kind": "residual", "balance": 0.0, "learning_rate": 3e-4, "learning_rate_final": 3e-5,
    "episodes": 8,
}  # fmt: skip
_OWN_DQN = _RESIDUAL | {
    "epsilon": 0.9, "epsilon_final": 1.0, "batch": 64, "decay_rounds": 60,
}  # fmt: skip


def _own_dqn(**options: Any) -> Learner:
    return Learner("dqn", _OWN_DQN | options, weights="best", rounds=60)


def _own_mcts(reward: str) -> Learner:
    options = _RESIDUAL | {"temperature": 0.025, "decay_rounds": 20, "reward": reward}
    return Learner("mcts", options, {"search": 20}, weights="best", rounds=20)


OURS = {
    "supervised": _supervised(),
    "DQN R1": _own_dqn(reward=R1, target="reward"),
    "DQN R2": _own_dqn(reward=R2, target="reward"),
    "MCTS R1": _own_mcts(R1),
    "MCTS R2": _own_mcts(R2),
    "DQN hindsight": _own_dqn(teacher="alpha_expansion"),
}


def shortened(learner: Learner) -> Learner:
    """The same with little to do."""
    less: dict[str, Any] = {"updates": 2, "batch": 8}
    if learner.method == "mcts":
        less |= {"simulations": 4, "depth": 2, "repeats": 1, "episodes": 2, "capacity": 200}
    deciding = dict(learner.deciding)
    if deciding:
        deciding |= {"search": 3, "depth": 2}
    return replace(learner, options={**learner.options, **less}, deciding=deciding)
