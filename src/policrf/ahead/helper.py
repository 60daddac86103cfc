"""A process that compiles kernels for another: `python -m policrf.ahead.helper PARENT`.

It reads the places of kernels in the plan, a line each, compiles and keeps them, and answers each
with a line. It ends when there is nothing more to read, or with the process that started it.
"""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module

PR_SET_PDEATHSIG = 1  # of Linux's prctl


def main(parent: int) -> None:
    """Work until the input ends."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the other process's to answer
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        print("done" if compiled(int(line)) else "failed", file=answers, flush=True)


def compiled(place: int) -> bool:
    """Compile one kernel; False where the plan is out of date."""
    from policrf.ahead.plan import plans, types_of

    kernel = plans().kernels[place]
    module, _, name = kernel.name.partition(":")
    try:
        getattr(import_module(module), name).compile(types_of(kernel))
    except Exception:  # whatever numba raises: who needs the kernel will hear of it
        return False
    return True


if __name__ == "__main__":
    main(int(sys.argv[1]))
