"""Bandit learners that never go back to a bad choice, fast.

With probability 1 - delta the gap of what is played at every round t stays
below a known, decreasing F(delta, t): the uniform last-iterate guarantee.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from uli_fast import _registry

__version__ = "0.14.0"

# Public name -> module; resolved on first use so that importing stays quick.
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

# For type checkers, which cannot look names up; "as" says that a name is public.
if TYPE_CHECKING:
    from uli_fast import arm_sets as arm_sets
    from uli_fast import errors as errors
    from uli_fast import lower_bounds as lower_bounds
    from uli_fast.geometry import designs as designs
    from uli_fast.geometry.spanners import barycentric_spanner as barycentric_spanner
    from uli_fast.geometry.spanners import verify_spanner as verify_spanner
    from uli_fast.guarantees import Guarantee as Guarantee
    from uli_fast.guarantees.betting_plan import Planned as Planned
    from uli_fast.learners.betting_elimination import BettingElimination as BettingElimination
    from uli_fast.learners.cap_elimination import CapElimination as CapElimination
    from uli_fast.learners.elimination_framework import EliminationFramework as EliminationFramework
    from uli_fast.learners.exp3p import Exp3P as Exp3P
    from uli_fast.learners.geometric_hedge import GeometricHedge as GeometricHedge
    from uli_fast.learners.kl_ucb import KLUCB as KLUCB
    from uli_fast.learners.lil_ucb import LilUCB as LilUCB
    from uli_fast.learners.lin_ucb import LinUCB as LinUCB
    from uli_fast.learners.linear_elimination import LinearElimination as LinearElimination
    from uli_fast.learners.meta_elimination import MetaElimination as MetaElimination
    from uli_fast.learners.model_elimination import ModelElimination as ModelElimination
    from uli_fast.learners.own_learner import OwnLearner as OwnLearner
    from uli_fast.learners.phased_elimination import PhasedElimination as PhasedElimination
    from uli_fast.learners.policy_elimination import PolicyElimination as PolicyElimination
    from uli_fast.learners.scrible import Scrible as Scrible
    from uli_fast.learners.spanner_elimination import SpannerElimination as SpannerElimination
    from uli_fast.learners.successive_elimination import (
        SuccessiveElimination as SuccessiveElimination,
    )
    from uli_fast.learners.thompson_sampling import ThompsonSampling as ThompsonSampling
    from uli_fast.learners.ubev import UBEV as UBEV
    from uli_fast.learners.ucb import UCB as UCB
    from uli_fast.learners.ucbvi import UCBVI as UCBVI
    from uli_fast.logs.replay import replay as replay
    from uli_fast.planning.fixed_trial import FixedTrial as FixedTrial
    from uli_fast.planning.fixed_trial import fixed_trial as fixed_trial
    from uli_fast.planning.operating_characteristics import (
        operating_characteristics as operating_characteristics,
    )
    from uli_fast.players import restore as restore
    from uli_fast.problems import datasets as datasets
    from uli_fast.problems import mdps as mdps
    from uli_fast.problems.arms import BernoulliBandit as BernoulliBandit
    from uli_fast.problems.arms import BetaBandit as BetaBandit
    from uli_fast.problems.arms import DeterministicBandit as DeterministicBandit
    from uli_fast.problems.arms import GaussianBandit as GaussianBandit
    from uli_fast.problems.arms import TableBandit as TableBandit
    from uli_fast.problems.linear import LinearBandit as LinearBandit
    from uli_fast.problems.tabular_mdp import TabularMDP as TabularMDP
    from uli_fast.races.running import race as race
    from uli_fast.results.characteristics import (
        OperatingCharacteristics as OperatingCharacteristics,
    )
    from uli_fast.results.comparison import Comparison as Comparison
    from uli_fast.results.race import Race as Race
    from uli_fast.results.replay import Replay as Replay
    from uli_fast.results.runs import Runs as Runs
    from uli_fast.service.client import Client as Client
    from uli_fast.simulation.compare import compare as compare
    from uli_fast.simulation.play import play as play
    from uli_fast.simulation.simulate import simulate as simulate
    from uli_fast.simulation.turning_point import TurningPoint as TurningPoint
    from uli_fast.simulation.turning_point import turning_point as turning_point
    from uli_fast.study.study import Study as Study


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
