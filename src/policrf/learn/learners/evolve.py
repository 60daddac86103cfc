"""Policy search on the final energy: evolution strategies (Salimans et al. 2017) on few weights.

    g = 1 / (2 n σ) Σ_k [F(θ + σ ε_k) − F(θ − σ ε_k)] ε_k,      F = −mean of (E − E_0) / s

E is the energy of the whole greedy labeling, or of what single relabels or `refine` make of it:
credit from the end of the episode, for every term of the energy and for the local search that
follows, without any reward in between. E_0 is what the policy reached before learning and s = |E_0|
(`scale` "energy"); or E_0 and s are mean and deviation of a round's tries on the instance (`scale`
"tries"), so that in a mixture every instance has the same say, whatever its energies are like; what
ends above the untrained rule's energy then counts `guard` times more. An
episode costs a millisecond or two, so that a few hundred of them are a step; it takes a policy that
is good already (the untrained rule of the residual or shared kind, or a trained one) and few
weights: by default those that a kind's scores are sums over.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from policrf.errors import InvalidOption
from policrf.learn.experience.corpus import Instances
from policrf.learn.experience.engines import kept_engines
from policrf.learn.learners.learner import Learner, initial_weights
from policrf.learn.options import Evolve
from policrf.policy.kinds import KINDS
from policrf.policy.network import Spec
from policrf.policy.policy import Policy
from policrf.solvers.refine.refine_rounds import Moves, refine_labels
from policrf.types import FloatArray

MOVES = {"refined": Moves(), "icm": Moves(False, False, False, False, False)}
VECTORS = ("vector", "mean", "square")


class EvolveLearner(Learner):
    """A vector of weights, a step a round; what `loop.py` drives."""

    def __init__(
        self,
        config: Evolve,
        spec: Spec,
        corpus: Instances,
        seed: int = 0,
        start: Policy | None = None,
    ) -> None:
        super().__init__(spec, corpus, seed, 3)
        self.config = config
        self.weights = initial_weights(spec, seed, start)
        tensors = config.perturbations.tensors or KINDS[spec.kind].last
        self.tensors = tensors
        for name in tensors:
            if name not in self.weights:
                raise InvalidOption(f"a {spec.kind} policy has no tensor {name!r}")
        self.vector: FloatArray = np.concatenate(
            [self.weights[name].ravel() for name in tensors]
        ).astype(np.float64)
        self.mean, self.square = np.zeros_like(self.vector), np.zeros_like(self.vector)
        self.reference: FloatArray = np.full(len(corpus), np.nan)
        self.engines = kept_engines(corpus.instances)

    def policy(self) -> Policy:
        """The policy at present."""
        return self._policy(self.vector)

    def begin(self, pool: ThreadPoolExecutor) -> None:
        """The energies that the policy starts from; with a guard, those of the untrained rule."""
        policy = self.policy()
        if self.config.perturbations.guard:
            policy = Policy(self.spec, self.spec.initial_weights(self.seed))
        energies = pool.map(lambda k: self._energy(policy, k), range(len(self.corpus)))
        self.reference[:] = list(energies)

    def round(self, pool: ThreadPoolExecutor) -> None:
        """One step along the estimated gradient."""
        config = self.config.perturbations
        count = min(config.trials, len(self.corpus))
        chosen = self.generator.choice(len(self.corpus), count, replace=False)
        noise = self.generator.normal(size=(config.pairs, len(self.vector)))
        tries = np.concatenate(
            [self.vector + config.sigma * noise, self.vector - config.sigma * noise]
        )
        energies = np.array(list(pool.map(lambda x: self._energies(x, chosen), tries)))
        worth = self._worth(energies, chosen)
        difference = worth[: config.pairs] - worth[config.pairs :]
        spread = max(float(worth.std()), 1e-12)
        gradient = (difference / spread) @ noise / (2 * config.pairs)
        self.rounds += 1
        self.updates += 1
        self.mean = 0.9 * self.mean + 0.1 * gradient
        self.square = 0.99 * self.square + 0.01 * gradient**2
        fair = self.mean / (1 - 0.9**self.rounds)
        size = np.sqrt(self.square / (1 - 0.99**self.rounds))
        self.vector = self.vector + self._step * fair / (size + 1e-8)
        self.episodes += 2 * config.pairs * count
        self.recent = {"loss": -100 * float(worth.mean()), "best_try": -100 * float(worth.max())}

    @property
    def _step(self) -> float:
        """The step of this round; it falls along a cosine where it is told to."""
        config = self.config.perturbations
        if not config.fall_rounds:
            return config.step
        part = min(1.0, self.rounds / config.fall_rounds)
        return config.step * float(1 + np.cos(np.pi * part)) / 2

    def _worth(self, energies: FloatArray, chosen: Any) -> FloatArray:
        """F of every try `[T]`, from the energies `[T, K]` that it reached."""
        if self.config.perturbations.scale == "tries":
            spread = np.maximum(energies.std(axis=0), 1e-9)
            over = energies - energies.mean(axis=0)
            if guard := self.config.perturbations.guard:
                over += guard * np.maximum(energies - self.reference[chosen], 0.0)
            return np.asarray(-(over / spread).mean(axis=1))
        reference = self.reference[chosen]
        gained = (energies - reference) / np.maximum(np.abs(reference), 1e-9)
        return np.asarray(-gained.mean(axis=1))

    def _energies(self, vector: FloatArray, chosen: Any) -> list[float]:
        """What these weights reach on the chosen instances."""
        policy = self._policy(vector)
        return [self._energy(policy, int(k)) for k in chosen]

    def _energy(self, policy: Policy, k: int) -> float:
        crf = self.corpus.instances[k].crf
        with self.engines.lent(policy, k) as engine:
            labels = engine.label_all()[0]
        if self.config.lower != "greedy":
            labels = refine_labels(crf, labels, MOVES[self.config.lower])
        return crf.energy(labels)

    def _policy(self, vector: FloatArray) -> Policy:
        weights, at = dict(self.weights), 0
        for name in self.tensors:
            array = self.weights[name]
            weights[name] = vector[at : at + array.size].reshape(array.shape).astype(np.float32)
            at += array.size
        return Policy(self.spec, weights)

    def state(self) -> dict[str, Any]:
        """The weights, the vectors of the search and the energies it started from too."""
        own = {name: getattr(self, name) for name in ("weights", *VECTORS, "reference")}
        return super().state() | own

    def restore(self, state: dict[str, Any]) -> None:
        """What `state` gave."""
        super().restore(state)
        for name in ("weights", *VECTORS, "reference"):
            setattr(self, name, state[name])
