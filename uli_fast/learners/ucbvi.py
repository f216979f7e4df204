"""UCB-VI, the optimistic rival on tabular MDPs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import ModuleType

from uli_fast.learners._policies.optimistic import OptimisticPolicies
from uli_fast.problems.tabular_mdp import TabularMDP


@dataclass(frozen=True)
class UCBVI(OptimisticPolicies):
    """Follow the policy that is best if every doubt is resolved in its favour; no F_ULI exists.

    After Azar, Osband and Munos (2017), with their Hoeffding bonus 7 H L / sqrt(N),
    L = log(5 S A T / delta): tuned to the T = H x episodes steps that are simulated. Rewards
    are known, and visits are counted stage by stage.

    The optimistic rival on MDPs; for simulations only.

    Parameters
    ----------
    delta
        Probability with which the optimism may fail.

    Examples
    --------
    >>> import uli_fast as uli
    >>> river = uli.mdps.river_swim(n_states=3, horizon=4)
    >>> runs = uli.simulate(uli.UCBVI(delta=0.1), river, horizon=2000, seed=1)
    >>> print(runs.final_regret()[0] > 0)
    True
    """

    why_no_guarantee = (
        "UCBVI comes back to worse policies (its bonus grows with log T), "
        "so no decreasing F_ULI is known"
    )

    def kernel(self) -> ModuleType:
        """Return the kernel that plays it."""
        from uli_fast.kernels import ucbvi

        return ucbvi

    def parameter(self, problem: TabularMDP, horizon: int) -> float:
        """Return 7 H L, the bonus of a single visit."""
        S, A, H = problem.n_states, problem.n_actions, problem.horizon
        return 7.0 * H * (math.log(5 * S * A * H * horizon) - math.log(self.delta))
