"""What goes wrong on a cluster, as the errors that the same work raises on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from policrf.errors import ClusterLost, TooLarge


@contextmanager
def plain_errors(ray: Any, what: str) -> Iterator[None]:
    """Within, an error of a worker is raised as itself, and a lost worker as one sentence.

    Parameters
    ----------
    ray
        The module.
    what
        What the worker was at, for the sentence.
    """
    failed = ray.exceptions
    try:
        yield
    except failed.RayTaskError as error:
        cause = getattr(error, "cause", None)
        if isinstance(cause, BaseException) and not isinstance(cause, failed.RayError):
            raise cause from None
        raise
    except (failed.OutOfMemoryError, failed.WorkerCrashedError, failed.RayActorError) as error:
        memory = isinstance(error, failed.OutOfMemoryError)
        why = "ran out of memory" if memory else "died, most likely because memory ran out"
        raise TooLarge(
            f"the workers that tried {what} {why}; what is finished is kept: give the nodes fewer "
            "CPUs (ray start --num-cpus) or more memory, and the same command goes on"
        ) from None
    except failed.RayError as error:
        raise ClusterLost(
            f"the Ray cluster has lost {what} ({type(error).__name__}); what is finished is kept, "
            "and the same command goes on from there"
        ) from None
