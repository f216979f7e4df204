"""What UCB-VI and UBEV share: no elimination, no guarantee, one outlook on what is best."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar, NoReturn

import numpy as np

from uli_fast._typing import I64, U64
from uli_fast.errors import NoGuaranteeError, UnsupportedError
from uli_fast.guarantees import Guarantee
from uli_fast.learners._parameters import probability
from uli_fast.learners._policies.runs import PolicyLearner, PolicyRun
from uli_fast.learners._setting import PolicySetting
from uli_fast.problems.tabular_mdp import TabularMDP


@dataclass(frozen=True)
class OptimisticPolicies(PolicyLearner):
    """Follow the policy that is best if every doubt is resolved in its favour."""

    delta: float = probability(0.05)
    baseline: ClassVar[bool] = True
    why_no_guarantee: ClassVar[str]

    def guarantee(self, about: Any) -> Guarantee:
        """Raise NoGuaranteeError: optimism has no near-optimal F_ULI."""
        raise NoGuaranteeError(self.why_no_guarantee)

    def start(self, *about: Any, **more: Any) -> NoReturn:
        """Raise UnsupportedError: this is a rival for simulations."""
        name = type(self).__name__
        raise UnsupportedError(f"{name} has no live player; ModelElimination has one")

    def start_on(self, mdp: TabularMDP) -> NoReturn:
        """Raise UnsupportedError: this is a rival for simulations."""
        self.start()

    def kernel(self) -> ModuleType:
        """Return the kernel that plays it."""
        raise NotImplementedError

    def parameter(self, problem: TabularMDP, horizon: int) -> float:
        """Return what the kernel must know about the bonus."""
        raise NotImplementedError

    def begin(
        self,
        on: PolicySetting,
        words: U64,
        engine: str,
        horizon: int,
        rounds: I64,
    ) -> OptimisticRun:
        """Allocate one replication."""
        run = OptimisticRun(on, horizon, rounds)
        run.prepare(words, self.kernel(), self.parameter(on.about, horizon))
        return run


class OptimisticRun(PolicyRun):
    """One replication in progress."""

    def prepare(self, words: U64, kernel: ModuleType, parameter: float) -> None:
        """Begin with nothing seen and everything hoped for."""
        from uli_fast.kernels.ucbvi import Outlook

        problem = self.problem
        H, S, A = problem.horizon, problem.n_states, problem.n_actions
        self.law, self.kernel, self.parameter = problem.law(words), kernel, parameter
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
        args = (self.look, self.law, self.model, self.parameter, self.policy_log, self.path)
        status = self.kernel.play_episodes(*args, min(budget, self.horizon - self.t))
        if status == self.kernel.NO_ROOM:
            self.make_room()
        self.t = int(self.policy_log.clock[0])
        return self.t == self.horizon
