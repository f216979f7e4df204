"""LinUCB, the optimistic rival on linear arms."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64
from uli_fast.errors import NoGuaranteeError
from uli_fast.guarantees import Guarantee
from uli_fast.learners._arms import ArmBatch, ArmLearner, OneByOne, new_states
from uli_fast.learners._linear import (
    LinearSetting,
    Units,
    on_vectors,
    on_vertices,
    started,
    units_of,
)
from uli_fast.learners._parameters import noise, positive, probability
from uli_fast.learners._setting import ArmSetting

if TYPE_CHECKING:
    from uli_fast._check import Bounds
    from uli_fast.kernels.arms.state import ArmState, RoundRecord
    from uli_fast.kernels.lin_ucb import Ridge
    from uli_fast.kernels.rewards.laws import Law
    from uli_fast.players.lin_ucb import LinUCBPlayer


@dataclass(frozen=True)
class LinUCB(ArmLearner):
    """Play the largest ``<theta_hat, a> + radius(t) |a|_{V^-1}``; no F_ULI exists.

    Ridge regression with the self-normalised radius
    R sqrt(d log(1 + t / d) + 2 log(1 / delta)) + 1, on arms and theta of norm at most 1
    (others are rescaled). The log t makes it come back to bad arms for ever.

    The rival on vectors, simulated or live. It often costs less at first where many arms are close
    to the best, and promises nothing about any round.

    Parameters
    ----------
    delta
        Probability with which the confidence ellipsoids may fail.
    R
        The noise is R-subgaussian, in reward units; None is half the declared range of the
        rewards, which always holds. Where they have no range it must be given.
    theta_norm
        A bound on the norm of theta.

    Examples
    --------
    >>> import uli_fast as uli
    >>> arms = [[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]]
    >>> problem = uli.LinearBandit([0.6, 0.3], arms, sigma=0.5)
    >>> runs = uli.simulate(uli.LinUCB(R=0.5), problem, horizon=2000, seed=1)
    >>> print(runs.plays[0, -1].argmax())
    2
    """

    delta: float = probability(0.05)
    R: float | None = noise()
    theta_norm: float = positive(1.0)
    engines: ClassVar[tuple[str, ...]] = ("rounds",)
    baseline: ClassVar[bool] = True

    def reduced(self, problem: Any) -> Any:
        """Return the problem on the vertices of its arm set, if it has one."""
        return on_vertices("problem", problem)

    def on(self, about: Any) -> LinearSetting:
        """Return this learner on a linear bandit, or on arms."""
        return on_vectors(self, about)

    def check(self, on: ArmSetting, horizon: int) -> None:
        """Refuse arms that are not vectors."""
        _check.has_features("problem", on.features, "LinUCB")
        super().check(on, horizon)

    def units(self, features: F64, bounds: Bounds, intercept: float) -> Units:
        """Return the scale of the proofs for these arms."""
        return units_of(features, self.theta_norm, self.R, bounds, intercept)

    def guarantee(self, about: Any) -> Guarantee:
        """Raise NoGuaranteeError: optimism has no near-optimal F_ULI."""
        raise NoGuaranteeError(
            "LinUCB comes back to every direction for ever (its radius grows with log t), "
            "so no decreasing F_ULI is known"
        )

    def start(
        self,
        arms: Any,
        seed: int | None = None,
        horizon: int | None = None,
        low: float = -math.inf,
        high: float = math.inf,
        intercept: float = 0.0,
    ) -> LinUCBPlayer:
        """Begin live decisions on vectors; they name arms by their row.

        Parameters
        ----------
        arms
            A (K, d) array, one arm per row, or a set with few vertices, whose rows are
            ``arms.vertices()``.
        seed, horizon
            Nothing is drawn at random and nothing is tuned to a horizon: they change nothing here.
        low, high
            The range of the rewards. They are unbounded by default, and need R then.
        intercept
            The expected reward where <theta, a> = 0.

        Returns
        -------
        Player
            With ``ask``, ``tell``, ``recommend`` and ``certificate``, and the rows as ``features``.
        """
        from uli_fast.players.lin_ucb import LinUCBPlayer

        return LinUCBPlayer(self, *started(arms, (seed, horizon), (low, high), intercept))

    def begin(
        self, on: LinearSetting, law: Law, record: RoundRecord, engine: str, horizon: int
    ) -> ArmBatch:
        """Allocate the replications whose streams the law has."""
        from uli_fast.kernels import lin_ucb as kernel

        units, features = on.units, on.features
        parameters = (self.delta, units.R, units.offset, units.slope)
        states = new_states(law)

        def begin(r: int, state: ArmState, law: Law, record: RoundRecord) -> Callable[[int], bool]:
            ridge = new_ridge(features)

            def advance(budget: int) -> bool:
                done, end = False, int(state.clock[0]) + budget
                while not done and state.clock[0] < end:
                    left = end - int(state.clock[0])
                    done = kernel.play_rounds(ridge, law, state, record, parameters, horizon, left)
                    if state.clock[0] % kernel.REFRESH == 0:
                        refresh(ridge)
                return done

            return advance

        return ArmBatch(states, OneByOne(states, law, record, begin).advance)


def refresh(ridge: Ridge) -> None:
    """Recompute everything from V and b."""
    ridge.inverse[:] = np.linalg.inv(ridge.V)
    ridge.mean[:] = ridge.x @ (ridge.inverse @ ridge.b)
    ridge.square[:] = ((ridge.x @ ridge.inverse) * ridge.x).sum(axis=1)


def new_ridge(features: F64) -> Ridge:
    """Allocate a regression on arms divided by their largest norm."""
    from uli_fast.kernels.lin_ucb import Ridge

    largest = float(np.linalg.norm(features, axis=1).max())
    x = np.ascontiguousarray(features / largest) if largest > 0.0 else np.array(features)
    K, d = x.shape
    squares: F64 = (x * x).sum(axis=1)
    return Ridge(x, np.eye(d), np.eye(d), np.zeros(d), np.zeros(d), np.zeros(K), squares)
