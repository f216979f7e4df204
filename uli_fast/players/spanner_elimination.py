"""Live phased elimination on an arm set: decisions are vectors.

A decision whose outcome is missing is asked for again, and nothing is proved any more. In schedule
"sharp" a missing outcome of bounded rewards counts as the middle of their range instead, and the
error allows for the worst.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64
from uli_fast.geometry.spanners import Spanner
from uli_fast.learners._sharp_spanner import SharpPhases
from uli_fast.learners._spanner_sets import SpannedPhases
from uli_fast.players import _assumptions
from uli_fast.players._certificate import Certificate
from uli_fast.players._sets import SetPlayer, contradiction

if TYPE_CHECKING:
    from uli_fast.arm_sets import ArmSet
    from uli_fast.learners.spanner_elimination import SpannerElimination


class SpannerPlayer(SetPlayer):
    """Asks for each arm of the phase's spanner in turn; the ``arm`` of a decision is a tuple.

    All plays of an arm come before those of the next: the proof of the sharp schedule needs it.
    """

    learner: SpannerElimination
    _phases: SpannedPhases

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

    # Inside.

    @property
    def _spanner(self) -> Spanner:
        assert self._phases.spanner is not None
        return self._phases.spanner

    # Saved states.

    def _saved(self) -> dict[str, Any]:
        return super()._saved() | {
            "theta": self._phases.theta.tolist(),
            "columns": self._spanner.columns.tolist(),
            "real": self._spanner.real.tolist(),
            "inverse": self._spanner.inverse.tolist(),
            "reach": self._spanner.reach.tolist(),
            "best": self._phases.best.tolist(),
            "gap": self._phases.gap,
            "arms": self._arms.tolist(),
            "n": self._n,
        }

    def _load(self, saved: Mapping[str, Any]) -> None:
        self._load_set(saved)
        phases = self._phases
        phases.phase = int(saved["phase"])
        phases.theta = np.array(saved["theta"], np.float64)
        reach = np.array(saved["reach"], np.float64)
        phases.spanner = _spanner(saved["columns"], saved["real"], saved["inverse"], reach)
        phases.best = np.array(saved["best"], np.float64)
        phases.gap = _check.number("gap", saved["gap"])
        self._load_more(saved)
        self._arms, self._n = np.array(saved["arms"], np.float64), int(saved["n"])
        consistent = (
            self._load_counts(saved)
            and self._arms.shape[1:] == phases.theta.shape == phases.best.shape
            and phases.spanner.columns.shape == phases.spanner.inverse.shape
            and all(np.isfinite(x).all() for x in (phases.theta, phases.best, self._arms))
            and 0.0 <= phases.gap < math.inf
            and reach.shape == phases.theta.shape
        )
        if not consistent:
            raise contradiction()

    def _load_more(self, saved: Mapping[str, Any]) -> None:
        """Take over what a schedule keeps besides."""


class SharpSpannerPlayer(SpannerPlayer):
    """Phases of the sharp schedule; missing outcomes of bounded rewards count at their worst."""

    widens: ClassVar[bool] = True
    _phases: SharpPhases

    def _close(self) -> None:
        self._phases.close(self._arms, self._n, self._sums / self._n, self._off())

    def _saved(self) -> dict[str, Any]:
        phases = self._phases
        ends = [phases.low.tolist(), phases.high.tolist()]
        return super()._saved() | {"ends": ends, "error": phases.error}

    def _load_more(self, saved: Mapping[str, Any]) -> None:
        phases = self._phases
        phases.low, phases.high = (np.array(end, np.float64) for end in saved["ends"])
        phases.error = _check.number("error", saved["error"])
        if (
            not phases.low.shape == phases.high.shape == phases.theta.shape
            or not (phases.low <= phases.high).all()
            or not 0.0 <= phases.error < math.inf
        ):
            raise contradiction()


def _spanner(columns: Any, real: Any, inverse: Any, reach: F64) -> Spanner:
    matrix = np.array(columns, np.float64)
    log_det = float(np.linalg.slogdet(matrix).logabsdet)
    about = (np.array(real, np.bool_), np.array(inverse, np.float64), log_det)
    numbers = np.full(len(matrix), -1)  # a player goes by the arms themselves
    return Spanner(
        matrix,
        *about,
        oracle_calls=0,
        swaps=0,
        reach=reach,
        numbers=numbers,
        low=-reach,
        high=reach,
    )
