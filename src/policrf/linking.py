"""Inner functions are handed to their callers as bitcode, and compiled there only.

numba optimises every function on its own, with all that it calls, and makes machine code of it,
before a caller links it and does the same again: a kernel six calls deep is compiled six times.
Functions that only kernels call need none of that. They are linked as they are, and the kernel with
a door to Python optimises the whole once. This halves the time of compiling the energy core.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typed_passes import NopythonTypeInference


class _NoEnvironment:
    """Stands where numba sets a function's environment, which only its own machine code has."""

    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        """Nothing to set."""


class _LinkedLibrary(JITCodeLibrary):
    """A function and what it calls, as bitcode for the callers to link."""

    codegen = _NoEnvironment

    def finalize(self) -> None:
        """Link what the function calls; optimise nothing, make no machine code."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """0: there is no machine code to point to."""
        return 0


@register_pass(mutates_CFG=False, analysis_only=False)
class _LinkLater(FunctionPass):
    """Puts the function into a library that is compiled by its callers."""

    _name = "policrf_link_later"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Called by numba before the function is lowered."""
        codegen = state.targetctx.codegen()
        state.library = _LinkedLibrary(codegen, state.func_id.func_qualname)
        return True


class QuickFlags(Flags):
    """numba's flags, compared by the values that are set: numba asks half a million times.

    Its own comparison looks at all options every time, a tenth of the time of compiling.
    """

    __slots__ = ()

    def __hash__(self) -> int:
        return _HASH

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Flags) and self._values == other._values:
            return True
        return bool(super().__eq__(other))


_HASH = hash(Flags())  # the same for all flags


class LinkedCompiler(CompilerBase):
    """numba's compiler, for functions that only kernels call."""

    def define_pipelines(self) -> list[Any]:
        """The passes of `njit`, with the library of this module."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_LinkLater, NopythonTypeInference)
        passes.finalize()
        return [passes]
