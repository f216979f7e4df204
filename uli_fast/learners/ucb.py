"""UCB, the optimistic rival that comes back to every arm for ever."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from uli_fast.learners._optimism import OptimisticLearner


@dataclass(frozen=True)
class UCB(OptimisticLearner):
    """Play the largest mean + 2R sqrt(log(2 t^2 / delta) / N); no F_ULI exists.

    The log t in the bonus makes it play every arm infinitely often.

    Parameters
    ----------
    delta
        Confidence parameter of the bonus.
    R
        Rewards are R-subgaussian; those in [0, 1] are so with R = 1/2.
    """

    delta: float = 0.05
    R: float = 0.5

    why_no_guarantee = (
        "UCB plays every arm infinitely often (its bonus grows with log t), "
        "so no decreasing F_ULI holds"
    )

    def __post_init__(self) -> None:
        self._check_parameters()

    def rule(self) -> Any:
        """Return the bonus as kernels read it."""
        from uli_fast.kernels.ucb import UcbRule

        return UcbRule(math.log(2.0) - math.log(self.delta), 2.0 * self.R)
