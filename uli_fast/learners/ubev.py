"""UBEV, the uniformly-PAC rival on tabular MDPs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np

from uli_fast import _check
from uli_fast._typing import I64
from uli_fast.errors import NoGuaranteeError, UnsupportedError
from uli_fast.guarantees import Guarantee
from uli_fast.learners._policies import PolicyLearner
from uli_fast.learners.ucbvi import OptimisticRun
from uli_fast.problems.tabular_mdp import TabularMDP


@dataclass(frozen=True)
class UBEV(PolicyLearner):
    """Be optimistic with a log log N bonus; for every eps few mistakes, and no F_ULI.

    After Dann, Lattimore and Brunskill (2017): with probability 1 - delta the number of
    episodes whose gap exceeds eps is bounded for every eps at once, whenever they come. It
    knows no horizon. Rewards are known, and visits are counted stage by stage.

    Parameters
    ----------
    delta
        Probability with which the optimism may fail.
    """

    delta: float = 0.05
    baseline: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", _check.in_open_unit("delta", self.delta))

    def guarantee(self, about: Any) -> Guarantee:
        """Raise NoGuaranteeError: uniform PAC is weaker than ULI."""
        raise NoGuaranteeError(
            "UBEV is uniformly PAC: that counts the mistakes but lets them come at any time, "
            "which is no F_ULI"
        )

    def start(self, *about: Any, **more: Any) -> NoReturn:
        """Raise UnsupportedError: UBEV is a rival for simulations."""
        raise UnsupportedError("UBEV has no live player; PolicyElimination has one")

    def log_term(self, problem: TabularMDP) -> float:
        """Return log(18 S A H / delta)."""
        sizes = problem.n_states * problem.n_actions * problem.horizon
        return math.log(18 * sizes) - math.log(self.delta)

    def begin(
        self,
        problem: TabularMDP,
        rng: np.random.Generator,
        engine: str,
        horizon: int,
        rounds: I64,
    ) -> OptimisticRun:
        """Allocate one replication."""
        from uli_fast.kernels import ubev as kernel

        run = OptimisticRun(self, problem, horizon, rounds)
        run.prepare(rng, kernel, self.log_term(problem))
        return run
