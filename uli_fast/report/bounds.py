"""Which F the runs are held against, and from which round on it says anything at all.

A guarantee is tested only where it excludes a gap that there is: while F lies at or above
every gap, no learner can break it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from uli_fast.errors import ArgumentError, NoGuaranteeError
from uli_fast.guarantees import Guarantee
from uli_fast.results.runs import Runs

# Rounds at which a user's f, which need not fall, is looked at.
_NEAR, _FAR = 10**4, 2000


def reference(runs: Sequence[Runs]) -> Guarantee | None:
    """Return the tightest proved bound at the horizon, to hold learners without F against."""
    kept = (r for r in runs if r.claimed.any())
    proved = [r.guarantee for r in kept if r.guarantee is not None and r.guarantee.proved]
    return min(proved, key=lambda g: float(g.bound(runs[0].horizon)), default=None)


def tested(r: Runs, guarantee: Guarantee | None) -> bool | None:
    """Return whether F excludes some gap at some round up to the horizon.

    None where F is not at hand: a user's function is not saved with the runs.
    """
    worse = r.worse_gaps
    if worse.size == 0:
        return False
    if guarantee is None:
        return None
    if guarantee.proved:  # F falls
        return bool(guarantee.bound(r.horizon) < worse.max())
    near = np.arange(1.0, min(r.horizon, _NEAR) + 1.0)
    far = np.geomspace(1.0, r.horizon, _FAR).round()
    return bool((guarantee.bound(np.concatenate([near, far])) < worse.max()).any())


def binds_from(guarantee: Guarantee, gap: float) -> int | None:
    """Return the round from which on F excludes a gap, None where that is not known."""
    try:
        return guarantee.rounds_until(math.nextafter(gap, 0.0)) + 1  # F = gap still allows it
    except (ArgumentError, NoGuaranteeError):  # too far away, or a user's f that does not fall
        return None
