"""The learners that a plan compares unless told otherwise: the ONE list of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from uli_fast import _check
from uli_fast.learners._arms import ArmLearner

# Those that drop arms first, the recommended one at the head.
USUAL = (
    "BettingElimination",
    "SuccessiveElimination",
    "PhasedElimination",
    "KLUCB",
    "ThompsonSampling",
    "UCB",
    "LilUCB",
)


def usual_learners(
    delta: float, R: float | None = None, names: Sequence[str] | None = None
) -> dict[str, ArmLearner]:
    """Return the usual learners, or those named, each with the parameters that it takes."""
    import uli_fast

    chosen = USUAL if names is None else [_check.one_of("learners", x, USUAL) for x in names]
    given = {"delta": delta, "R": R}
    found: dict[str, Any] = {}
    for name in chosen:
        kind = getattr(uli_fast, name)
        taken = {f.name for f in fields(kind)}
        found[name] = kind(**{key: x for key, x in given.items() if key in taken})
    return found
