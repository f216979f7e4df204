"""Bandit learners that never go back to a bad choice, fast.

With probability 1 - delta the gap of what is played at every round t stays
below a known, decreasing F(delta, t): the uniform last-iterate guarantee.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.8.0"

# Public name -> module; resolved on first use so that importing stays quick.
_HOME = {
    "BernoulliBandit": "problems.arms",
    "BetaBandit": "problems.arms",
    "DeterministicBandit": "problems.arms",
    "GaussianBandit": "problems.arms",
    "TableBandit": "problems.arms",
    "LinearBandit": "problems.linear",
    "TabularMDP": "problems.tabular_mdp",
    "BettingElimination": "learners.betting_elimination",
    "SuccessiveElimination": "learners.successive_elimination",
    "PhasedElimination": "learners.phased_elimination",
    "UCB": "learners.ucb",
    "LilUCB": "learners.lil_ucb",
    "KLUCB": "learners.kl_ucb",
    "ThompsonSampling": "learners.thompson_sampling",
    "EliminationFramework": "learners.elimination_framework",
    "LinearElimination": "learners.linear_elimination",
    "LinUCB": "learners.lin_ucb",
    "SpannerElimination": "learners.spanner_elimination",
    "PolicyElimination": "learners.policy_elimination",
    "UCBVI": "learners.ucbvi",
    "UBEV": "learners.ubev",
    "MetaElimination": "learners.meta_elimination",
    "Exp3P": "learners.exp3p",
    "GeometricHedge": "learners.geometric_hedge",
    "Scrible": "learners.scrible",
    "Guarantee": "guarantees",
    "Runs": "runs",
    "simulate": "simulate",
    "play": "play",
    "compare": "compare",
    "barycentric_spanner": "spanners",
    "verify_spanner": "spanners",
    "Comparison": "compare",
    "FixedTrial": "planning.fixed_trial",
    "OperatingCharacteristics": "planning.characteristics",
    "Planned": "planning.stated_mean",
    "fixed_trial": "planning.fixed_trial",
    "operating_characteristics": "planning.operating_characteristics",
    "replay": "replay",
    "Replay": "replay",
    "restore": "players",
    "Study": "study",
    "TurningPoint": "turning_point",
    "turning_point": "turning_point",
    "Race": "race",
    "race": "race",
}
_MODULES = {
    "arm_sets": "arm_sets",
    "datasets": "problems.datasets",
    "designs": "designs",
    "errors": "errors",
    "lower_bounds": "lower_bounds",
    "mdps": "problems.mdps",
}

__all__ = [
    "KLUCB",
    "UBEV",
    "UCB",
    "UCBVI",
    "BernoulliBandit",
    "BetaBandit",
    "BettingElimination",
    "Comparison",
    "DeterministicBandit",
    "EliminationFramework",
    "Exp3P",
    "FixedTrial",
    "GaussianBandit",
    "GeometricHedge",
    "Guarantee",
    "LilUCB",
    "LinUCB",
    "LinearBandit",
    "LinearElimination",
    "MetaElimination",
    "OperatingCharacteristics",
    "PhasedElimination",
    "Planned",
    "PolicyElimination",
    "Race",
    "Replay",
    "Runs",
    "Scrible",
    "SpannerElimination",
    "Study",
    "SuccessiveElimination",
    "TableBandit",
    "TabularMDP",
    "ThompsonSampling",
    "TurningPoint",
    "__version__",
    "arm_sets",
    "barycentric_spanner",
    "compare",
    "datasets",
    "designs",
    "errors",
    "fixed_trial",
    "lower_bounds",
    "mdps",
    "operating_characteristics",
    "play",
    "race",
    "replay",
    "restore",
    "simulate",
    "turning_point",
    "verify_spanner",
]

if TYPE_CHECKING:
    from uli_fast import arm_sets, designs, errors, lower_bounds
    from uli_fast.compare import Comparison, compare
    from uli_fast.guarantees import Guarantee
    from uli_fast.learners.betting_elimination import BettingElimination
    from uli_fast.learners.elimination_framework import EliminationFramework
    from uli_fast.learners.exp3p import Exp3P
    from uli_fast.learners.geometric_hedge import GeometricHedge
    from uli_fast.learners.kl_ucb import KLUCB
    from uli_fast.learners.lil_ucb import LilUCB
    from uli_fast.learners.lin_ucb import LinUCB
    from uli_fast.learners.linear_elimination import LinearElimination
    from uli_fast.learners.meta_elimination import MetaElimination
    from uli_fast.learners.phased_elimination import PhasedElimination
    from uli_fast.learners.policy_elimination import PolicyElimination
    from uli_fast.learners.scrible import Scrible
    from uli_fast.learners.spanner_elimination import SpannerElimination
    from uli_fast.learners.successive_elimination import SuccessiveElimination
    from uli_fast.learners.thompson_sampling import ThompsonSampling
    from uli_fast.learners.ubev import UBEV
    from uli_fast.learners.ucb import UCB
    from uli_fast.learners.ucbvi import UCBVI
    from uli_fast.planning.characteristics import OperatingCharacteristics
    from uli_fast.planning.fixed_trial import FixedTrial, fixed_trial
    from uli_fast.planning.operating_characteristics import operating_characteristics
    from uli_fast.planning.stated_mean import Planned
    from uli_fast.play import play
    from uli_fast.players import restore
    from uli_fast.problems import datasets, mdps
    from uli_fast.problems.arms import (
        BernoulliBandit,
        BetaBandit,
        DeterministicBandit,
        GaussianBandit,
        TableBandit,
    )
    from uli_fast.problems.linear import LinearBandit
    from uli_fast.problems.tabular_mdp import TabularMDP
    from uli_fast.race import Race, race
    from uli_fast.replay import Replay, replay
    from uli_fast.runs import Runs
    from uli_fast.simulate import simulate
    from uli_fast.spanners import barycentric_spanner, verify_spanner
    from uli_fast.study import Study
    from uli_fast.turning_point import TurningPoint, turning_point


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


class _Package(ModuleType):
    """Keeps ``uli_fast.simulate`` a function when the submodule of that name is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _HOME and isinstance(value, ModuleType):
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
