"""Descriptions of learners, as saved states and studies have them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from uli_fast import _check
from uli_fast._check import Bounds
from uli_fast._support.fingerprint import fingerprint, is_users
from uli_fast.learners.exp3p import PAPER, Exp3P
from uli_fast.learners.geometric_hedge import FIRST


def parameters(learner: Any) -> dict[str, Any]:
    """Return a learner's parameters by name."""
    assert is_dataclass(learner)
    return {f.name: getattr(learner, f.name) for f in fields(learner)}


def describe(learner: Any) -> dict[str, Any]:
    """Describe a learner by its plain parameters."""
    values = parameters(learner)
    values |= {k: list(v) for k, v in values.items() if isinstance(v, tuple)}  # as JSON has it
    plain = {k: v for k, v in values.items() if isinstance(v, int | float | str | list)}
    parts = {k: describe(v) for k, v in values.items() if is_dataclass(v)}
    # Functions and a user's base are named, so that they are asked for, and not kept.
    rest = {k: v for k, v in values.items() if k not in plain | parts and v is not None}
    others = {k: {"type": type(v).__name__} for k, v in rest.items()}
    return {"type": type(learner).__name__} | plain | parts | others


def own_code(learner: Any, arms: Any = None) -> dict[str, str]:
    """Return marks of what is the user's in a learner, and of the code of a set of their own.

    They are of the code that Python made of it, and so of this Python's alone. The state of a set
    is told by how far it reaches.
    """
    oracle, builder = getattr(arms, "oracle", arms), getattr(arms, "builder", None)
    kind = type(oracle) if hasattr(oracle, "maximize") and is_users(type(oracle)) else None
    marks = dict(learner.own_code)
    if kind is not None or builder is not None:
        marks["arms"] = fingerprint((kind, builder), "arms")
    return marks | {"python": sys.version.split()[0]} if marks else {}


def changed(begun: Mapping[str, Any], now: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the name of something of the user's that has changed, and what of it has.

    None where nothing is known to have changed.
    """
    if begun.get("python") != now.get("python"):
        return None
    names = [k for k in sorted(now) if begun.get(k, now[k]) != now[k]]
    if not names:
        return None
    name = names[0]
    held = [k.removeprefix(f"{name}.") for k in names if k.startswith(f"{name}.")]
    if held:
        return name, (
            f"what it holds differs, {', '.join(held)}, or the code of that. Leave out what "
            "changes from run to run: a method __getstate__ returns what counts of an object"
        )
    return name, "its code, or what that uses, differs"


def same_learner(spec: Mapping[str, Any], learner: Any, bounds: Bounds) -> bool:
    """Say whether a learner is the one described.

    R and the constant of a base may be given or left out for the same.
    """
    given = describe(learner)
    return given == spec or _spelt_out(given, bounds) == _spelt_out(spec, bounds)


def _spelt_out(spec: Mapping[str, Any], bounds: Bounds) -> dict[str, Any]:
    width = _check.width(bounds)
    found = _with_constant(spec, "paper")
    if isinstance(spec.get("base"), Mapping):
        found["base"] = _with_constant(spec["base"], spec.get("mode"))
    return found if width is None else {"R": width / 2.0} | found


def _with_constant(spec: Mapping[str, Any], mode: Any) -> dict[str, Any]:
    """Add the constant that a base has in a mode, where none is given and the arms do not count."""
    if spec.get("type") == "Exp3P":
        return {"constant": Exp3P.proved_constant if mode == "sharp" else PAPER} | dict(spec)
    if spec.get("type") == "GeometricHedge" and mode != "sharp":
        return {"constant": FIRST} | dict(spec)
    return dict(spec)
