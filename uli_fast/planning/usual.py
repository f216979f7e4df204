"""The learners that a plan compares unless told otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from uli_fast import _check, _registry
from uli_fast.learners._arms import ArmLearner

USUAL = _registry.learners(usual=True)


def usual_learners(
    delta: float, R: float | None = None, names: Sequence[str] | None = None
) -> dict[str, ArmLearner]:
    """Return the usual learners, or those named, each with the parameters that it takes."""
    known = tuple(USUAL)
    chosen = known if names is None else [_check.one_of("learners", x, known) for x in names]
    given = {"delta": delta, "R": R}
    found: dict[str, Any] = {}
    for name in chosen:
        kind = USUAL[name].load()
        taken = {f.name for f in fields(kind)}
        found[name] = kind(**{key: x for key, x in given.items() if key in taken})
    return found
