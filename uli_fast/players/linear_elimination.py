"""Live phased elimination on linear arms (PE-linear).

As on K arms, a phase closes when every decision of its quotas is settled. What is
asked beyond them in the meantime goes to the arms of the design and counts for the
next phase, as far as that plays the arm; what is beyond its quotas too is recorded and
not learned from.

A missing outcome of bounded rewards counts as the middle of the range, and the phase's test
and intervals allow for what that may move the estimate: half the range times |x^T V^-1 a| for
every missing outcome of an arm a. One of unbounded rewards is asked for again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from uli_fast._check import Labels
from uli_fast._typing import F64, I64
from uli_fast.guarantees import ArmsInfo, read_arms
from uli_fast.learners._linear import told_by_means
from uli_fast.learners.linear_elimination import Phases
from uli_fast.players._arms import Player


class LinearPlayer(Player):
    """Asks for each quota of the design in turn; drops what lags when the phase is settled."""

    widens: ClassVar[bool] = True

    def __init__(
        self,
        learner: Any,
        labels: Labels,
        low: float,
        high: float,
        features: F64,
        intercept: float,
    ) -> None:
        super().__init__(learner, labels, low, high)
        self.features, self.intercept = features, intercept
        bounds = (low, high) if math.isfinite(low) else (None, None)
        units = learner.units(features, bounds, intercept)
        self._phases = Phases(learner.delta, units, features, self.arm_state)
        self._phase_asked: I64 = np.zeros(len(labels), np.int64)
        self._phase_settled: I64 = np.zeros(len(labels), np.int64)
        self._phase_sums: F64 = np.zeros(len(labels))
        self._phase_missing: I64 = np.zeros(len(labels), np.int64)
        self._closed = 0  # rounds of the closed phases' quotas

    @property
    def phase(self) -> int:
        """The phase in which settled rewards now count."""
        return int(self.arm_state.clock[1])

    @property
    def quotas(self) -> dict[int | str, int]:
        """Plays of each arm in this phase."""
        return dict(zip(self.labels, self._phases.quotas().tolist(), strict=True))

    def _choose(self) -> int:
        quotas = self._phases.quotas()
        unasked = self._phase_asked < quotas
        if unasked.any():
            a = int(unasked.argmax())
        else:  # ahead of the phase's end: in proportion to the quotas
            share = np.where(quotas > 0, self._phase_asked / np.maximum(quotas, 1), math.inf)
            a = int(share.argmin())
        self._phase_asked[a] += 1
        return a

    def _absorb_missing(self, a: int) -> None:
        if self._phase_settled[a] < self._phases.quotas()[a]:
            self._phase_missing[a] += 1
        self._take(a, 0.0, 0.5)

    def _omit(self, a: int) -> None:
        self._phase_asked[a] -= 1

    def absorb(self, a: int, reward: float) -> None:
        """Take in a reward of an active arm, on the unit scale."""
        self._take(a, reward, reward)

    def _take(self, a: int, came: float, reward: float) -> None:
        """Count a play; ``reward`` is what the estimate takes it for, ``came`` what there was."""
        self.count(a, came)
        self._phase_settled[a] += 1
        quotas = self._phases.quotas()
        if self._phase_settled[a] <= quotas[a]:
            self._phase_sums[a] += reward
        if (self._phase_settled >= quotas).all() and self.arm_state.active.sum() > 1:
            self._phases.close(self._phase_sums, missing=self._phase_missing)
            self._narrow()
            self._closed += int(quotas.sum())
            self._phase_asked -= self._phase_settled
            self._phase_settled[:] = 0
            self._phase_sums[:] = 0.0
            self._phase_missing[:] = 0

    def retrace(self, other: Any) -> None:
        """Be told what another player was told."""
        self._phase_asked[:] = other.asked  # closed phases take their share off
        super().retrace(other)

    def _learned(self) -> int:
        within = np.minimum(self._phase_settled, self._phases.quotas())
        return self._closed + int(within.sum())

    def informed(self, info: ArmsInfo, means: F64) -> ArmsInfo:
        """Add what true means say."""
        return told_by_means(super().informed(info, means), self.features, means - self.intercept)

    def _unit_intervals(self) -> tuple[F64, F64]:
        units, values = self._phases.units, self._phases.values
        width = 2.0 ** (1 - self.phase) if self.phase > 1 else math.inf
        # Rewards in units of the proofs are X slope - offset.
        middle = (np.where(np.isfinite(values), values, 0.0) + units.offset) / units.slope
        half = np.where(np.isfinite(values), (width + self._phases.errors) / units.slope, math.inf)
        if self._omitted.any():  # one estimate serves all arms
            half[:] = math.inf
        return middle - half, middle + half

    def started_with(self) -> dict[str, Any]:
        """Return the arms, and the mean where they are 0."""
        return super().started_with() | {"intercept": self.intercept}

    def arms_info(self) -> ArmsInfo:
        """Return what a guarantee may rely on."""
        finite = math.isfinite(self.low)
        return read_arms(self.features)._replace(
            low=self.low if finite else None,
            high=self.high if finite else None,
            intercept=self.intercept,
            noise=(self.high - self.low) / 2.0 if finite else 0.0,
        )

    def _extra(self) -> dict[str, Any]:
        return {
            "features": self.features.tolist(),
            "intercept": self.intercept,
            "phase_asked": self._phase_asked.tolist(),
            "phase_settled": self._phase_settled.tolist(),
            "phase_sums": self._phase_sums.tolist(),
            "phase_missing": self._phase_missing.tolist(),
            "errors": self._phases.errors.tolist(),
            "closed": self._closed,
            "values": [None if math.isnan(x) else x for x in self._phases.values.tolist()],
        }

    def _load_extra(self, extra: Mapping[str, Any]) -> None:
        self._phase_asked[:] = extra["phase_asked"]
        self._phase_settled[:] = extra["phase_settled"]
        self._phase_sums[:] = extra["phase_sums"]
        none = [0] * len(self.labels)
        self._phase_missing[:] = extra.get("phase_missing", none)
        self._phases.errors[:] = extra.get("errors", none)
        self._closed = int(extra["closed"])
        self._phases.values[:] = [math.nan if x is None else x for x in extra["values"]]
