"""Write down the public API of a version: run it with that version.

python -m tests.support.public_api FILE

Names, parameters with their defaults, fields, methods and properties; the commands of ``uli`` and
their options. Nothing of it says in which module the package keeps a thing.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from dataclasses import fields, is_dataclass
from functools import cached_property
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import click

import uli_fast as uli

COMPAT = ("gymnasium", "mabwiser", "rlberry", "smpybandits")
# How a parameter that is not given by position or by name is marked.
KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "positional ",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "",
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.KEYWORD_ONLY: "keyword ",
    inspect.Parameter.VAR_KEYWORD: "**",
}
# What users call of a learner beside its parameters; the rest is between it and the runner.
LEARNERS_OWN = (
    "baseline",
    "engines",
    "g",
    "guarantee",
    "losses",
    "planned",
    "start",
    "start_phase",
)
# The same of problems, players and runs.
INSIDE = ("arms_info", "check_horizon", "check_supply", "drawn_again", "informed", "joined", "law")
INSIDE += ("save_part", "widens")
# Special methods that users call by their syntax.
SPECIAL = ("__call__", "__enter__", "__exit__", "__getitem__", "__iter__", "__len__")


def described() -> dict[str, Any]:
    """Describe everything that is public."""
    found = {"uli_fast": members(uli)}
    for name in uli.__all__:
        if isinstance(getattr(uli, name), ModuleType):
            found[name] = members(getattr(uli, name))
    for name in COMPAT:
        found[f"compat.{name}"] = members(importlib.import_module(f"uli_fast.compat.{name}"))
    return found | {"uli": commands()}


def members(module: ModuleType) -> dict[str, Any]:
    """Describe what a module has."""
    found = {}
    for name in getattr(module, "__all__", None) or dir(module):
        value = getattr(module, name)
        listed = hasattr(module, "__all__") or of_module(value, module)
        if listed and not name.startswith("_") and not isinstance(value, ModuleType):
            found[name] = of_class(value) if isinstance(value, type) else parameters(value)
    return found


def of_module(value: Any, module: ModuleType) -> bool:
    return getattr(value, "__module__", None) == module.__name__


def of_class(kind: type) -> dict[str, Any]:
    """Describe a class: what makes it, what it has, which errors it is a kind of."""
    return {
        "made with": parameters(kind),
        "has": attributes(kind),
        "is": [x.__name__ for x in kind.__mro__[1:] if issubclass(x, Exception)],
    }


def attributes(kind: type) -> dict[str, Any]:
    """Describe the attributes and methods of a class."""
    found: dict[str, Any] = {}
    for base in kind.__mro__:
        if base.__module__.startswith("uli_fast"):
            found |= {x: "attribute" for x in inspect.get_annotations(base) if x[0] != "_"}
    for name in dir(kind):
        if name not in SPECIAL and (name.startswith("_") or name in INSIDE):
            continue
        missing = object()  # what a class finds only when it is asked for it
        value = inspect.getattr_static(kind, name, missing)
        if value is missing:
            value = getattr(kind, name)
        elif not any(name in vars(b) for b in kind.__mro__ if b.__module__.startswith("uli_fast")):
            continue
        if isinstance(value, staticmethod | classmethod):
            value = getattr(kind, name)
        plain = isinstance(value, property | cached_property) or not callable(value)
        found[name] = "attribute" if plain else parameters(value)
    if "guarantee" in found and is_dataclass(kind):  # a learner
        kept = {*LEARNERS_OWN, *(x.name for x in fields(kind))}
        found = {name: about for name, about in found.items() if name in kept}
    return found


def parameters(value: Any) -> Any:
    """Describe the parameters of what can be called, each as it is written: name=default."""
    if not callable(value):
        return "attribute"
    if isinstance(value, type) and not isinstance(value.__init__, FunctionType):
        if issubclass(value, BaseException):
            return "built in"
    listed = inspect.signature(value).parameters.values()
    return [f"{KINDS[p.kind]}{written(p)}" for p in listed if not re.match("_[a-z]", p.name)]


def written(parameter: inspect.Parameter) -> str:
    if parameter.default is parameter.empty:
        return parameter.name
    default = re.sub(r" at 0x[0-9a-f]+|uli_fast[\w.]*\.", "", repr(parameter.default))
    return f"{parameter.name}={default}"


def commands() -> dict[str, Any]:
    """Describe the command line: every command with its arguments and options."""
    from uli_fast.cli import main

    return dict(_commands("uli", main))


def is_plain(value: Any) -> bool:
    return isinstance(value, bool | int | float | str | tuple)


def _commands(path: str, command: click.Command) -> Any:
    yield path, {option: about for x in command.params for option, about in _options(x)}
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(f"{path} {name}", inner)


def _options(parameter: click.Parameter) -> Any:
    about = {
        "required": parameter.required,
        "flag": getattr(parameter, "is_flag", False),
        "many": parameter.nargs != 1 or parameter.multiple,
        "default": repr(parameter.default) if is_plain(parameter.default) else None,
    }
    for name in (*parameter.opts, *parameter.secondary_opts):
        yield name, about


def main(file: Path) -> None:
    """Write the description, a line for every name."""
    parts = []
    for part, names in sorted(described().items()):
        lines = [f"  {json.dumps(x)}: {json.dumps(y)}" for x, y in sorted(names.items())]
        parts.append(f" {json.dumps(part)}: {{\n" + ",\n".join(lines) + "\n }")
    file.write_text("{\n" + ",\n".join(parts) + "\n}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
