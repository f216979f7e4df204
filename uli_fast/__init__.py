"""Bandit learners that never go back to a bad choice, fast.

With probability 1 - delta the gap of what is played at every round t stays
below a known, decreasing F(delta, t): the uniform last-iterate guarantee.
"""

from __future__ import annotations

import importlib
from typing import Any

from uli_fast import _registry

__version__ = "0.15.0"

# Public name -> module; resolved on first use so that importing stays quick. Type checkers read
# __init__.pyi, which is written from here (make lists).
_HOME = {row.name: row.module for row in (*_registry.LEARNERS, *_registry.PROBLEMS)} | {
    "Guarantee": "guarantees",
    "Runs": "results.runs",
    "simulate": "simulation.simulate",
    "play": "simulation.play",
    "compare": "simulation.compare",
    "barycentric_spanner": "geometry.spanners",
    "verify_spanner": "geometry.spanners",
    "Comparison": "results.comparison",
    "FixedTrial": "planning.fixed_trial",
    "OperatingCharacteristics": "results.characteristics",
    "Planned": "guarantees.betting_plan",
    "fixed_trial": "planning.fixed_trial",
    "operating_characteristics": "planning.operating_characteristics",
    "replay": "logs.replay",
    "Replay": "results.replay",
    "restore": "players",
    "Study": "study.study",
    "Client": "service.client",
    "TurningPoint": "simulation.turning_point",
    "turning_point": "simulation.turning_point",
    "Race": "results.race",
    "race": "races.running",
}
_MODULES = {
    "arm_sets": "arm_sets",
    "datasets": "problems.datasets",
    "designs": "geometry.designs",
    "errors": "errors",
    "lower_bounds": "lower_bounds",
    "mdps": "problems.mdps",
}

__all__ = sorted((*_HOME, *_MODULES, "__version__"))


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value: Any = importlib.import_module(f"uli_fast.{_MODULES[name]}")
    elif name in _HOME:
        value = getattr(importlib.import_module(f"uli_fast.{_HOME[name]}"), name)
    else:
        raise AttributeError(f"module 'uli_fast' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
