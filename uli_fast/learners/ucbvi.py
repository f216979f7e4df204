"""UCB-VI, the optimistic rival on tabular MDPs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar, NoReturn

import numpy as np

from uli_fast import _check
from uli_fast._typing import I64
from uli_fast.errors import NoGuaranteeError, UnsupportedError
from uli_fast.guarantees import Guarantee
from uli_fast.learners._policies import PolicyLearner, PolicyRun
from uli_fast.problems.tabular_mdp import TabularMDP


@dataclass(frozen=True)
class UCBVI(PolicyLearner):
    """Follow the policy that is best if every doubt is resolved in its favour; no F_ULI exists.

    After Azar, Osband and Munos (2017), with their Hoeffding bonus 7 H L / sqrt(N),
    L = log(5 S A T / delta): tuned to the T = H x episodes steps that are simulated. Rewards
    are known, and visits are counted stage by stage.

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
        """Raise NoGuaranteeError: optimism has no near-optimal F_ULI."""
        raise NoGuaranteeError(
            "UCBVI comes back to worse policies (its bonus grows with log T), "
            "so no decreasing F_ULI is known"
        )

    def start(self, *about: Any, **more: Any) -> NoReturn:
        """Raise UnsupportedError: UCBVI is a rival for simulations."""
        raise UnsupportedError("UCBVI has no live player; PolicyElimination has one")

    def bonus(self, problem: TabularMDP, horizon: int) -> float:
        """Return 7 H L, the bonus of a single visit."""
        S, A, H = problem.n_states, problem.n_actions, problem.horizon
        return 7.0 * H * (math.log(5 * S * A * H * horizon) - math.log(self.delta))

    def begin(
        self,
        problem: TabularMDP,
        rng: np.random.Generator,
        engine: str,
        horizon: int,
        rounds: I64,
    ) -> OptimisticRun:
        """Allocate one replication."""
        from uli_fast.kernels import ucbvi as kernel

        run = OptimisticRun(self, problem, horizon, rounds)
        run.prepare(rng, kernel, self.bonus(problem, horizon))
        return run


class OptimisticRun(PolicyRun):
    """One replication in progress."""

    def prepare(self, rng: np.random.Generator, kernel: ModuleType, parameter: float) -> None:
        """Begin with nothing seen and everything hoped for."""
        from uli_fast.kernels.ucbvi import Outlook

        problem = self.problem
        H, S, A = problem.horizon, problem.n_states, problem.n_actions
        self.law, self.kernel, self.parameter = problem.law(rng), kernel, parameter
        self.look = Outlook(
            P=np.zeros((H, S, S * A)),
            r=problem.unit_rewards.reshape(H, S * A).copy(),
            c=np.full((H, S * A), float(H)),
            Q=np.full((H, S * A), float(H)),
            V=np.concatenate([np.full((H, S), np.nan), np.zeros((1, S))]),
            x=np.zeros(S * A),
            width=np.where(problem.decision_points, A, 1).astype(np.int64),
        )
        by_pair = self.look.P.reshape(H, S, S, A).transpose(0, 2, 3, 1)
        self.model = self.model._replace(P=by_pair)
        self.visits = self.model.N

    def advance(self, budget: int) -> bool:
        """Play up to ``budget`` episodes and say whether the horizon is reached."""
        args = (self.look, self.law, self.model, self.parameter, self.ledger, self.path)
        status = self.kernel.play_episodes(*args, min(budget, self.horizon - self.t))
        if status == self.kernel.NO_ROOM:
            self.make_room()
        self.t = int(self.ledger.clock[0])
        return self.t == self.horizon
