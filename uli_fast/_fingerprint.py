"""What tells two objects apart: a hash of what they are made of, the same in every process.

Functions are told apart by their code, names, constants, defaults, closures and the globals
they use; objects by their class's name and their attributes. What cannot be looked into is an
error: a checkpoint must never return the results of something else.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping
from fractions import Fraction
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from uli_fast.errors import ArgumentError

_PLAIN = (type(None), bool, int, float, complex, Fraction, str, bytes, type(Ellipsis))


def fingerprint(value: Any) -> str:
    """Return a hash of what an object is made of."""
    digest = hashlib.sha256()
    _Feeder(digest).feed(value)
    return digest.hexdigest()[:16]


class _Feeder:
    """Puts an object's parts into a hash, each object once."""

    def __init__(self, digest: Any) -> None:
        self._digest = digest
        self._seen: dict[int, tuple[int, Any]] = {}  # the object is kept, so its id stays its own

    def feed(self, value: Any) -> None:
        """Feed a value, whatever it is."""
        self._say(type(value).__qualname__)
        if isinstance(value, _PLAIN):
            self._say(repr(value))
            return
        if id(value) in self._seen:  # a function that calls itself, an object that holds itself
            self._say(f"number {self._seen[id(value)][0]}")
            return
        self._seen[id(value)] = len(self._seen), value
        if isinstance(value, np.ndarray | np.generic):
            self._say(f"{value.dtype}{value.shape}")
            self._array(np.asarray(value))
        elif isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, CodeType):
            self._code(value)
        elif isinstance(value, MethodType):
            self._all((value.__func__, value.__self__))
        elif isinstance(value, functools.partial):
            self._all((value.func, value.args, value.keywords))
        elif isinstance(value, ModuleType | type | BuiltinFunctionType | np.ufunc):
            self._say(f"{getattr(value, '__module__', '')} {value.__name__}")
        elif hasattr(value, "py_func"):  # a function that the user compiled
            self.feed(value.py_func)
        elif isinstance(value, Mapping):
            self._pairs(value)
        elif isinstance(value, set | frozenset):
            self._say(" ".join(sorted(fingerprint(item) for item in value)))
        elif isinstance(value, list | tuple | range):
            self._all(value)
        elif hasattr(value, "__dict__"):
            cached = functools.cached_property
            kind = type(value)
            own = {
                k: v
                for k, v in vars(value).items()
                if not isinstance(getattr(kind, k, None), cached)
            }
            self._pairs(own)
        else:
            raise ArgumentError(
                "checkpoint", f"cannot tell {value!r} from another one; use no checkpoint"
            )

    def _say(self, text: str) -> None:
        self._digest.update(f"{len(text)}:{text}".encode())

    def _array(self, value: np.ndarray[Any, Any]) -> None:
        if value.dtype.hasobject:
            self._all(value.ravel().tolist())
        else:
            self._digest.update(np.ascontiguousarray(value).tobytes())

    def _all(self, values: Iterable[Any]) -> None:
        items = list(values)
        self._say(str(len(items)))
        for item in items:
            self.feed(item)

    def _pairs(self, values: Mapping[Any, Any]) -> None:
        self._all(
            item for pair in sorted(values.items(), key=lambda x: repr(x[0])) for item in pair
        )

    def _function(self, value: FunctionType) -> None:
        cells = [_content(cell) for cell in value.__closure__ or ()]
        used = sorted(_names(value.__code__) & value.__globals__.keys())
        self._all((value.__code__, value.__defaults__, value.__kwdefaults__, cells))
        self._pairs({name: value.__globals__[name] for name in used})

    def _code(self, value: CodeType) -> None:
        # Nested functions are constants that are code themselves; their repr has an address.
        self._all((value.co_code, value.co_names, value.co_varnames, value.co_consts))


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not set yet
        return None


def _names(code: CodeType) -> set[str]:
    """Return the names that some code looks up, functions inside it included."""
    inner = (x for x in code.co_consts if isinstance(x, CodeType))
    return set(code.co_names).union(*map(_names, inner))
