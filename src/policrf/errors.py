"""One exception per kind of mistake; each message names what was wrong, where, and the fix."""

from __future__ import annotations


class PolicrfError(Exception):
    """Base of every error a user can cause; the command line turns it into exit code 2."""


class InvalidPotential(PolicrfError, ValueError):
    """A group of potentials is malformed; the message names the group and its first bad entry."""


class InvalidLabeling(PolicrfError, ValueError):
    """A labeling has the wrong shape or type, or a label that its node does not have."""


class InvalidInstance(PolicrfError, ValueError):
    """Features, edge weights or truth do not fit the CRF they come with."""


class InvalidOption(PolicrfError, ValueError):
    """An option is out of its range, or unknown to the solver or command it was given to."""


class InvalidFile(PolicrfError, ValueError):
    """A file is missing, damaged, or not of the format it should have."""


class InUse(PolicrfError, RuntimeError):
    """Another run is writing to the same folder or file."""


class ClusterLost(PolicrfError, RuntimeError):
    """A Ray cluster has lost work, and could not do it again."""


class UnknownName(PolicrfError, KeyError):
    """A solver, reward, preset or policy of that name is not registered."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class UnsupportedPotential(PolicrfError, TypeError):
    """A solver was given a potential that it cannot take; none is ever dropped silently."""


class TooLarge(PolicrfError, MemoryError):
    """What was asked for does not fit in memory or in the limit that the message names."""


class MissingDependency(PolicrfError, ImportError):
    """An optional library is needed; the message gives the extra that installs it."""


class CustomPotentialFailed(PolicrfError, RuntimeError):
    """The function of a `Custom` potential raised, or returned NaN."""


class RewardFailed(PolicrfError, RuntimeError):
    """The function of a reward cannot be compiled, raised, or gave NaN."""


class PolicyMismatch(PolicrfError, ValueError):
    """A policy met an instance with other labels or features than it was made for."""
