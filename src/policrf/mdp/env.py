"""The MDP as a Gymnasium environment: `gymnasium.make("policrf.mdp.env:policrf/Label-v0")`.

Importing this module registers it, and the part before the colon is the module that
`gymnasium.make` imports first. An action is the number node · L + label. Which actions are open
stands in `info["action_mask"]` (int8 `[N · L]`, as `Discrete.sample(mask)` takes it); any other is
an error, not a silent no-op.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policrf.crf.instance import Instance
from policrf.errors import InvalidInstance, MissingDependency
from policrf.mdp.state import Episode

try:
    import gymnasium
except ImportError as error:
    raise MissingDependency(
        "the environment needs gymnasium; install it with: pip install 'policrf[learn]'"
    ) from error

ENVIRONMENT = "policrf/Label-v0"
Observation = dict[str, NDArray[Any]]


class LabelEnv(gymnasium.Env[Any, Any]):
    """Label an instance node by node; an episode has N steps.

    Parameters
    ----------
    instance
        One, or several of the same size of which each episode draws one; by default synthetic
        scenes of 50 nodes.
    reward
        The name of a reward: "difference", "sign", "shaped", or that of a plugin.
    ties
        Whether `sign` rewards a label that shares the lowest energy.

    Notes
    -----
    The observation holds the labels so far `[N]` (−1 = none) and the node features `[N, F]`.
    `info["rewards"]` has the package's own rewards too.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        instance: Instance | Sequence[Instance] | None = None,
        *,
        reward: str = "sign",
        ties: bool = False,
    ) -> None:
        self.instances = _same_size(instance)
        self.reward = reward
        self.ties = ties
        n_nodes, n_labels = self.instances[0].crf.unary.shape
        values = [instance.features for instance in self.instances]
        low, high = float(np.min(values)), float(np.max(values))
        self.action_space = gymnasium.spaces.Discrete(n_nodes * n_labels)
        self.observation_space = gymnasium.spaces.Dict(
            {
                "labels": gymnasium.spaces.Box(-1, n_labels - 1, (n_nodes,), np.int64),
                "features": gymnasium.spaces.Box(
                    low, max(high, low + 1.0), values[0].shape, np.float32
                ),
            }
        )
        self.instance = self.instances[0]
        self.episode = self._new_episode()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode; `options={"index": k}` asks for instance k instead of a random one."""
        super().reset(seed=seed)
        index = (options or {}).get("index")
        if index is None:
            index = int(self.np_random.integers(len(self.instances)))
        self.instance = self.instances[index]
        self.episode = self._new_episode()
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Give a node a label."""
        node, label = divmod(int(action), self.instance.crf.n_labels)
        rewards = self.episode.step(node, label)
        info = self._info() | {"rewards": rewards}
        return self._observation(), rewards[self.reward], self.episode.done, False, info

    def _new_episode(self) -> Episode:
        names = dict.fromkeys(("difference", "sign", "shaped", self.reward))
        return Episode(self.instance.crf, rewards=list(names), ties=self.ties)

    def _observation(self) -> Observation:
        return {"labels": self.episode.labels, "features": np.array(self.instance.features)}

    def _info(self) -> dict[str, Any]:
        mask = self.episode.actions().reshape(-1).astype(np.int8)
        return {"action_mask": mask, "energy": self.episode.energy}


def _same_size(instance: Instance | Sequence[Instance] | None) -> list[Instance]:
    if instance is None:
        from policrf.scenes import make_scene

        return [make_scene(50, "A", seed=seed) for seed in range(8)]
    instances = [instance] if isinstance(instance, Instance) else list(instance)
    if not instances:
        raise InvalidInstance("LabelEnv needs at least one instance")
    wanted = (instances[0].crf.unary.shape, instances[0].features.shape)
    for k, other in enumerate(instances):
        shape = (other.crf.unary.shape, other.features.shape)
        if shape != wanted:
            raise InvalidInstance(
                f"instance {k} has unary and features of shapes {shape}, instance 0 of {wanted}; "
                "one environment holds instances of one size"
            )
    return instances


gymnasium.register(id=ENVIRONMENT, entry_point="policrf.mdp.env:LabelEnv")
