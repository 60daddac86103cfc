"""One episode: s_t = (I_t in selection order, y_{I_t}), from ∅ to all ("Problem Formulation").

An action is (i, l): an unlabeled node and a label it may have. A label is allowed where the unary
is finite, so that a policy never picks a forbidden one; every node has at least one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from policrf.crf.changes import unassign
from policrf.crf.model import CRF
from policrf.crf.state import new_state
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.errors import InvalidLabeling
from policrf.mdp.completion import completed_energy, new_completion, set_completed
from policrf.mdp.step_rewards import new_report, take
from policrf.types import IntArray


def default_labels(crf: CRF) -> IntArray:
    """The unary argmin of every node `[N]`: what completes a labeling unless others are given."""
    return np.asarray(np.argmin(crf.unary, axis=1), np.int64)


def allowed_labels(crf: CRF) -> NDArray[np.bool_]:
    """Which labels a node may be given, `[N, L]`."""
    return np.asarray(np.isfinite(crf.unary))


class Episode:
    """A labeling in progress, with rewards and undo.

    Parameters
    ----------
    crf
        The model whose N nodes are labeled.
    default
        Labels `[N]` that complete a partial labeling; the unary argmin if not given.
    rewards
        Names of the rewards that `step` reports (`mdp.rewards.REWARDS`).
    ties
        Whether `sign` rewards a label that shares the lowest energy.

    >>> import policrf as pc
    >>> episode = Episode(pc.CRF([[0.0, 1.0], [1.0, 0.0]], pc.Potts([[0, 1]], 0.5)))
    >>> episode.step(1, 1)["difference"], episode.step(0, 1)["difference"]
    (-0.0, -1.0)
    >>> episode.order, episode.energy, episode.done
    ([1, 0], 1.0, True)
    """

    def __init__(
        self,
        crf: CRF,
        *,
        default: ArrayLike | None = None,
        rewards: Sequence[str] = ("difference", "sign", "shaped"),
        ties: bool = False,
    ) -> None:
        self.crf = crf
        chosen = default_labels(crf) if default is None else crf.checked_labels(default)
        self.state = new_state(crf.arrays)
        self.completion = new_completion(crf.arrays, chosen, beliefs=False)
        self.order: list[int] = []
        self._totals: list[tuple[float, int]] = []
        self._allowed = allowed_labels(crf)
        self._rewards = tuple(rewards)
        self._report = new_report(self._rewards, ties, crf.n_labels)

    @property
    def labels(self) -> IntArray:
        """A copy of the labels `[N]`, −1 where unlabeled."""
        return self.state.labels.copy()

    @property
    def energy(self) -> float:
        """E_t."""
        return float("inf") if self.state.forbidden[0] else float(self.state.total[0])

    @property
    def completed_energy(self) -> float:
        """Φ(s_t), the relaxed energy of the completed labeling (`completion.py`)."""
        value = completed_energy(self.crf.arrays, self.state, self.completion)
        raise_if_failed()
        return float(value)

    @property
    def done(self) -> bool:
        """Whether every node has a label."""
        return len(self.order) == self.crf.n_nodes

    def actions(self) -> NDArray[np.bool_]:
        """A_t as a mask `[N, L]`."""
        return np.asarray(self._allowed & (self.state.labels < 0)[:, None])

    def step(self, node: int, label: int) -> dict[str, float]:
        """Take the action (node, label); returns the rewards by name."""
        self._check(node, label)
        self._totals.append((float(self.state.total[0]), int(self.state.forbidden[0])))
        self.order.append(int(node))
        arrays, report = self.crf.arrays, self._report
        take(arrays, self.state, self.completion, int(node), int(label), report)
        raise_if_failed()
        return dict(zip(self._rewards, report.earned.tolist(), strict=True))

    def undo(self) -> None:
        """Take the last step back; the energy is restored to the last bit."""
        if not self.order:
            raise InvalidLabeling("there is no step to undo")
        node = self.order.pop()
        unassign(self.crf.arrays, self.state, node)
        set_completed(self.crf.arrays, self.completion, node, self.completion.default[node])
        self.state.total[0], self.state.forbidden[0] = self._totals.pop()
        raise_if_failed()

    def _check(self, node: int, label: int) -> None:
        if not 0 <= node < self.crf.n_nodes:
            raise InvalidLabeling(f"node {node} is outside 0 … {self.crf.n_nodes - 1}")
        if self.state.labels[node] >= 0:
            raise InvalidLabeling(
                f"node {node} is labeled already; pick one that `actions()` allows"
            )
        if not 0 <= label < self.crf.n_labels or not self._allowed[node, label]:
            raise InvalidLabeling(f"label {label} is not allowed at node {node}")
