"""Descriptions of learners in states and studies: what those of earlier versions mean.

Up to 0.6.0 R of learners on K arms was on the scale on which rewards lie in [0, 1], 1/2 by
default. Now it is in reward units, and left out where half the declared range is meant.

Up to 0.7 mode "sharp" of the meta-algorithm had a multiplier of 236 and a threshold of 3.84.
That is mode "sharp-0.7" now: its phases, and so its decisions, are others than those of "sharp".

Up to 0.11 LinearElimination and SpannerElimination had the paper's schedule alone, and did not say
so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from uli_fast import _check
from uli_fast._check import Bounds
from uli_fast._registry import learners
from uli_fast.learners.exp3p import PAPER, Exp3P
from uli_fast.learners.geometric_hedge import FIRST

# Learners whose R used to be on the unit scale.
UNIT_SCALE = learners(unit_R_before_0_7=True)
HALF = 0.5


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


def in_reward_units(spec: Mapping[str, Any], bounds: Bounds) -> dict[str, Any]:
    """Return what a description of 0.6.0 or before would be now."""
    found, width = dict(spec), _check.width(bounds)
    if found.get("type") not in UNIT_SCALE or "R" not in found or width is None:
        return found
    unit = _check.positive("R", found.pop("R"))
    return found if unit == HALF else found | {"R": _times(unit, width)}


def _times(unit: float, width: float) -> float:
    """Return the R that divided by the width gives back the same unit R, if a float does."""
    near = unit * width
    for R in (near, math.nextafter(near, 0.0), math.nextafter(near, math.inf)):
        if R / width == unit:
            return R
    return near


def sharp_as_it_was(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a description of 0.7 or before would be now."""
    found = dict(spec)
    if found.get("type") == "MetaElimination" and found.get("mode") == "sharp":
        found["mode"] = "sharp-0.7"
    return found


def schedule_as_it_was(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a description of 0.11 or before would be now."""
    if "schedule" in spec:
        return dict(spec)
    if spec.get("type") == "LinearElimination":
        return dict(spec) | {"schedule": "paper", "known_intercept": True}
    if spec.get("type") == "SpannerElimination":
        return dict(spec) | {"schedule": "paper"}
    return dict(spec)


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
