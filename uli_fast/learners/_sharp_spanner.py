"""The sharp schedule of spanner elimination (docs/proofs_sets.md, Theorem B).

Means are interpolated on the columns, without a ridge. Columns are played as often as the range of
the coefficients on them asks for, and the next phase stays where coefficients lay in this one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast._typing import F64
from uli_fast.guarantees.spanner_blocks import SPARE, WIDEST, SpannerSize, accuracy
from uli_fast.learners._spanner_sets import SpannedPhases

if TYPE_CHECKING:
    from uli_fast.arm_sets import ArmSet
    from uli_fast.geometry.spanners import Spanner
    from uli_fast.learners.spanner_elimination import SpannerElimination

# Coefficients may lie outside what the oracle's bounds say by this much, relative to C, and by this
# much relative to the length of the row and the size of the set: both are rounding.
MARGIN, ROUNDING = 1e-8, 2e-12


class SharpPhases(SpannedPhases):
    """Phases as long as the range of coefficients asks for."""

    def __init__(self, learner: SpannerElimination, region: ArmSet) -> None:
        super().__init__(learner, region)
        # (d,) each: coefficients on this phase's columns lie between them, on the active set.
        self.low: F64 = np.zeros(region.dimension)
        self.high: F64 = np.zeros(region.dimension)
        # Up to this, differences of active arms are known from the last closed phase.
        self.error = accuracy(0)

    @property
    def in_time(self) -> bool:
        """Whether F holds for the arms of this phase: what was learned is as good as planned.

        Half of what is spared is for arms that an oracle lets miss their cut.
        """
        planned = accuracy(self.phase - 1)
        return self.error <= planned and self.gap <= (2.0 + SPARE / 2.0) * planned

    @property
    def spare(self) -> float:
        """By how much rounding may change the sum of a phase's means."""
        half = SPARE / 2.0 * accuracy(self.phase)
        return half * self.scale / (2.0 * WIDEST * self.learner.C)

    def close(self, arms: F64, n: int, means: F64, off: F64 | None = None) -> None:
        """Interpolate the means on the columns: theta_hat = B^-T y, y = 0 on placeholders."""
        spanner, y = self._found, np.zeros(self.region.dimension)
        D = self.high - self.low
        widths, hidden = self._widths()
        self.error = self._size.error(widths, hidden, n)
        if spanner.real.any():
            y[spanner.real] = means / self.scale
            if off is not None:
                self.error += float(D[spanner.real] @ off) / self.scale
        self.theta = self.size * (y @ spanner.inverse)

    def _length(self) -> float:
        return self._size.length * self.size

    def _plays(self) -> int:
        spanner = self._found
        lengths = np.sqrt(np.einsum("ij,ij->i", spanner.inverse, spanner.inverse))
        room = MARGIN * self.learner.C + ROUNDING * self.size * lengths
        self.low, self.high = spanner.low - room, spanner.high + room
        return self._size.plays(*self._widths())

    def _box(self) -> tuple[F64, F64]:
        rows = self._found.inverse
        return np.vstack([rows, -rows]), np.concatenate([self.high, -self.low])

    def _behind(self, m: int) -> float:
        return self.error

    def _largest_gap(self, oracle: Any, arms: F64) -> float:
        """Bound the gaps of this phase's arms: 2 eta_(m-1) at most, unless outcomes were missing.

        Later phases may have arms that this one has not: nothing of this is kept for them.
        """
        if math.isinf(self.top):
            return 2.0 * accuracy(0)
        return self._known_gap(oracle, arms, self.error)

    def _widths(self) -> tuple[list[float], float]:
        """Return the widths of the real columns, and what placeholders hide of a difference."""
        D, real = self.high - self.low, self._found.real
        return D[real].tolist(), self._size.length * float(np.linalg.norm(D[~real]))

    @property
    def _found(self) -> Spanner:
        assert self.spanner is not None
        return self.spanner

    @property
    def _size(self) -> SpannerSize:
        learner = self.learner
        assert learner.R is not None
        R = learner.R / self.scale
        return SpannerSize(self.phase, self.region.dimension, learner.C, learner.delta, R)
