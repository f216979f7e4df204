# Written by `make lists` from uli_fast/__init__.py and the registry.

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
from uli_fast.learners.successive_elimination import SuccessiveElimination as SuccessiveElimination
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
from uli_fast.results.characteristics import OperatingCharacteristics as OperatingCharacteristics
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

__all__: list[str]
__version__: str
