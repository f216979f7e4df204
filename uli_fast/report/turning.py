"""Which rival learners are held against, and when they overtake it at recorded rounds.

``uli.turning_point`` finds it to the round, run by run, on shared rewards.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from uli_fast.results.runs import Runs
from uli_fast.simulation.coupled_runs import ahead


def rival_among(runs: Sequence[Runs]) -> int | None:
    """Return which Runs the others are held against: the baseline's with the least regret."""
    able = [i for i, r in enumerate(runs) if r.baseline and r.has_gaps and r.has_regret]
    return min(able, key=lambda i: middle_regret(runs[i]), default=None)


def middle_regret(r: Runs) -> float:
    """Return the regret at the horizon, the median over runs."""
    return float(np.median(r.final_regret()))


def comparable(own: Runs, rival: Runs) -> bool:
    """Return whether it can be said when Runs overtake their rival."""
    known = own.has_regret and own.eliminates
    return known and np.array_equal(own.rounds, rival.rounds)


def ahead_from(own: Runs, rival: Runs) -> int | None:
    """Return the recorded round from which on the mean regret is no larger than the rival's.

    None where it is larger at the horizon, or may still grow: in some run a worse choice is left.
    """
    if not own.settled.all():
        return None
    mean, other = own.regret.mean(axis=0), rival.regret.mean(axis=0)
    behind = np.flatnonzero(ahead(mean, other))
    first = int(behind[-1]) + 1 if behind.size else 0
    return int(own.rounds[first]) if first < own.rounds.size else None
