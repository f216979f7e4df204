"""Live phased elimination (PE-MAB).

A phase closes when every decision of its quota is settled, never on the first
arrivals: outcomes that come early would bias it. What is asked beyond the quota
in the meantime counts for the next phase, if the arm survives.

A missing outcome of bounded rewards fills its place in the quota, and the test at the end of
the phase allows for what it may have been. One of unbounded rewards is asked for again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from uli_fast._check import Labels
from uli_fast._typing import F64, I64
from uli_fast.formulas.phased_elimination import quota
from uli_fast.guarantees import Guarantee
from uli_fast.players._arms import Player


class PhasedPlayer(Player):
    """Asks for each survivor's quota in turn; drops what lags when the phase is settled."""

    widens: ClassVar[bool] = True
    chooses_by: ClassVar[str] = "quotas"

    def __init__(self, learner: Any, labels: Labels, low: float, high: float) -> None:
        from uli_fast.kernels.phased_elimination import PhaseStart

        super().__init__(learner, labels, low, high)
        K = len(labels)
        # What the counts were when the phase began, and what of it is missing.
        self.phase_start = PhaseStart(np.zeros(K, np.int64), np.zeros(K), np.zeros(K, np.int64))
        self._phase_asked: I64 = np.zeros(K, np.int64)
        self._closed_mean: F64 = np.full(K, math.nan)  # means of the last closed phase
        self._closed_width: F64 = np.full(K, math.inf)
        self._closed_missing: F64 = np.zeros(K)  # the share of them that is missing
        # Beyond a quota while others are not settled; None is a missing reward.
        self._early: list[tuple[int, float | None]] = []

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
        unasked = active & (self._phase_asked < self.quota)
        a = int(unasked.argmax()) if unasked.any() else int(least_played(self._phase_asked, active))
        self._phase_asked[a] += 1
        return a

    def absorb(self, a: int, reward: float) -> None:
        """Take in a reward of an active arm, on the unit scale."""
        self._take(a, reward)

    def _absorb_missing(self, a: int) -> None:
        self._take(a, None)

    def _take(self, a: int, reward: float | None) -> None:
        from uli_fast.kernels.phased_elimination import close_phase, next_arm

        state, start, m = self.arm_state, self.phase_start, self.quota
        if state.n[a] - start.n[a] >= m:  # another arm is asked for again
            self._early.append((a, reward))
            return
        if reward is None:
            start.missing[a] += 1
        self.count(a, reward or 0.0)
        if next_arm(state, start, m) < 0:
            active = state.active.copy()
            self._closed_mean[active] = (state.total - start.total)[active] / m
            self._closed_width[active] = 2.0 ** -(self.phase + 1)
            self._closed_missing[active] = start.missing[active] / m
            close_phase(state, start, m)
            self._narrow()
            self._phase_asked[active] -= m
            early, self._early = self._early, []
            for b, x in early:
                if state.active[b]:
                    self._take(b, x)

    def _omit(self, a: int) -> None:
        self._phase_asked[a] -= 1

    def retrace(self, other: Any) -> None:
        """Be told what another player was told."""
        self._phase_asked[:] = other.asked  # closed phases take their share off
        super().retrace(other)

    def _unit_intervals(self) -> tuple[F64, F64]:
        known = np.isfinite(self._closed_width)
        mean = np.where(known, self._closed_mean, 0.0)
        return mean - self._closed_width, mean + self._closed_width + self._closed_missing

    def _promise(self) -> Guarantee | None:
        # F needs to know the largest gap. That phase means are within 2^(-l-1) does not, and
        # leaves survivors of phase l with gaps of at most 2 2^-l.
        return super()._promise() if math.isfinite(self.low) else None

    def _extra(self) -> dict[str, Any]:
        return {
            "start_n": self.phase_start.n.tolist(),
            "start_total": self.phase_start.total.tolist(),
            "phase_missing": self.phase_start.missing.tolist(),
            "closed_missing": self._closed_missing.tolist(),
            "early": [list(x) for x in self._early],
            "phase_asked": self._phase_asked.tolist(),
            "closed_mean": [None if math.isnan(x) else x for x in self._closed_mean.tolist()],
            "closed_width": [None if math.isinf(x) else x for x in self._closed_width.tolist()],
        }

    def _load_extra(self, extra: Mapping[str, Any]) -> None:
        self.phase_start.n[:] = extra["start_n"]
        self.phase_start.total[:] = extra["start_total"]
        self.phase_start.missing[:] = extra["phase_missing"]
        self._closed_missing[:] = extra["closed_missing"]
        self._early = [(int(a), None if x is None else float(x)) for a, x in extra["early"]]
        self._phase_asked[:] = extra["phase_asked"]
        self._closed_mean[:] = [math.nan if x is None else x for x in extra["closed_mean"]]
        self._closed_width[:] = [math.inf if x is None else x for x in extra["closed_width"]]
