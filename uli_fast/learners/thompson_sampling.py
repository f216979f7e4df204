"""Thompson sampling, the rival that draws its decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uli_fast import _check
from uli_fast._support.streams import entropy_of
from uli_fast.errors import NoGuaranteeError
from uli_fast.guarantees import Guarantee
from uli_fast.learners._arms import ArmBatch, ArmLearner, new_states
from uli_fast.learners._parameters import noise, probability
from uli_fast.learners._setting import ArmSetting

if TYPE_CHECKING:
    from uli_fast.kernels.arms.state import RoundRecord
    from uli_fast.kernels.rewards.laws import Law
    from uli_fast.players.thompson_sampling import ThompsonPlayer


@dataclass(frozen=True)
class ThompsonSampling(ArmLearner):
    """Draw a mean for every arm from its posterior and play the largest.

    Rewards in a range are treated as coins with a uniform prior: Beta(1 + S, 1 + N - S). A reward
    strictly inside the range counts as a success with its value on the unit scale as probability
    (Agrawal and Goyal, 2012). Every arm is drawn again for ever: there is no F_ULI.

    With KLUCB the rival to beat. Rounds cannot be skipped: 10^7 of them take about a second.

    Parameters
    ----------
    delta
        Confidence of a live player's intervals. Decisions do not depend on it.
    R
        None: coins, for rewards in a declared range. Given, in reward units: the posterior of
        Gaussian rewards with standard deviation R and a flat prior, N(mean, R^2 / N), after one
        play each. Needed where rewards have no range.

    Examples
    --------
    >>> import uli_fast as uli
    >>> runs = uli.simulate(uli.ThompsonSampling(), uli.BernoulliBandit([0.7, 0.5]), 10**4, seed=1)
    >>> print(runs.plays[0, -1].argmax())  # the arm played most
    0
    >>> player = uli.ThompsonSampling().start(["placebo", "drug"], seed=7)
    >>> print(f"{player.ask().probability:.3f}")
    0.500
    """

    delta: float = probability(0.05)
    R: float | None = noise()

    engines: ClassVar[tuple[str, ...]] = ("rounds",)
    baseline: ClassVar[bool] = True
    returns: ClassVar[bool] = True
    draws: ClassVar[bool] = True
    why_no_guarantee: ClassVar[str] = (
        "no F_ULI holds for Thompson sampling: every worse arm is drawn again for ever"
    )

    def guarantee(self, about: Any) -> Guarantee:
        """Raise NoGuaranteeError: every arm keeps a positive chance."""
        raise NoGuaranteeError(self.why_no_guarantee)

    def begin(
        self, on: ArmSetting, law: Law, record: RoundRecord, engine: str, horizon: int
    ) -> ArmBatch:
        """Allocate the replications whose streams the law has."""
        from uli_fast.kernels import thompson_sampling as kernel

        states, R = new_states(law), on.R
        shapes = kernel.Shapes(*np.zeros((2, 2, on.K)))

        def advance(budget: int) -> bool:
            if self.R is None:
                return bool(kernel.batch_coins(law, states, shapes, record, horizon, budget))
            return bool(kernel.batch_normals(law, states, record, R, horizon, budget))

        return ArmBatch(states, advance)

    def start(
        self,
        arms: int | Sequence[str],
        seed: int | None = None,
        horizon: int | None = None,
        low: float = 0.0,
        high: float = 1.0,
    ) -> ThompsonPlayer:
        """Begin live decisions on a number of arms or on named ones.

        Rewards lie in [low, high]; pass ``-inf, inf`` for unbounded ones, which need R. ``seed``
        decides the draws, None takes fresh entropy; ``horizon`` changes nothing.
        """
        from uli_fast.players.thompson_sampling import ThompsonPlayer

        _check.unused(None, horizon)
        bounds = _check.reward_range(low, high)
        _check.unit_noise(self.R, bounds)
        labels = _check.labels("arms", arms)
        return ThompsonPlayer(self, labels, *bounds, entropy_of(_check.seed("seed", seed)))
