"""What sharp PE-linear decides beforehand: block sizes, looks, the boundary c and F.

Learner and F read the same whole numbers here (docs/proofs_linear.md). Rewards are in units of
R: the noise is 1-subgaussian, F and the prior gap are divided by R.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from uli_fast._typing import F64, I64
from uli_fast.formulas.betting_elimination import log_threshold
from uli_fast.formulas.mixture import boundary

# A block has a tenth of the plays before it.
TENTH = 10
# Leverages of the designs are at most this times their rank.
TOLERANCE = 1.02
# Of more arms than this the largest leverage of a pair is bounded, not computed.
EXACT_PAIRS = 1500
# Prior gaps beyond these are taken as these: they only tune.
SMALLEST_PRIOR, LARGEST_PRIOR = 1e-50, 1e50
# F allows for what coordinates hide: this part of the largest gap, and of what it says itself;
# and for rounding, by this part of the largest mean. Directions that are flat but for rounding may
# hide the last part of gaps.
HIDDEN, RESOLVED, FLAT = 1e-8, 1e-13, 2.5e-9
# F is rounded up by this, for that and for its arithmetic.
OUTWARD = 1.0 + 2.0 * HIDDEN
# F is a table to this round; what is beyond has its last entry.
LAST_ROUND = 2**450
LARGEST_COUNT = 2**62
ROUNDED = 40


class LinearBlocks(NamedTuple):
    """The schedule for K arms of affine dimension k, at least 1, and a prior gap in units of R."""

    K: int
    k: int
    delta: float
    prior_gap: float

    @property
    def support(self) -> int:
        """Arms that a design may have: (k + 1) (k + 2) / 2 moments, or one more if uniform."""
        return min(self.K, (self.k + 1) * (self.k + 2) // 2 + 1)

    @property
    def first(self) -> int:
        """Plays of the first blocks, m_1."""
        return max(2 * self.support, 16)

    @property
    def leverage(self) -> float:
        """The largest m_l |a - b|^2 in the inverse of V_l, over active pairs and blocks."""
        affine = 4.0 * (TOLERANCE * (self.k + 1) - 1.0)
        return affine if self.K > EXACT_PAIRS else min(affine, 2.0 * self.K)

    @property
    def rho(self) -> float:
        """The precision of the half-normal mixture, 4 / prior_gap^2."""
        prior = min(max(self.prior_gap, SMALLEST_PRIOR), LARGEST_PRIOR)
        return 4.0 / prior**2

    @property
    def level(self) -> float:
        """L = log((K - 1) / delta)."""
        return log_threshold(self.K, self.delta)

    def size(self, played: int) -> int:
        """Return m_l after M_(l-1) = ``played``: a tenth of it, at least m_1."""
        return max(self.first, -(-played // TENTH))

    def sizes(self) -> I64:
        """Return m_1, m_2, ... as far as 64-bit counters go."""
        found, played = list[int](), 0
        while played < LARGEST_COUNT:
            found.append(self.size(played))
            played += found[-1]
        return np.array(found[:-1], np.int64)

    def boundary(self, v: F64) -> F64:
        """Return c(v), at which the mixture reaches (K - 1) / delta."""
        level, rho = self.level, self.rho
        return np.array([boundary(x, level, rho) for x in v.tolist()])

    def bound(self, J: F64) -> F64:
        """Return 2 c(J) / J, which falls: no survivor of looks worth J has a larger gap."""
        return np.asarray(OUTWARD * 2.0 * self.boundary(J) / J)


def blocks_of(delta: float, p: Mapping[str, float]) -> LinearBlocks:
    """Return the schedule that the parameters of a guarantee describe."""
    return LinearBlocks(int(p["K"]), int(p["k"]), delta, float(p["prior_gap"]))


@lru_cache(maxsize=64)
def _clock(first: int, support: int) -> tuple[tuple[int, ...], F64]:
    """Return tbar_l = M_l + l sbar and M_l for l = 1, 2, ..., exact at any size.

    Weights are rounded: a block may have 2^-40 of its plays more.
    """
    ends, played, total, t = list[int](), list[float](), 0, 0
    while t < LAST_ROUND:
        m = max(first, -(-total // TENTH))
        total, t = total + m, t + m + support + (m >> ROUNDED)
        ends.append(t)
        played.append(float(total))
    return tuple(ends), np.array(played)


def table(delta: float, p: Mapping[str, float]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the last round tbar_l of each block and F in it, and after the last.

    In block 1 no look has been made: F is the largest gap, infinite where none is known. Where one
    is, F is never above it.
    """
    blocks = blocks_of(delta, p)
    ends, played = _clock(blocks.first, blocks.support)
    falling = blocks.bound(played / blocks.leverage)
    falling = falling + float(p.get("floor", 0.0))
    largest = float(p.get("largest_gap", math.inf))
    return ends, (largest, *np.minimum(falling, largest).tolist())
