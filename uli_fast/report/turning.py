"""When a learner overtakes an optimistic one, as far as recorded rounds show it.

``uli.turning_point`` finds it to the round, run by run, on shared rewards.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from uli_fast.results.runs import Runs
from uli_fast.simulation.coupled_runs import ahead


def rival_among(runs: Sequence[Runs]) -> int | None:
    """Return which Runs the others are held against: UCB's, else the first baseline's."""
    able = [i for i, r in enumerate(runs) if r.baseline and r.has_regret]
    named = [i for i in able if runs[i].learner.startswith("UCB(")]
    return next(iter(named + able), None)


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
