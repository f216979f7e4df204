"""What tells two objects apart: a hash of what they are made of, the same in every process.

Functions are told apart by their code, names, constants, defaults, closures and the globals they
use; classes by their bases and all they hold; objects by their class and their state. What is
looked into is the user's: what is installed, Python's or the package's goes by its name, wherever
it is kept (a user's rule that mentions ``uli.Runs`` is the same rule in the next version). Neither
addresses count, nor files, lines, the names of modules, or the order of a set.

The state is what copying goes by, ``__reduce_ex__``: attributes and slots, or what the class's own
``__getstate__`` returns. What has none (a lock, a connection) is an error: a checkpoint must never
return the results of something else.
"""

from __future__ import annotations

import contextlib
import copyreg
import dis
import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import (
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from uli_fast.errors import ArgumentError

PACKAGE = "uli_fast"
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented))


def fingerprint(value: Any, argument: str = "checkpoint") -> str:
    """Return a hash of what an object is made of; errors name the argument."""
    return _Feeder(argument, {}).mark(value)


def attributes(value: Any, argument: str) -> dict[str, str]:
    """Return hashes of what an object of a user's class holds, by name; {} for anything else."""
    reduced = _reduced(value) if is_users(type(value)) else ()
    state = reduced[2] if isinstance(reduced, tuple) and len(reduced) > 2 else None
    held = state if isinstance(state, dict) else {}
    counted = {k: v for k, v in held.items() if not _is_found_once(type(value), k)}
    return {str(k): fingerprint(v, argument) for k, v in counted.items()}


def packages(value: Any) -> dict[str, str]:
    """Return the versions of installed packages that an object uses by their names."""
    found: dict[str, str] = {}
    _Feeder("checkpoint", found).mark(value)
    return dict(sorted(found.items()))


def is_users(kind: type) -> bool:
    """Say whether a class is neither of this package, nor of Python, nor installed."""
    return _home(kind.__module__) == "user"


class _Feeder:
    """Puts an object's parts into a hash."""

    def __init__(self, argument: str, installed: dict[str, str]) -> None:
        self._digest, self._argument, self._installed = hashlib.sha256(), argument, installed
        self._seen: dict[int, tuple[int, Any]] = {}  # the object is kept, so its id stays its own
        self._opened: set[tuple[str, frozenset[str]]] = set()  # modules, and what was taken of them
        self._path: list[str] = []

    def mark(self, value: Any) -> str:
        """Return the hash of a value."""
        try:
            self.feed(value)
        except RecursionError:
            raise self._untold(value) from None
        return self._digest.hexdigest()[:16]

    def feed(self, value: Any) -> None:
        """Feed a value, whatever it is."""
        kind = type(value)
        self._say(kind.__qualname__)
        if kind in _PLAIN:
            self._say(repr(value))
        elif kind is tuple:  # whether equal ones are one object depends on who loaded the code
            self._all(value)
        elif kind is frozenset or kind is set:
            self._all(sorted(map(self._inner, value)))
        elif kind is CodeType:
            self._code(value)
        elif id(value) in self._seen:  # a function that calls itself, an object that holds itself
            self._say(f"number {self._seen[id(value)][0]}")
        else:
            self._seen[id(value)] = len(self._seen), value
            self._look_into(value)

    def _look_into(self, value: Any) -> None:
        kind = type(value)
        if isinstance(value, np.ndarray | np.generic):
            self._say(f"{value.dtype}{value.shape}")
            self._array(np.asarray(value))
        elif isinstance(value, FunctionType):
            self._function(value)
        elif home := _shared(value):
            self._by_name(home, value.__name__)
        elif isinstance(value, MethodType):
            self._all((value.__func__, value.__self__))
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, ModuleType):
            self._module(value)
        elif hasattr(value, "py_func"):  # a function that the user compiled
            self._all((value.py_func, getattr(value, "targetoptions", None)))
        elif hasattr(value, "__wrapped__"):  # functools.cache
            self.feed(value.__wrapped__)
        elif kind is list:
            self._all(value)
        elif kind is dict or kind is MappingProxyType:
            self._pairs(value)
        else:
            self._object(value)

    def _object(self, value: Any) -> None:
        """Feed what an object would be copied from."""
        kind = type(value)
        copied: Callable[[Any], Any] = copyreg.dispatch_table.get(kind, _reduced)
        try:
            reduced = copied(value)
        except Exception:
            raise self._untold(value) from None
        if isinstance(reduced, str):  # found by its name
            if isinstance(value, np.ufunc) and not _is_known(value):  # np.frompyfunc hides its code
                raise self._untold(value)
            self._by_name(str(getattr(value, "__module__", None) or kind.__module__), reduced)
            return
        self.feed(kind)
        for part in reduced:
            if isinstance(part, Iterator):  # what a list or a dict of its own kind holds
                part = list(part)
            elif type(part) is dict:
                part = {k: v for k, v in part.items() if not _is_found_once(kind, k)}
            self.feed(part)

    def _untold(self, value: Any) -> ArgumentError:
        where = ".".join(self._path)
        return ArgumentError(
            self._argument,
            f"{where or 'this'} is a {type(value).__qualname__}, which holds nothing that tells it "
            "from another one. Give the class that holds it a method __getstate__ that returns "
            "what decisions depend on (numbers, text, arrays), or do without it",
        )

    def _say(self, text: str) -> None:
        self._digest.update(f"{len(text)}:{text}".encode("utf-8", "surrogatepass"))

    def _inner(self, value: Any) -> str:
        return _Feeder(self._argument, self._installed).mark(value)

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
        """Feed pairs, whatever their order."""
        marked = [(k if type(k) is str else self._inner(k), v) for k, v in values.items()]
        self._say(str(len(marked)))
        for key, value in sorted(marked, key=lambda pair: pair[0]):
            self._say(key)
            self._path.append(key)
            self.feed(value)
            self._path.pop()

    def _by_name(self, module: str, name: str) -> None:
        home = _home(module)
        if home == "installed":
            top = module.partition(".")[0]
            self._installed[top] = _version(top)
        elif home == "ours" and not module.startswith(f"{PACKAGE}.compat"):
            module = PACKAGE  # adapters have classes of the same names
        self._say(f"{module} {name}")

    def _module(self, value: ModuleType) -> None:
        home = _home(value.__name__)
        if home == "user":  # what is used of it?
            raise self._untold(value)
        stem = value.__name__.rpartition(".")[2]
        self._by_name(value.__name__, stem if home == "ours" else "")

    def _function(self, value: FunctionType) -> None:
        known, code = value.__globals__, value.__code__
        cells = dict(zip(code.co_freevars, map(_content, value.__closure__ or ()), strict=True))
        home = str(known.get("__name__"))  # functools.wraps lends a function another module
        used = frozenset(_names(code))
        if _home(home) != "user":
            self._by_name(home, f"{home.rpartition('.')[2]} {value.__qualname__}")
            self._used(cells, used)
            return
        own = {k: v for k, v in vars(value).items() if k != "__wrapped__"}  # that is in a cell
        self._all((code, value.__defaults__, value.__kwdefaults__, own))
        modules = {f"import {x.__name__}": x for x in _imports(code, known)}
        self._used(cells, used)
        self._used({k: known[k] for k in used & known.keys()} | modules, used)

    def _used(self, values: Mapping[str, Any], names: frozenset[str]) -> None:
        """Feed what code uses; of a user's module, what has a name that is in the code."""
        for name, value in sorted(values.items()):
            self._path.append(name)
            if not isinstance(value, ModuleType) or _home(value.__name__) != "user":
                self._say(name)
                self.feed(value)
            elif (value.__name__, names) not in self._opened:
                self._opened.add((value.__name__, names))
                self._used({k: x for k, x in vars(value).items() if k in names}, names)
            self._path.pop()

    def _class(self, value: type) -> None:
        """Feed what a class of the user's own is made of: its bases, methods and constants."""
        if not is_users(value):
            self._by_name(value.__module__, value.__qualname__)
            return
        self._say(value.__qualname__)
        self._all(value.__bases__)
        own = {k: _unwrapped(v) for k, v in vars(value).items() if k not in _OF_ANY_CLASS}
        self._pairs({k: v for k, v in own.items() if not isinstance(v, _DESCRIPTORS)})

    def _code(self, value: CodeType) -> None:
        # Nested functions are constants that are code themselves; their repr has an address.
        counts = value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount
        names = value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars
        table = value.co_exceptiontable
        self._all((value.co_code, value.co_consts, value.co_flags, counts, names, table))


# What Python puts into every class, and the places of __slots__, whose names are among its values.
_OF_ANY_CLASS = frozenset(
    "__dict__ __doc__ __module__ __weakref__ __firstlineno__ __static_attributes__ __annotations__ "
    "__annotate_func__ __annotations_cache__ __abstractmethods__ _abc_impl __parameters__ "
    "__dataclass_fields__ __dataclass_params__ __slotnames__ __qualname__".split()
)
_DESCRIPTORS = (MemberDescriptorType, GetSetDescriptorType)


def _reduced(value: Any) -> Any:
    return value.__reduce_ex__(4)


def _is_found_once(kind: type, name: Any) -> bool:
    return isinstance(getattr(kind, str(name), None), functools.cached_property)


def _shared(value: Any) -> str:
    """Return the module that has a method of an object of its own, as ``random.random``, or ""."""
    bound, name = getattr(value, "__self__", None), getattr(value, "__name__", None)
    if bound is None or isinstance(bound, ModuleType) or not isinstance(name, str):
        return ""
    module = type(bound).__module__
    here = _home(module) != "user" and getattr(sys.modules.get(module), name, None) == value
    return module if here else ""


def _is_known(value: np.ufunc) -> bool:
    known = map(sys.modules.get, ("numpy", "scipy.special"))
    return any(getattr(module, value.__name__, None) is value for module in known)


def _unwrapped(value: Any) -> Any:
    """Return the functions of a method, a property or a value that is found once."""
    if isinstance(value, staticmethod | classmethod):
        return value.__func__
    if isinstance(value, property):
        return (value.fget, value.fset, value.fdel)
    return value.func if isinstance(value, functools.cached_property) else value


def _home(module: str) -> str:
    """Say whose a module is: "ours", "python", "installed" or "user"."""
    top = module.partition(".")[0]
    if top == PACKAGE:
        return "ours"
    if top in sys.stdlib_module_names and top != "__main__":
        return "python"
    loaded = sys.modules.get(module) or sys.modules.get(top)
    file = getattr(loaded, "__file__", None)
    if loaded is None and top:
        spec = importlib.util.find_spec(top)
        file = spec.origin if spec else None
    return (
        "installed" if {"site-packages", "dist-packages"} & set(Path(file or "").parts) else "user"
    )


def _version(package: str) -> str:
    said = getattr(sys.modules.get(package), "__version__", None)
    if said is None:
        try:
            said = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:  # it is installed under another name
            said = "unknown"
    return str(said)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not set yet
        return None


def _names(code: CodeType) -> set[str]:
    """Return the names that some code looks up, functions inside it included."""
    inner = (x for x in code.co_consts if isinstance(x, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _imports(code: CodeType, known: Mapping[str, Any]) -> Iterator[ModuleType]:
    """Return the user's modules that some code imports when it runs."""
    if dis.opmap["IMPORT_NAME"] in code.co_code[::2]:
        before: list[Any] = []
        for step in dis.get_instructions(code):
            if step.opname == "IMPORT_NAME":
                level, taken = before[-2:]
                yield from _imported("." * level + step.argval, taken or (), known)
            if step.opname != "EXTENDED_ARG":  # of a number above 255; it goes with the next one
                before.append(step.argval)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _imports(inner, known)


def _imported(name: str, taken: Iterable[str], known: Mapping[str, Any]) -> Iterator[ModuleType]:
    """Import a module if it is the user's, and what may be modules in it."""
    with contextlib.suppress(Exception):  # code that runs into the same may fail, or may catch it
        whole = importlib.util.resolve_name(name, known.get("__package__"))
        if _home(whole) == "user":
            module = importlib.import_module(whole)
            yield module
            for part in taken:
                if not hasattr(module, part):
                    yield importlib.import_module(f"{whole}.{part}")
