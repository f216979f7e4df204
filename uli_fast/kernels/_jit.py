"""The one decorator that sets the compiler flags of all kernels, and their cache.

Flags: the GIL is released, division follows IEEE (no exceptions), and fastmath
is off, so that sums keep their order and NaN survives.

Numba's file cache does not notice edits in imported modules. Compiled kernels
are therefore kept in a folder named after a hash of all sources of kernels and
formulas and of versions, below NUMBA_CACHE_DIR or the user's cache folder.
"""

from __future__ import annotations

import hashlib
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba import config, types
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import intrinsic, overload

from uli_fast.errors import CacheWarning
from uli_fast.kernels._parts import InlinedCompiler, PartCompiler, as_entry

_Function = TypeVar("_Function", bound=Callable[..., Any])


def sources_fingerprint(*folders: Path) -> str:
    """Hash the sources in these folders, the versions and the flags that shape machine code."""
    digest = hashlib.sha256()
    for folder in folders:
        for source in sorted(folder.rglob("*.py")):  # shared parts stand in subfolders
            digest.update(source.relative_to(folder).as_posix().encode())
            digest.update(source.read_bytes())
    for word in (sys.version, np.__version__, numba.__version__, str(config.BOUNDSCHECK)):
        digest.update(word.encode())
    return digest.hexdigest()[:16]


def _user_cache() -> Path:
    if os.environ.get("NUMBA_CACHE_DIR"):
        return Path(os.environ["NUMBA_CACHE_DIR"])
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA", str(Path.home())))
    return Path(os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")))


def _prepare_cache() -> Path | None:
    """Return a writable cache folder without half-written files, or None."""
    kernels = Path(__file__).parent
    sources = sources_fingerprint(kernels, kernels.parent / "formulas")
    folder = _user_cache() / "uli_fast" / sources
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
        for entry in folder.rglob("*.nb[ic]"):
            if entry.stat().st_size == 0:  # a crash while writing; Numba would raise EOFError
                entry.unlink(missing_ok=True)
    except OSError as problem:
        warnings.warn(
            f"compiled kernels are not kept on disk ({problem}); each process compiles them again",
            CacheWarning,
            stacklevel=2,
        )
        return None
    return folder


CACHE_FOLDER = _prepare_cache()
_FLAGS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
# Plain functions that compiled code may call.
_FORMULAS: set[Callable[..., Any]] = set()
# A child that is forked while another thread compiles would wait for the compiler for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )


def kernel(function: _Function) -> _Function:
    """Compile ``function`` on its first call, with the flags that all kernels share."""
    return _compile(function, keep=CACHE_FOLDER is not None)


def lean_kernel(function: _Function) -> _Function:
    """Compile what allocates nothing, and so needs no counts of references.

    Counting those of a dozen arrays costs more than a round of an algorithm, and compiling the
    counts as long as the rest. Numba refuses to compile what would need them. One that returns
    arrays, or a tuple of them, is for lean callers only: others would count down what was never
    counted up (a test keeps it).
    """
    return _compile(function, keep=CACHE_FOLDER is not None, _nrt=False)


def step(function: _Function) -> _Function:
    """Compile a part of a round into its callers.

    A call that passes a tuple of arrays counts a reference to each of them, which
    costs more than the round itself; inlined, the counting disappears.
    """
    return _compile(function, keep=False, inline="always")


def lean_step(function: _Function) -> _Function:
    """Compile a part of a round into its callers, as ``step`` does, but by LLVM, which is quicker.

    It counts no references, as a ``lean_kernel``.
    """
    return _compile(function, keep=False, part=InlinedCompiler, _nrt=False)


def transient_kernel(function: _Function) -> _Function:
    """Compile without the file cache: for kernels that take a user's compiled function."""
    return _compile(function, keep=False)


def _compile(
    function: _Function, keep: bool, part: type[PartCompiler] = PartCompiler, **flags: Any
) -> _Function:
    _take_formulas(function)
    # CACHE_DIR is global to Numba and read here only; other packages keep theirs.
    theirs = config.CACHE_DIR
    config.CACHE_DIR = str(CACHE_FOLDER) if keep else theirs
    flags |= _FLAGS
    try:
        entry = numba.njit(cache=keep, **flags)(function)
    finally:
        config.CACHE_DIR = theirs
    if "inline" in flags:
        return cast(_Function, entry)
    return cast(_Function, as_entry(entry, numba.njit(pipeline_class=part, **flags)(function)))


def _take_formulas(function: Callable[..., Any]) -> None:
    """Let compiled code call the formulas that a function names, and what they call, as parts."""
    for name in _names(function.__code__):
        found = function.__globals__.get(name)
        if (
            isinstance(found, FunctionType)
            and found.__module__.startswith("uli_fast.formulas.")
            and found not in _FORMULAS
        ):
            _FORMULAS.add(found)
            _by_type(found, PartCompiler)(lambda *_, found=found: found)
            _take_formulas(found)


def _names(code: CodeType) -> set[str]:
    """Return the globals and attributes that code names, inner functions with it."""
    inner = (x for x in code.co_consts if isinstance(x, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _by_type(function: Callable[..., Any], part: type[PartCompiler]) -> Any:
    flags = _FLAGS | {"_nrt": False, "no_cpython_wrapper": False, "pipeline_class": part}
    return overload(function, jit_options=flags, strict=False)


def by_type(function: Callable[..., Any]) -> Callable[[_Function], _Function]:
    """Register a chooser that gives ``function`` a body for each type of its arguments."""
    return cast(Callable[[_Function], _Function], overload(function, strict=False))


def lean_by_type(function: Callable[..., Any]) -> Callable[[_Function], _Function]:
    """Do as ``by_type`` does, with bodies that are compiled as ``lean_step`` would."""

    def choose(chooser: _Function) -> _Function:
        _take_formulas(chooser)
        return cast(_Function, _by_type(function, InlinedCompiler)(chooser))

    return choose


def fma(a: float, b: float, c: float) -> float:
    """Return a b + c; compiled it is rounded once, on every machine and in SIMD."""
    return a * b + c


@intrinsic  # type: ignore[untyped-decorator]
def _fused(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    signature = types.float64(types.float64, types.float64, types.float64)
    return signature, lambda context, builder, signature, args: builder.fma(*args)


@by_type(fma)
def _fma(a: Any, b: Any, c: Any) -> Callable[..., float]:
    return lambda a, b, c: _fused(a, b, c)
