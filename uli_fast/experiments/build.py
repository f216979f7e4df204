"""Problems and learners from the plain tables of a study file."""

from __future__ import annotations

import difflib
import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from uli_fast.errors import ArgumentError, ConfigError

PROBLEMS = (
    "BernoulliBandit",
    "GaussianBandit",
    "DeterministicBandit",
    "BetaBandit",
    "TableBandit",
    "LinearBandit",
    "TabularMDP",
)
MDPS = ("river_swim", "combination_lock", "two_stage_treatment", "random_dense", "random_sparse")
LEARNERS = (
    "SuccessiveElimination",
    "PhasedElimination",
    "BettingElimination",
    "UCB",
    "LilUCB",
    "KLUCB",
    "ThompsonSampling",
    "LinearElimination",
    "LinUCB",
    "SpannerElimination",
    "MetaElimination",
    "Exp3P",
    "GeometricHedge",
    "Scrible",
    "PolicyElimination",
    "UCBVI",
    "UBEV",
)
MOST_CELLS = 50_000  # of a study: a learner on a problem, each with a folder of its own
BASES = ("Exp3P", "GeometricHedge", "Scrible")
ARM_SETS = ("Finite", "Ball", "Ellipsoid", "Box", "Simplex", "L1Ball", "Polytope")
# Parameters whose value is an object of its own, and what it may be.
PARTS: dict[str, tuple[str, ...]] = {"base": BASES, "arm_set": ARM_SETS}
# LinearBandit decides by what it is given which kind it is.
LINEAR = ("theta", "arms", "sigma", "noise", "names", "arm_set")


def problem_of(key: str, table: Mapping[str, Any]) -> Any:
    """Return the problem that a table describes; errors name the key."""
    import uli_fast as uli

    if "dataset" in table:
        _only(key, table, ("dataset",))
        name = table["dataset"]
        if not isinstance(name, str) or name not in uli.datasets.names():
            raise ConfigError(f"{key}.dataset", unknown(name, uli.datasets.names()))
        return uli.datasets.load(name)
    parameters = dict(table)
    restricted = parameters.pop("restricted", False)
    if not isinstance(restricted, bool):
        raise ConfigError(f"{key}.restricted", f"must be true or false, got {restricted!r}")
    made = _made(key, parameters, (*PROBLEMS, *(f"mdps.{name}" for name in MDPS)))
    if not restricted:
        return made
    if not hasattr(made, "restricted"):
        raise ConfigError(f"{key}.restricted", "is for tabular MDPs")
    return made.restricted()


def learner_of(key: str, table: Mapping[str, Any]) -> Any:
    """Return the learner that a table describes; errors name the key."""
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


def _made(key: str, table: Mapping[str, Any], kinds: tuple[str, ...]) -> Any:
    parameters = dict(table)
    kind = parameters.pop("type", None)
    if kind is None:
        raise ConfigError(f"{key}.type", f"is missing: one of {', '.join(kinds)}")
    if kind == "EliminationFramework" and kinds == LEARNERS:
        raise ConfigError(
            f"{key}.type", f"{kind} holds functions; use simulate(checkpoint=...) in Python"
        )
    if not isinstance(kind, str) or kind not in kinds:
        raise ConfigError(f"{key}.type", unknown(kind, kinds))
    make = _maker(kind)
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


def _maker(kind: str) -> Callable[..., Any]:
    import uli_fast as uli

    if kind in ARM_SETS:
        home: Any = uli.arm_sets
    else:
        home = uli.mdps if kind.startswith("mdps.") else uli
    maker: Callable[..., Any] = getattr(home, kind.removeprefix("mdps."))
    return maker


def _only(key: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for name in table:
        if name not in known:
            raise ConfigError(f"{key}.{name}", f"is not a parameter; {unknown(name, known)}")


def unknown(name: Any, known: Iterable[str]) -> str:
    """Say what a name can be, and which one it resembles."""
    close = difflib.get_close_matches(str(name), list(known), n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}It can be {', '.join(known)}; got {name!r}"
