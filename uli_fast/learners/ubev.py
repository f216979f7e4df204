"""UBEV, the uniformly-PAC rival on tabular MDPs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import ModuleType

from uli_fast.learners._policies.optimistic import OptimisticPolicies
from uli_fast.problems.tabular_mdp import TabularMDP


@dataclass(frozen=True)
class UBEV(OptimisticPolicies):
    """Be optimistic with a log log N bonus; for every eps few mistakes, and no F_ULI.

    After Dann, Lattimore and Brunskill (2017): with probability 1 - delta the number of
    episodes whose gap exceeds eps is bounded for every eps at once, whenever they come. It
    needs no horizon. Rewards are known, and visits are counted stage by stage.

    The rival with few mistakes in all, whenever they come; for simulations only.

    Parameters
    ----------
    delta
        Probability with which the optimism may fail.

    Examples
    --------
    >>> import uli_fast as uli
    >>> river = uli.mdps.river_swim(n_states=3, horizon=4)
    >>> runs = uli.simulate(uli.UBEV(delta=0.1), river, horizon=2000, seed=1)
    >>> print(runs.mistakes(0.5) <= runs.mistakes(0.1))  # episodes with a larger gap
    [ True]
    """

    why_no_guarantee = (
        "UBEV is uniformly PAC: that counts the mistakes but lets them come at any time, "
        "so there is no F_ULI"
    )

    def kernel(self) -> ModuleType:
        """Return the kernel that plays it."""
        from uli_fast.kernels import ubev

        return ubev

    def parameter(self, problem: TabularMDP, horizon: int) -> float:
        """Return log(18 S A H / delta)."""
        sizes = problem.n_states * problem.n_actions * problem.horizon
        return math.log(18 * sizes) - math.log(self.delta)
