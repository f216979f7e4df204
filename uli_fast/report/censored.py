"""What the horizon cuts off: runs that end are not runs that have settled.

"The last play" of a worse choice is the last one up to the horizon. It is the last one for good
only where the choice was eliminated.
"""

from __future__ import annotations

import numpy as np

from uli_fast._typing import B1
from uli_fast.report.bounds import has_all_gaps
from uli_fast.runs import Runs


def settled(r: Runs) -> B1:
    """Return in which runs no worse choice can follow the horizon, as far as is known, (M,).

    Where arms are eliminated: all worse ones are. Where policies are: one is left, a best one.
    """
    if r.eliminated_at is not None and has_all_gaps(r):
        assert r.gaps is not None
        return np.asarray((r.eliminated_at > 0)[:, r.gaps > 0.0].all(axis=1))
    if r.phase_facts is None or r.phase_rounds is None:
        return np.zeros(r.replications, np.bool_)
    current = (r.phase_rounds[:, :, 1] > 0).sum(axis=1) - 1
    left = np.take_along_axis(r.phase_facts[:, :, 0], current[:, None], axis=1)[:, 0]
    return np.asarray((left == 1.0) & (r.gap_from(np.array([r.horizon]))[:, 0] == 0.0))


def for_good(r: Runs) -> B1:
    """Return which last plays of decisions are the last ones whatever follows, (M, D)."""
    last, _ = r._decisions()
    if r.eliminated_at is not None and r.block_last is None:
        return np.asarray(r.eliminated_at > 0)
    return np.broadcast_to(settled(r)[:, None], last.shape)
