"""Live elimination by caps: decisions are vectors of a ball or an ellipsoid.

A missing outcome of rewards in a range counts as the middle of it, and the estimate of its phase
may be off by what it could have been; F then no longer holds, the certificate does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uli_fast.formulas.cap_elimination import CAP_ROOM, cap_eta, cap_kappa
from uli_fast.learners.cap_elimination import CapPhases
from uli_fast.players import _assumptions
from uli_fast.players._certificate import Certificate
from uli_fast.players._saved_states import load
from uli_fast.players._sets import SetPlayer

if TYPE_CHECKING:
    from uli_fast.arm_sets import ArmSet
    from uli_fast.learners.cap_elimination import CapElimination


class CapPlayer(SetPlayer):
    """Asks for the pole and the rim points of each phase's cap in turn."""

    learner: CapElimination
    _phases: CapPhases
    widens: ClassVar[bool] = True
    _changing: ClassVar[tuple[str, ...]] = ("pole", "depth", "theta", "eta", "gap")

    def __init__(
        self, learner: CapElimination, region: ArmSet, low: float, high: float, intercept: float
    ) -> None:
        super().__init__(learner, region, low, high, intercept)
        self._phases = CapPhases(learner.resolved((low, high)), region)
        if math.isfinite(low):  # a constant cancels: the one from which rewards are least far
            self._zero = low + (high - low) / 2.0
        self._open()

    def certificate(self) -> Certificate:
        """Return what is certain about every arm of this phase, from settled rewards alone.

        Later phases may have arms that this one has not: then the bound may rise, up to F.
        """
        phases, d = self._phases, self._phases.ball.dimension
        wide = math.sqrt(d) * (math.sqrt(cap_kappa(d)) + 1.0)  # from all means to the estimate
        t = self._learned(CAP_ROOM / 2.0 * phases.unit * cap_eta(self.phase) / wide)
        guarantee = phases.learner.promise(phases.ball, phases.R, (self.low, self.high))
        envelope = math.inf if self.lost or self.withdrawn else guarantee.bound(t)
        bound = min(envelope, phases.gap, guarantee.largest_gap)
        assumes = _assumptions.of_set(self, phases.region)
        return Certificate(t, bound, envelope, guarantee.delta, (), guarantee.proved, assumes)

    # Inside.

    def _close(self) -> None:
        """Learn from a phase; a missing outcome is at most half the range off its middle."""
        off = float(np.linalg.norm(self._off()))
        self._phases.close(self._arms, self.quota, self.memory.sums / self.quota, off)

    # Saved states.

    def load(self, saved: Mapping[str, Any]) -> None:
        """Take over what ``state`` returned."""
        load(self.parts()["phases"], saved["phases"])
        self._phases.place()
        super().load(saved)
