"""Live phased elimination (PE-MAB).

A phase closes when every decision of its quota is settled, never on the first
arrivals: outcomes that come early would bias it. What is asked beyond the quota
in the meantime counts for the next phase, if the arm survives.

A missing outcome of bounded rewards fills its place in the quota, and the test at the end of
the phase allows for what it may have been. One of unbounded rewards is asked for again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from uli_fast._check import Labels
from uli_fast._typing import F64, I64
from uli_fast.formulas.phased_elimination import quota
from uli_fast.guarantees import Guarantee
from uli_fast.players._arms import Player
from uli_fast.players._saved_states import Records

if TYPE_CHECKING:
    from uli_fast.kernels.phased_elimination import PhaseStart


class PhaseMemory(NamedTuple):
    """What is known of the open phase and of the last closed one."""

    start: PhaseStart
    asked: I64  # (K,) decisions of the open phase
    mean: F64  # (K,) of the closed phase; NaN if the arm was not in it
    width: F64  # (K,) of its interval
    missing: F64  # (K,) the share of its plays that is missing
    early: (
        Records  # arm and reward beyond a quota while others are not settled; NaN if it is missing
    )


class PhasedPlayer(Player):
    """Asks for each survivor's quota in turn; drops what lags when the phase is settled."""

    widens: ClassVar[bool] = True
    chooses_by: ClassVar[str] = "quotas"

    def __init__(self, learner: Any, labels: Labels, low: float, high: float) -> None:
        from uli_fast.kernels.phased_elimination import PhaseStart

        super().__init__(learner, labels, low, high)
        K = len(labels)
        start = PhaseStart(np.zeros(K, np.int64), np.zeros(K), np.zeros(K, np.int64))
        means = (np.full(K, math.nan), np.full(K, math.inf), np.zeros(K))
        self.memory = PhaseMemory(start, np.zeros(K, np.int64), *means, Records(int, float))

    @property
    def phase_start(self) -> PhaseStart:
        """What the counts were when the phase began, and what of it is missing."""
        start: PhaseStart = self.memory.start
        return start

    @property
    def phase(self) -> int:
        """The phase in which settled rewards now count."""
        return int(self.arm_state.clock[1])

    @property
    def quota(self) -> int:
        """Plays of each survivor in this phase."""
        return quota(self.phase, len(self.labels), self.learner.delta, self.unit_noise)

    def _choose(self) -> int:
        from uli_fast.kernels.arms.state import least_played

        active = self.arm_state.active
        unasked = active & (self.memory.asked < self.quota)
        return int(unasked.argmax() if unasked.any() else least_played(self.memory.asked, active))

    def _counts_asked(self) -> tuple[I64, ...]:
        return self.tally.asked, self.memory.asked

    def absorb(self, a: int, reward: float) -> None:
        """Take in a reward of an active arm, on the unit scale."""
        self._take(a, reward)

    def _absorb_missing(self, a: int) -> None:
        self._take(a, math.nan)

    def _take(self, a: int, reward: float) -> None:
        from uli_fast.kernels.phased_elimination import close_phase, next_arm

        state, start, m = self.arm_state, self.phase_start, self.quota
        if state.n[a] - start.n[a] >= m:  # another arm is asked for again
            self.memory.early.append((a, reward))
            return
        if missing := math.isnan(reward):
            start.missing[a] += 1
        self.count(a, 0.0 if missing else reward)
        if next_arm(state, start, m) < 0:
            active, memory = state.active.copy(), self.memory
            memory.mean[active] = (state.total - start.total)[active] / m
            memory.width[active] = 2.0 ** -(self.phase + 1)
            memory.missing[active] = start.missing[active] / m
            close_phase(state, start, m)
            self._narrow()
            memory.asked[active] -= m
            early = list(memory.early)
            memory.early.clear()
            for b, x in early:
                if state.active[b]:
                    self._take(b, x)

    def _omit(self, a: int) -> None:
        self.memory.asked[a] -= 1

    def _unit_intervals(self) -> tuple[F64, F64]:
        width = self.memory.width
        mean = np.where(np.isfinite(width), self.memory.mean, 0.0)
        return mean - width, mean + width + self.memory.missing

    def _promise(self) -> Guarantee | None:
        # F needs to know the largest gap. That phase means are within 2^(-l-1) does not, and
        # leaves survivors of phase l with gaps of at most 2 2^-l.
        return super()._promise() if math.isfinite(self.low) else None
