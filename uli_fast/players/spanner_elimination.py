"""Live phased elimination on an arm set: decisions are vectors.

A decision whose outcome is missing is asked for again, and nothing is proved any more. In schedule
"sharp" a missing outcome of bounded rewards counts as the middle of their range instead, and the
error allows for the worst.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from uli_fast.learners._sharp_spanner import SharpPhases
from uli_fast.learners._spanner_sets import SpannedPhases
from uli_fast.players import _assumptions
from uli_fast.players._certificate import Certificate
from uli_fast.players._sets import SetPlayer

if TYPE_CHECKING:
    from uli_fast.arm_sets import ArmSet
    from uli_fast.learners.spanner_elimination import SpannerElimination


class SpannerPlayer(SetPlayer):
    """Asks for each arm of the phase's spanner in turn; the ``arm`` of a decision is a tuple.

    All plays of an arm come before those of the next: the proof of the sharp schedule needs it.
    """

    learner: SpannerElimination
    _phases: SpannedPhases
    _changing: ClassVar[tuple[str, ...]] = ("theta", "spanner", "best", "gap")

    def __init__(
        self, learner: SpannerElimination, region: ArmSet, low: float, high: float, intercept: float
    ) -> None:
        super().__init__(learner, region, low, high, intercept)
        self._phases = learner.resolved((low, high)).phases(region)
        self._open()

    def certificate(self) -> Certificate:
        """Return what is certain about every arm of this phase, from settled rewards alone.

        Later phases may have arms that this one has not: then the bound may rise, up to F.
        """
        guarantee = self._phases.learner.guarantee(self._phases.region)
        t = self._learned(self._phases.spare)
        envelope = guarantee.bound(t) if self._phases.in_time else math.inf
        known = min(self._phases.gap, 2.0) * self._phases.scale
        bound = min(envelope, known, self.high - self.low)
        assumes = _assumptions.of_set(self, self._phases.region)
        return Certificate(t, bound, envelope, guarantee.delta, (), guarantee.proved, assumes)


class SharpSpannerPlayer(SpannerPlayer):
    """Phases of the sharp schedule; missing outcomes of bounded rewards count at their worst."""

    widens: ClassVar[bool] = True
    _phases: SharpPhases

    _changing: ClassVar[tuple[str, ...]] = (*SpannerPlayer._changing, "low", "high", "error")

    def _close(self) -> None:
        means = self.memory.sums / self.quota
        self._phases.close(self._arms, self.quota, means, self._off())
