"""Kernels as parts of other kernels.

Numba turns every function into machine code of its own, even one that is only called by other
kernels, and optimises it again in each of its callers. Here a kernel has two compiled forms: an
entry, which Python calls and which is kept on disk, and a part, which other kernels call. Of a part
there is only the intermediate code: it is optimised once, inside the entry that needs it. That
halves what a first call has to wait for, and the code that runs is the same.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.dispatcher import Dispatcher


class _NoEnvironment:
    """Keep no environment: that is what a wrapper for Python needs, and a part has none."""

    def set_env(self, env_name: str, env: Any) -> None:
        """Do nothing."""


class _PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Intermediate code that is linked into its callers and never run by itself."""

    codegen = _NoEnvironment()

    def _optimize_final_module(self) -> None:
        """Leave it to the entry."""

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: there is no machine code."""
        self._ensure_finalized()
        return 0


class _InlinedLibrary(_PartLibrary):
    """Intermediate code of which each caller has its own copy."""

    def add_ir_module(self, ir_module: Any) -> None:
        """Take a module in."""
        for function in ir_module.functions:
            if not function.is_declaration:
                function.attributes.add("alwaysinline")
        super().add_ir_module(ir_module)


class PartCompiler(CompilerBase):  # type: ignore[misc]
    """Compile a function as a part."""

    library = _PartLibrary

    def define_pipelines(self) -> list[Any]:
        """Return Numba's own passes, with a library that makes no machine code.

        What is set here rather than as a flag is not handed down: Numba compiles min, max and the
        like again for callers with other flags.
        """
        state = self.state
        state.flags.no_cpython_wrapper = True
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        return [DefaultPassBuilder.define_nopython_pipeline(state)]


class InlinedCompiler(PartCompiler):
    """Compile a function as a part that is inlined."""

    library = _InlinedLibrary


class Entry(Dispatcher):
    """A kernel that Python calls; kernels that name it call its part instead."""

    _part: Dispatcher

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self._part)


def as_entry(entry: Any, part: Any) -> Any:
    """Return ``entry``, in whose place kernels use ``part``."""
    entry.__class__ = Entry
    entry._part = part
    return entry
