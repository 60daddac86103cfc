"""Ctrl-C that comes while C code has called Python: other exceptions wrap it there.

numba unpickles kernels that way. What arrives is a SystemError, or whatever a library makes of it:
whoever catches any exception must not take a user who wants to stop for a damaged file.
"""

from __future__ import annotations


def interrupt_in(error: BaseException) -> KeyboardInterrupt | None:
    """The KeyboardInterrupt that an exception is, or was raised from; None if there is none.

    >>> try:
    ...     raise SystemError("a result with an exception set") from KeyboardInterrupt()
    ... except SystemError as error:
    ...     print(repr(interrupt_in(error)))
    KeyboardInterrupt()
    """
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        if isinstance(current, KeyboardInterrupt):
            return current
        seen.add(id(current))
        current = current.__cause__ or current.__context__
    return None
