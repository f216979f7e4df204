"""Problems and learners from the plain tables of an experiment file."""

from __future__ import annotations

import difflib
import inspect
import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Any

from uli_fast import _registry
from uli_fast._registry import RegistryRow
from uli_fast.errors import ArgumentError, ConfigError

# What a table may describe, by the name that is its type.
PROBLEMS: dict[str, RegistryRow] = {row.name: row for row in _registry.PROBLEMS}
PROBLEMS |= {f"mdps.{row.name}": row for row in _registry.MDPS}
LEARNERS = _registry.learners(plain=True)
# Parameters whose value is an object of its own, and what it may be.
PARTS: dict[str, Mapping[str, RegistryRow]] = {
    "base": _registry.learners(base=True),
    "arm_set": _registry.PLAIN_SETS,
}
# What learners are told about a tabular MDP if the key is true, and the method that tells it.
STRUCTURE = {"restricted": "restricted", "known_structure": "with_known_structure"}
MOST_CELLS = 50_000  # of an experiment: a learner on a problem, each with a folder of its own
# LinearBandit decides by what it is given which kind it is.
LINEAR = ("theta", "arms", "sigma", "noise", "names", "arm_set")


def problem_of(key: str, table: Mapping[str, Any]) -> Any:
    """Return the problem that a table describes; errors name the key."""
    from uli_fast.problems import datasets

    if "dataset" in table:
        _only(key, table, ("dataset",))
        name = table["dataset"]
        if not isinstance(name, str) or name not in datasets.names():
            raise ConfigError(f"{key}.dataset", unknown(name, datasets.names()))
        return datasets.load(name)
    parameters = dict(table)
    told = {name: parameters.pop(name, False) for name in STRUCTURE}
    for name, wanted in told.items():
        if not isinstance(wanted, bool):
            raise ConfigError(f"{key}.{name}", f"must be true or false, got {wanted!r}")
    made = _made(key, parameters, PROBLEMS)
    for name in (name for name, wanted in told.items() if wanted):
        if not hasattr(made, STRUCTURE[name]):
            raise ConfigError(f"{key}.{name}", "is for tabular MDPs")
        made = getattr(made, STRUCTURE[name])()
    return made


def learner_of(key: str, table: Mapping[str, Any]) -> Any:
    """Return the learner that a table describes; errors name the key."""
    kind = table.get("type")
    if isinstance(kind, str) and kind in _registry.learners(plain=False):
        raise ConfigError(
            f"{key}.type", f"{kind} holds functions; use simulate(checkpoint=...) in Python"
        )
    return _made(key, table, LEARNERS)


def swept(key: str, table: Mapping[str, Any]) -> Iterable[tuple[str, dict[str, Any]]]:
    """Yield a suffix for the name and a table for every combination of swept values."""
    plain = {k: v for k, v in table.items() if k != "sweep"}
    sweep = table.get("sweep", {})
    if not isinstance(sweep, Mapping):
        raise ConfigError(f"{key}.sweep", "must be a table of lists")
    for name, values in sweep.items():
        if not isinstance(values, list) or not values:
            raise ConfigError(f"{key}.sweep.{name}", "must be a list of values")
        if name in plain:
            raise ConfigError(f"{key}.sweep.{name}", "is given outside of the sweep too")
    if math.prod(map(len, sweep.values())) > MOST_CELLS:
        raise ConfigError(f"{key}.sweep", f"has more than {MOST_CELLS:,} combinations")
    for name, values in sweep.items():
        seen: set[Any] = set()
        for value in values:
            if _frozen(value) in seen:
                raise ConfigError(f"{key}.sweep.{name}", f"holds {value!r} twice")
            seen.add(_frozen(value))
    if not sweep:
        yield "", plain
        return
    for which in itertools.product(*(range(len(values)) for values in sweep.values())):
        chosen = {name: sweep[name][i] for name, i in zip(sweep, which, strict=True)}
        parts = (
            f"{name}={value}" if not isinstance(value, list | dict) else f"{name} {i + 1}"
            for (name, value), i in zip(chosen.items(), which, strict=True)
        )
        yield f" ({', '.join(parts)})", plain | chosen


def _frozen(value: Any) -> Any:
    """Return a value of a TOML file that is equal for equal ones and can be looked up."""
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    if isinstance(value, Mapping):
        return frozenset((name, _frozen(inner)) for name, inner in value.items())
    return value


def _made(key: str, table: Mapping[str, Any], kinds: Mapping[str, RegistryRow]) -> Any:
    parameters = dict(table)
    kind = parameters.pop("type", None)
    if kind is None:
        raise ConfigError(f"{key}.type", f"is missing: one of {', '.join(kinds)}")
    if not isinstance(kind, str) or kind not in kinds:
        raise ConfigError(f"{key}.type", unknown(kind, kinds))
    make = kinds[kind].load()
    known = LINEAR if kind == "LinearBandit" else tuple(inspect.signature(make).parameters)
    _only(key, parameters, known)
    for name, allowed in PARTS.items():
        if isinstance(parameters.get(name), Mapping):
            parameters[name] = _made(f"{key}.{name}", parameters[name], allowed)
    try:
        return make(**parameters)
    except ArgumentError as refused:
        message = str(refused).removeprefix(f"{refused.argument}: ")
        raise ConfigError(f"{key}.{refused.argument}", message) from None
    except TypeError as refused:  # a parameter is missing
        raise ConfigError(key, str(refused).split("() ")[-1]) from None


def _only(key: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for name in table:
        if name not in known:
            raise ConfigError(f"{key}.{name}", f"is not a parameter; {unknown(name, known)}")


def unknown(name: Any, known: Iterable[str]) -> str:
    """Say what a name can be, and which one it resembles."""
    close = difflib.get_close_matches(str(name), list(known), n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}It can be {', '.join(known)}; got {name!r}"
