"""Whether all confidence intervals held: the nice event, inside blocks too.

Round by round every interval is looked at. A block of rewards is drawn as a sum, and its
intervals in between are known in law only: kernels/rewards/bridges.py decides by lot, exactly and
from a stream of its own, whether one of them missed. Tables are looked up.

Nearly always one uniform says that nothing was missed. The other blocks are put off: nothing
depends on them, and what has to be compiled to follow them is not needed by most runs.

Coupled runs (known rewards first, then drawn ones) are not asked for their event: nothing is
watched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from uli_fast._typing import F64, I64, U64, Total
from uli_fast.kernels._jit import kernel, lean_by_type, lean_kernel, lean_step
from uli_fast.kernels.arms.state import ROUND, ArmState
from uli_fast.kernels.arms.successive_width import Band, edge, missed
from uli_fast.kernels.rewards.above_line import LOG_TWO
from uli_fast.kernels.rewards.bridges import Piece, leaves_band, room_in, safeties
from uli_fast.kernels.rewards.laws import (
    GAUSSIAN,
    TABLE,
    Law,
    RealLaw,
    total_after,
)
from uli_fast.kernels.rewards.second_stream import bits, happens

# An arm that is left alone is watched in blocks of three times its plays: their chords
# are still close to the band. Sums are exact up to 2^53.
LONGEST = 8 * 10**15

# The blocks of an arm that is left alone up to round 10^18 are fewer.
MOST_ALONE = 200

# What has probability 2 exp(-45), 6e-20, is not drawn: less than 10^-16 in all blocks of a run.
NEVER = 45.0


class EventWatch(NamedTuple):
    """The second stream of a run, and the blocks that were put off."""

    # (2 + rows,) state of the second stream; how many blocks; their own states
    words: U64
    counts: I64  # (rows, 4) of each: arm, n, k and what of n + k is within the horizon
    sums: F64  # (rows, 3) total, gain, sigma
    before: Total  # (K,) room for the sums at the beginning of a block


@lean_step
def watch_of(watches: EventWatch, r: int) -> EventWatch:
    """Return the watch of replication r of a batch."""
    return EventWatch(watches.words[r], watches.counts[r], watches.sums[r], watches.before[r])


class Span(NamedTuple):
    """A block of plays of an arm."""

    n: int  # plays before it
    k: int
    limit: int  # plays within the horizon
    near: float  # n wd(n) at its beginning
    far: float  # and at its end


def is_watched(law: Law) -> bool:
    """Say whether blocks of these rewards can leave the event, and are watched for it."""
    raise TypeError("is_watched is called from compiled kernels only")


@lean_by_type(is_watched)
def _is_watched(law: Any) -> Callable[..., bool]:
    if law.instance_class is RealLaw:  # what is deterministic stays at its mean
        return lambda law: law.kind == TABLE or (law.kind == GAUSSIAN and law.prefix.shape[1] == 0)
    return lambda law: False  # some are known beforehand


def leaves(
    law: Law, watch: EventWatch, a: int, band: Band, span: Span, before: Total, after: Total
) -> bool:
    """Say whether a block leaves its band on the way from one sum to another, or put it off."""
    raise TypeError("leaves is called from compiled kernels only")


@lean_by_type(leaves)
def _leaves(
    law: Any, watch: Any, a: Any, band: Any, span: Any, before: Any, after: Any
) -> Callable[..., bool]:
    if law.instance_class is RealLaw:
        return _real_leaves
    return lambda law, watch, a, band, span, before, after: False


def _real_leaves(
    law: Any, watch: Any, a: Any, band: Any, span: Any, before: Any, after: Any
) -> bool:
    if law.kind == TABLE:
        return table_leaves(law.prefix[a], band, span)
    piece = Piece(span.n, before, span.k, after - before, law.scale[0, a])
    if doubtful(watch.words, band, span, piece):
        put_off(watch.words, watch.counts, watch.sums, a, piece, span.limit)
    return False


@lean_kernel
def doubtful(words: U64, band: Band, span: Span, piece: Piece) -> bool:
    """Draw whether rewards whose sum alone is known have to be followed."""
    less, more = safeties(band, piece, room_in(band, piece, span.near, span.far))
    E = min(less, more)
    return E <= LOG_TWO or (E <= NEVER and happens(words, E - LOG_TWO))


@lean_kernel
def put_off(words: U64, counts: I64, sums: F64, a: int, piece: Piece, limit: int) -> None:
    """Keep a block to be followed later; from its own stream, so that it ends the same way."""
    i = np.int64(words[1])
    counts[i, 0], counts[i, 1], counts[i, 2], counts[i, 3] = a, piece.n, piece.k, limit
    sums[i, 0], sums[i, 1], sums[i, 2] = piece.total, piece.gain, piece.sigma
    words[2 + i] = bits(words)
    words[1] = i + 1


@kernel
def some_leave(watch: EventWatch, mu: F64, delta: float, R: float) -> bool:
    """Follow the blocks that were put off; say whether one of them leaves its band."""
    counts, sums, found = watch.counts, watch.sums, False
    for i in range(np.int64(watch.words[1])):
        band = Band(mu[counts[i, 0]], mu.shape[0], delta, R)
        piece = Piece(counts[i, 1], sums[i, 0], counts[i, 2], sums[i, 1], sums[i, 2])
        found = found or leaves_band(watch.words[2 + i : 3 + i], band, piece, counts[i, 3])
    watch.words[1] = 0
    return found


@lean_kernel
def table_leaves(sums: F64, band: Band, span: Span) -> bool:
    """Look up all sums of a block; only those beyond the chord need their interval."""
    n, k, limit, near, far = span
    if n >= sums.shape[0]:  # the run is refused: it used more rewards than there are
        return False
    room = room_in(band, Piece(n, sums[n], k, 0.0, 0.0), near, far)
    for i in range(1, min(k, limit - n, sums.shape[0] - 1 - n) + 1):
        moved, more = sums[n + i] - sums[n] - i * band.mu, i * room.rise
        beyond = moved <= -(room.below + more) or moved >= room.above + more
        if beyond and missed(band, n + i, sums[n + i]):
            return True
    return False


@lean_kernel
def watch_alone(law: Law, watch: EventWatch, state: ArmState, a: int, band: Band, T: int) -> None:
    """Note whether arm a, which alone is left, misses an interval by round T.

    Its rewards decide nothing and are drawn for this alone, after all others.
    """
    n, total = state.n[a], state.total[a]
    limit, near = n + T - state.clock[ROUND], edge(band, n)
    while n < limit and not state.broken[0]:
        k = 3 * n
        after = total_after(law, a, n, k, total)
        span = Span(n, k, limit, near, edge(band, n + k))
        ends = n + k <= limit and missed(band, n + k, float(after))
        state.broken[0] = ends or leaves(law, watch, a, band, span, total, after)
        n, total, near = n + k, after, span.far
