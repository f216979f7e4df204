"""Phased elimination on finitely many linear arms (PE-linear).

Deviation: the design lives in the span of the active arms, with a pseudo-inverse
where the paper inverts; log log d is that of max(d, e); and F has 2048 where the paper
has 512 (docs/errata.md).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64, I64, Form
from uli_fast.errors import DesignError
from uli_fast.geometry import designs
from uli_fast.geometry.least_squares import influence, least_squares
from uli_fast.guarantees import Guarantee, formula, read_arms
from uli_fast.guarantees.phase_bounds import largest_support
from uli_fast.guarantees.phase_bounds import linear_size as phase_size
from uli_fast.learners._arms import ArmBatch, ArmLearner, OneByOne, new_states
from uli_fast.learners._linear import (
    Units,
    check_linear,
    noise_of,
    units_of,
)
from uli_fast.learners._sets import BlockLog, PlayBlock, Work

if TYPE_CHECKING:
    from uli_fast._check import Bounds
    from uli_fast.kernels.arms.state import ArmState, RoundRecord
    from uli_fast.kernels.rewards.laws import Law
    from uli_fast.players.linear_elimination import LinearPlayer
    from uli_fast.problems.arms import ArmBandit

LARGEST_QUOTA = 4e18


@dataclass(frozen=True)
class LinearElimination(ArmLearner):
    """Play a near-optimal design on the survivors in phases; drop what lags at a phase's end.

    With probability 1 - delta every round's gap is at most 8 2^-l for arms and theta of norm
    at most 1, l being its phase when no arm is ever dropped; that is below the closed form
    sqrt(2048 d max(R^2 log(4 K log2(t+1)^2 / delta), loglog d + 4) / (3 t)). Others are
    rescaled: arms by their largest norm, rewards by that and ``theta_norm``; the bound comes
    back in reward units.

    Parameters
    ----------
    delta
        Probability with which the guarantee may fail.
    R
        The noise is R-subgaussian, in reward units; None is half the declared range of the
        rewards, which always holds. Where they have no range it must be given.
    theta_norm
        A bound on the norm of theta, where rewards are intercept + <theta, a> + noise.
    """

    delta: float = 0.05
    R: float | None = None
    theta_norm: float = 1.0
    has_event: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", _check.in_open_unit("delta", self.delta))
        object.__setattr__(self, "R", _check.optional_noise("R", self.R))
        object.__setattr__(self, "theta_norm", _check.positive("theta_norm", self.theta_norm))

    def check(self, problem: ArmBandit, horizon: int) -> None:
        """Refuse arms that are not vectors."""
        _check.has_features("problem", problem.features, "LinearElimination")
        noise_of(problem, self.R)

    def guarantee(self, about: Any, form: Form = "schedule") -> Guarantee:
        """Return F_ULI for a problem, (K, d) or an array of arms; "paper" is the closed form."""
        info, R = read_arms(about), noise_of(about, self.R)
        d = check_linear(info, R, self.theta_norm)
        scale = info.arm_norm * self.theta_norm
        parameters = {"K": info.K, "d": d, "R": R / scale, "largest_gap": 2.0}
        if form != "paper":
            parameters["support"] = min(info.K, largest_support(d))
        return Guarantee(formula("PE-linear", form), self.delta, parameters, scale)

    def units(self, features: F64, bounds: Bounds, intercept: float) -> Units:
        """Return the scale of the proofs for these arms."""
        return units_of(features, self.theta_norm, self.R, bounds, intercept)

    def begin(
        self, problem: ArmBandit, law: Law, record: RoundRecord, engine: str, horizon: int
    ) -> ArmBatch:
        """Allocate the replications whose streams the law has."""
        states, logs = new_states(law), [BlockLog() for _ in law.words]

        def begin(r: int, state: ArmState, law: Law, record: RoundRecord) -> Callable[[int], bool]:
            return self._begin(problem, (law, state, record), logs[r], engine, horizon)

        return ArmBatch(states, OneByOne(states, law, record, begin).advance, logs=logs)

    def _begin(
        self, problem: ArmBandit, one: tuple[Any, ...], log: BlockLog, engine: str, horizon: int
    ) -> Callable[[int], bool]:
        """Begin one replication; return what plays it on."""
        from uli_fast.kernels import linear_elimination as kernel
        from uli_fast.kernels.arms.state import play_out

        law, state, record = one
        units = self.units(problem.features, (problem.low, problem.high), problem.intercept)
        phases = Phases(self.delta, units, problem.features, state)
        # True means in units of the proofs, to know whether the nice event held.
        truth = (problem.means - problem.intercept) / units.scale
        left, before = phases.quotas().copy(), state.total.copy()
        phases.note(log, horizon)

        def advance(budget: int) -> bool:
            if state.active.sum() == 1:
                play_out(state, record, int(state.active.argmax()), horizon)
                return True
            if engine == "skip":
                complete = kernel.play_skipping(law, state, record, left, horizon)
            else:
                complete = kernel.play_rounds(law, state, record, left, horizon, budget)
            if complete:
                phases.close(state.total - before, truth)
                left[:], before[:] = phases.quotas(), state.total
                phases.note(log, horizon)
            return bool(state.clock[0] >= horizon)

        return advance

    def start(
        self,
        arms: Any,
        seed: int | None = None,
        horizon: int | None = None,
        low: float = -math.inf,
        high: float = math.inf,
        intercept: float = 0.0,
    ) -> LinearPlayer:
        """Begin live decisions on a (K, d) array with one arm per row.

        Decisions name arms by their row. Rewards are unbounded by default and need R then:
        the noise around intercept + <theta, a> is R-subgaussian. Nothing is drawn at random
        and nothing is tuned to a horizon, so ``seed`` and ``horizon`` change nothing.
        """
        from uli_fast.players.linear_elimination import LinearPlayer

        _check.unused(seed, horizon)
        features = _check.matrix("arms", arms)
        labels = tuple(range(len(features)))
        at = _check.number("intercept", intercept)
        return LinearPlayer(self, labels, *_check.reward_range(low, high), features, at)

    def revive(self, arms: Any, low: float, high: float, extra: Mapping[str, Any]) -> LinearPlayer:
        """Start a player again, as a saved state describes it."""
        return self.start(extra["features"], low=low, high=high, intercept=extra["intercept"])


def quotas_of(weights: F64, size: float) -> I64:
    """Return ceil(pi(a) m_l), cut to what 64-bit counters hold."""
    return np.ceil(np.minimum(weights * size, LARGEST_QUOTA)).astype(np.int64)


class Phases:
    """The phases of one run: a design each, and the test at its end."""

    def __init__(self, delta: float, units: Units, features: F64, state: ArmState) -> None:
        self.delta, self.units, self.features, self.state = delta, units, features, state
        self.rank = max(1, designs.rank(features))
        self.values: F64 = np.full(len(features), np.nan)  # of the last closed phase
        self.errors: F64 = np.zeros(len(features))  # that missing rewards may have made in them
        self._quotas: tuple[int, I64] | None = None
        self._seconds = 0.0  # that the design took

    def quotas(self) -> I64:
        """Return the plays of each arm in this phase: ceil(pi(a) m_l) by a design pi."""
        phase, begun = int(self.state.clock[1]), time.perf_counter()
        if self._quotas is None or self._quotas[0] != phase:
            active = np.flatnonzero(self.state.active)
            arms = self.features[active]
            size = phase_size(phase, len(self.features), self.rank, self.delta, self.units.R)
            weights = designs.g_optimal(arms).weights if arms.any() else np.eye(1, active.size)[0]
            self._check_support(int((weights > 0.0).sum()))
            quotas = np.zeros(len(self.features), np.int64)
            quotas[active] = quotas_of(weights, size)
            self._quotas = phase, quotas
            self._seconds = time.perf_counter() - begun
        return self._quotas[1]

    def _check_support(self, arms: int) -> None:
        """Refuse a design of more arms than F counts on: its phase would be too long."""
        most = largest_support(self.rank)
        if arms > most:
            raise DesignError(f"a design has {arms} arms, the guarantee counts on {most} at most")

    def note(self, log: BlockLog, horizon: int) -> None:
        """Add the blocks of the phase that begins now; one arm left is played to the end."""
        phase, t = int(self.state.clock[1]), int(self.state.clock[0])
        quotas = self.quotas()
        if self.state.active.sum() == 1:
            quotas = np.where(self.state.active, horizon, 0)
        if t < horizon:
            log.work.append(Work(0, 0, self._seconds))
        for a in np.flatnonzero(quotas).tolist():
            if t < horizon:
                last = min(t + int(quotas[a]), horizon)
                log.blocks.append(PlayBlock(phase, t + 1, last, self.features[a], a))
            t += int(quotas[a])

    def close(self, sums: F64 | I64, truth: F64 | None = None, missing: I64 | None = None) -> None:
        """Estimate every active arm from this phase's reward sums and drop what lags.

        ``missing`` rewards of each arm are in the sums as 1/2, on a scale from 0 to 1.
        """
        state, units, phase = self.state, self.units, int(self.state.clock[1])
        active = np.flatnonzero(state.active)
        n = self.quotas()[active]
        rewards = sums[active] / np.maximum(n, 1) * units.slope - units.offset
        arms = self.features[active]
        values = arms @ least_squares(arms, n, rewards)
        if truth is not None and np.abs(values - truth[active]).max() > 2.0**-phase:
            state.broken[0] = True
        error = np.zeros(active.size)
        if missing is not None and missing.any():
            off = 0.5 * units.slope * missing[active] / np.maximum(n, 1)  # of the mean rewards
            error = np.abs(influence(arms, n)) @ off
        removed = active[(values - error).max() - (values + error) > 2.0 ** (1 - phase)]
        self.errors[:] = 0.0
        self.errors[active] = error
        self.values[:] = np.nan
        self.values[active] = values
        state.active[removed] = False
        state.eliminated[removed] = state.clock[0]
        state.clock[1] += 1
