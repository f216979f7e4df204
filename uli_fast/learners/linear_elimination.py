"""Phased elimination on finitely many linear arms (PE-linear).

Deviation: the design lives in the span of the active arms, with a pseudo-inverse
where the paper inverts; log log d is that of max(d, e); and F has 2048 where the paper
has 512 (docs/errata.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uli_fast import _check, designs
from uli_fast._typing import F64, I64
from uli_fast.guarantees import Guarantee, read_arms
from uli_fast.learners._arms import ArmLearner, ArmRun, new_state
from uli_fast.learners._linear import Units, check_linear, least_squares, log_log, units_of

if TYPE_CHECKING:
    from uli_fast.kernels._arms import ArmState, Record
    from uli_fast.kernels._rewards import Law
    from uli_fast.problems.arms import ArmBandit

LARGEST_QUOTA = 4e18


@dataclass(frozen=True)
class LinearElimination(ArmLearner):
    """Play a near-optimal design on the survivors in phases; drop what lags at a phase's end.

    With probability 1 - delta every round's gap is at most
    sqrt(2048 d max(R^2 log(4 K log2(t+1)^2 / delta), loglog d + 4) / (3 t)) for arms and
    theta of norm at most 1. Others are rescaled: arms by their largest norm, rewards by
    that and ``theta_norm``; the bound comes back in reward units.

    Parameters
    ----------
    delta
        Probability with which the guarantee may fail.
    R
        The noise is R-subgaussian, in reward units; rewards in [0, 1] are so with 1/2.
    theta_norm
        A bound on the norm of theta, where rewards are intercept + <theta, a> + noise.
    """

    delta: float = 0.05
    R: float = 1.0
    theta_norm: float = 1.0
    has_event: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", _check.in_open_unit("delta", self.delta))
        for name in ("R", "theta_norm"):
            object.__setattr__(self, name, _check.positive(name, getattr(self, name)))

    def check(self, problem: ArmBandit, horizon: int) -> None:
        """Refuse arms that are not vectors."""
        _check.has_features("problem", problem.features, "LinearElimination")

    def guarantee(self, about: Any) -> Guarantee:
        """Return F_ULI for a problem, (K, d) or an array of arms."""
        info = read_arms(about)
        d = check_linear(info, self.R, self.theta_norm)
        scale = info.arm_norm * self.theta_norm
        parameters = {"K": info.K, "d": d, "R": self.R / scale, "largest_gap": 2.0}
        return Guarantee("PE-linear", self.delta, parameters, scale)

    def begin(
        self, problem: ArmBandit, law: Law, record: Record, engine: str, horizon: int
    ) -> ArmRun:
        """Allocate one replication."""
        units = units_of(
            problem.features,
            self.theta_norm,
            self.R,
            (problem.low, problem.high),
            problem.intercept,
        )
        run = _Run(self, units, problem, new_state(law))

        def advance(budget: int) -> bool:
            return run.advance(law, record, engine, horizon, budget)

        return ArmRun(run.state, advance)


def phase_size(phase: int, K: int, d: int, delta: float, R: float) -> float:
    """Return m_l = 4 d 4^l max(R^2 log(4 K l^2 / delta), loglog d + 4)."""
    log_term = math.log(4.0 * K) - math.log(delta) + 2.0 * math.log(phase)
    return 4.0 * d * 4.0 ** min(phase, 400) * max(R * R * log_term, log_log(d) + 4.0)


def quotas_of(weights: F64, size: float) -> I64:
    """Return ceil(pi(a) m_l), cut to what 64-bit counters hold."""
    return np.ceil(np.minimum(weights * size, LARGEST_QUOTA)).astype(np.int64)


class _Run:
    """One replication in progress."""

    def __init__(
        self, learner: LinearElimination, units: Units, problem: ArmBandit, state: ArmState
    ) -> None:
        self.learner, self.units, self.state = learner, units, state
        self.features = problem.features
        self.rank = max(1, designs.rank(problem.features))
        # True means in units of the proofs, to know whether the nice event held.
        self.truth: F64 = (problem.means - problem.intercept) / units.scale
        self.quotas: I64 | None = None
        self.left: I64 = np.zeros(problem.n_arms, np.int64)
        self.total = state.total.copy()

    def advance(self, law: Law, record: Record, engine: str, T: int, budget: int) -> bool:
        """Play on for about ``budget`` rounds, or a whole phase where it is drawn at once."""
        from uli_fast.kernels import linear_elimination as kernel
        from uli_fast.kernels._arms import play_out

        state = self.state
        if state.active.sum() == 1:
            play_out(state, record, int(state.active.argmax()), T)
            return True
        if self.quotas is None:
            self._open()
        if engine == "skip":
            complete = kernel.play_skipping(law, state, record, self.left, T)
        else:
            complete = kernel.play_rounds(law, state, record, self.left, T, budget)
        if complete:
            self._close()
        return bool(state.clock[0] >= T)

    def _open(self) -> None:
        """Find a design on the active arms and share the phase out."""
        active = np.flatnonzero(self.state.active)
        size = phase_size(
            int(self.state.clock[1]),
            self.state.n.size,
            self.rank,
            self.learner.delta,
            self.units.R,
        )
        arms = self.features[active]
        weights = designs.g_optimal(arms).weights if arms.any() else np.eye(1, active.size)[0]
        self.quotas = np.zeros(self.state.n.size, np.int64)
        self.quotas[active] = quotas_of(weights, size)
        self.left[:] = self.quotas
        self.total[:] = self.state.total

    def _close(self) -> None:
        """Estimate every active arm from this phase's rewards and drop what lags."""
        assert self.quotas is not None
        state, units = self.state, self.units
        phase = int(state.clock[1])
        active = np.flatnonzero(state.active)
        n = self.quotas[active]
        unit_means = (state.total - self.total)[active] / np.maximum(n, 1)
        rewards = unit_means * units.slope - units.offset
        x = designs.basis(self.features[active])
        values = x @ least_squares(x, n, rewards) if x.shape[1] else np.zeros(active.size)
        if np.abs(values - self.truth[active]).max() > 2.0**-phase:
            state.broken[0] = True
        removed = active[values.max() - values > 2.0 ** (1 - phase)]
        state.active[removed] = False
        state.eliminated[removed] = state.clock[0]
        state.clock[1] += 1
        self.quotas = None
