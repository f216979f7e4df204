"""What tells two objects apart: a hash of what they are made of, the same in every process.

Functions are told apart by their code, names, constants, defaults, closures and the globals
they use; objects by their class's name and their attributes. What cannot be looked into is an
error: a checkpoint must never return the results of something else.

Classes go by their names; those of a learner of the user's own, which may be one, by what they
hold too.

What is the package's own goes by its name, wherever the package keeps it: a user's rule that
mentions ``uli.Runs`` is the same rule in the next version.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from uli_fast.errors import ArgumentError

PACKAGE = "uli_fast"
_PLAIN = (type(None), bool, int, float, complex, Fraction, str, bytes, type(Ellipsis))


def fingerprint(value: Any, classes: bool = False) -> str:
    """Return a hash of what an object is made of; with ``classes``, of a user's classes too."""
    digest = hashlib.sha256()
    _Feeder(digest, classes).feed(value)
    return digest.hexdigest()[:16]


class _Feeder:
    """Puts an object's parts into a hash, each object once."""

    def __init__(self, digest: Any, classes: bool = False) -> None:
        self._digest, self._classes = digest, classes
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
        elif isinstance(value, type) and self._classes and _is_users(value):
            self._class(value)
        elif isinstance(value, ModuleType | type | BuiltinFunctionType | np.ufunc):
            self._say(_name_of(value))
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
            self._classes |= getattr(kind, "looks_into_classes", False)
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
        home = value.__globals__.get("__name__")  # functools.wraps lends a function another module
        if _is_ours(home):
            self._say(f"{str(home).rpartition('.')[2]} {value.__qualname__}")
            self._all(cells)
            return
        used = sorted(_names(value.__code__) & value.__globals__.keys())
        self._all((value.__code__, value.__defaults__, value.__kwdefaults__, cells))
        self._pairs({name: value.__globals__[name] for name in used})

    def _class(self, value: type) -> None:
        """Feed what a class of the user's own is made of: its bases, methods and constants."""
        self._say(f"{value.__module__} {value.__qualname__}")
        self._all(value.__bases__)
        own = {k: _unwrapped(v) for k, v in vars(value).items() if k not in _OF_ANY_CLASS}
        self._pairs({k: v for k, v in own.items() if not isinstance(v, _DESCRIPTORS)})

    def _code(self, value: CodeType) -> None:
        # Nested functions are constants that are code themselves; their repr has an address.
        self._all((value.co_code, value.co_names, value.co_varnames, value.co_consts))


# What Python puts into every class, and the places of __slots__, whose names are among its values.
_OF_ANY_CLASS = frozenset(
    "__dict__ __doc__ __module__ __weakref__ __firstlineno__ __static_attributes__ __annotations__ "
    "__annotate_func__ __annotations_cache__ __abstractmethods__ _abc_impl __parameters__".split()
)
_DESCRIPTORS = (MemberDescriptorType, GetSetDescriptorType)


def _unwrapped(value: Any) -> Any:
    """Return the functions of a method, a property or a value that is found once."""
    if isinstance(value, staticmethod | classmethod):
        return value.__func__
    if isinstance(value, property):
        return (value.fget, value.fset, value.fdel)
    return value.func if isinstance(value, functools.cached_property) else value


def _is_users(value: type) -> bool:
    """Say whether a class is neither of this package, nor of Python, nor installed."""
    top = value.__module__.partition(".")[0]
    if top == PACKAGE or (top in sys.stdlib_module_names and top != "__main__"):
        return False
    home = getattr(sys.modules.get(value.__module__), "__file__", None) or ""
    return not {"site-packages", "dist-packages"} & set(Path(home).parts)


def _is_ours(module: Any) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == PACKAGE


def _name_of(value: Any) -> str:
    """Return the module and name of a class, module or built-in function."""
    module, name = str(getattr(value, "__module__", "")), str(value.__name__)
    if isinstance(value, ModuleType):
        return name.rpartition(".")[2] if _is_ours(name) else name
    # Adapters have classes of the same names.
    if _is_ours(module) and not module.startswith(f"{PACKAGE}.compat"):
        module = PACKAGE
    return f"{module} {name}"


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not set yet
        return None


def _names(code: CodeType) -> set[str]:
    """Return the names that some code looks up, functions inside it included."""
    inner = (x for x in code.co_consts if isinstance(x, CodeType))
    return set(code.co_names).union(*map(_names, inner))
