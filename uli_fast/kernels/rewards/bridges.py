"""Whether the rewards of a block, whose sum is known, leave their band: exactly in law.

A block is a number of rewards of one arm whose sum was drawn at once. Given that sum,
Bernoulli rewards are a random arrangement and Gaussian ones a bridge (law P). Their band is
|sum - n mu| <= n wd(n), and nearly always the answer is that they stay in it, without a look
at any reward (docs/errata.md has the proof):

- The band lies outside its chord over the block. Q is P with another sum, beyond one side
  of the chord: where a path first leaves the band on that side, P / Q = L <= exp(-E).
  Of arrangements kernels/rewards/above_line.py has Q and E. A bridge under Q ends at the mirror
  image of its end, and reflection gives E.
- With probability 1 - 2 exp(-E), E the smaller of both sides, nothing happens. Else one
  side is chosen by a fair coin and Q is followed. If it first leaves the band on that side,
  this counts with probability L exp(E): every place then has its probability under P.
- Q is followed by halves: the sum of the first half is drawn, each half is a block again,
  and only short ones are played reward by reward. So the longest block takes some log k steps.
  (A stack holds the blocks that are open. Numba cannot keep compiled recursion on disk.)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from uli_fast._typing import F64, I64, U64
from uli_fast.kernels._jit import kernel, lean_kernel, lean_step
from uli_fast.kernels.arms.successive_width import Band, edge, missed
from uli_fast.kernels.draws.binomial import log_likelihood
from uli_fast.kernels.rewards.above_line import LOG_TWO, tilt
from uli_fast.kernels.rewards.second_stream import happens, hypergeometric, normal, uniform

# Blocks of this many rewards are played one by one; no block of int64 is halved this often.
SHORT, DEEP = 64, 64
LOW, HIGH, NEITHER = -1, 1, 0


class Piece(NamedTuple):
    """k rewards of an arm and their sum. Sums of arrangements are exact up to 2^53."""

    n: int  # rewards before them, and their sum
    total: float
    k: int
    gain: float
    sigma: float  # of each, if Gaussian; 0 for Bernoulli rewards


class BridgeRoom(NamedTuple):
    """The way from the sum to the chord below it and above, at both ends of a piece."""

    rise: float  # of the chord above per reward, beyond mu
    below: float
    above: float
    below_end: float
    above_end: float


class Stack(NamedTuple):
    """The pieces that are being followed, each a half of the one before."""

    counts: I64  # (DEEP, 4) n, k, the side that Q is beyond, whether the second half is to come
    sums: F64  # (DEEP, 5) total, gain, gain under Q, that of the first half, E


@lean_kernel
def room_in(band: Band, piece: Piece, near: float, far: float) -> BridgeRoom:
    """Return the room in the chord between the band's edges, n wd(n) at both ends.

    It is short of the true room by more than the rounding of sums and intervals.
    """
    n, total, k, gain, _ = piece
    slack = 1e-14 * far + 4e-15 * (abs(band.mu) * (n + k) + abs(total) + abs(gain) + n)
    off, drift = total - n * band.mu, gain - k * band.mu
    near, far = near - slack, far - slack
    return BridgeRoom(
        (far - near) / k, near + off, near - off, far + (off + drift), far - (off + drift)
    )


@lean_kernel
def reach(k: int, wins: int, x: float, m: float) -> tuple[int, float]:
    """Return D and E of an arrangement that begins x above a line of slope m."""
    if m * (k - wins) < x:  # not even all failures at once reach it
        return 0, np.inf
    return tilt(k, wins, x, m) if x > 0.0 else (0, 0.0)


@lean_kernel
def reach_of_bridge(variance: float, x: float, y: float) -> float:
    """Return E of a bridge from x to y above a line."""
    return 2.0 * x * y / variance if x > 0.0 and y > 0.0 else 0.0


@lean_kernel
def safeties(band: Band, piece: Piece, room: BridgeRoom) -> tuple[float, float]:
    """Return E for leaving the band below and above."""
    k, gain, sigma = piece.k, piece.gain, piece.sigma
    if sigma > 0.0:
        variance = sigma * sigma * k
        less = reach_of_bridge(variance, room.below, room.below_end)
        return less, reach_of_bridge(variance, room.above, room.above_end)
    wins = int(gain)
    _, less = reach(k, wins, room.below, band.mu - room.rise)
    _, more = reach(k, k - wins, room.above, 1.0 - band.mu - room.rise)
    return less, more


@lean_kernel
def gain_beyond(band: Band, piece: Piece, room: BridgeRoom, side: int) -> float:
    """Return the sum under Q; it is that under P where the side is out of reach."""
    k, gain = piece.k, piece.gain
    if piece.sigma > 0.0:
        return gain - 2.0 * room.below_end if side == LOW else gain + 2.0 * room.above_end
    wins = int(gain)
    if side == LOW:
        return gain - reach(k, wins, room.below, band.mu - room.rise)[0]
    return gain + reach(k, k - wins, room.above, 1.0 - band.mu - room.rise)[0]


@lean_kernel
def halve(words: U64, piece: Piece) -> float:
    """Draw the sum of the first k // 2 rewards, given that of all."""
    k, gain, sigma = piece.k, piece.gain, piece.sigma
    half = k // 2
    if sigma > 0.0:
        spread = sigma * math.sqrt(float(half) * ((k - half) / k))
        return gain * (half / k) + spread * normal(words)
    wins = int(gain)
    return float(hypergeometric(words, wins, k - wins, half))


@lean_kernel
def play_singly(words: U64, band: Band, piece: Piece, limit: int) -> tuple[int, float]:
    """Reveal rewards one by one; return the count and the sum at the first miss, 0 if none."""
    n, total, k, gain, sigma = piece
    left = gain
    for i in range(min(k, limit - n)):
        r = float(k - i)
        if sigma > 0.0:
            left -= left / r + sigma * math.sqrt((r - 1.0) / r) * normal(words)
        else:
            left -= uniform(words) * r < left
        if missed(band, n + i + 1, total + (gain - left)):
            return n + i + 1, total + (gain - left)
    return 0, 0.0


@lean_kernel
def log_ratio(k: int, wins: int, D: int, r: int, a: int) -> float:
    """Return log L of an arrangement with a successes in r rewards to come; -inf if none is so."""
    if a > r:
        return -np.inf
    every, rest, p = float(k), float(r), (wins - 0.5 * D) / k  # any p would do
    ends = log_likelihood(every, p, float(wins - D)) - log_likelihood(every, p, float(wins))
    return ends + log_likelihood(rest, p, float(a)) - log_likelihood(rest, p, float(a - D))


@lean_kernel
def log_weight(band: Band, piece: Piece, side: int, beyond: float, at: int, there: float) -> float:
    """Return log L where Q, with the sum ``beyond``, first left the band."""
    n, total, k, gain, sigma = piece
    r, moved = n + k - at, there - total
    if sigma == 0.0:
        wins, a = int(gain), int(gain - moved)
        if side == LOW:
            return log_ratio(k, wins, wins - int(beyond), r, a)
        return log_ratio(k, k - wins, int(beyond) - wins, r, r - a)
    if r == 0:  # P ends elsewhere
        return -np.inf
    room = room_in(band, piece, edge(band, n), edge(band, n + k))
    drift = (moved - (at - n) * band.mu) * side
    x, y = (room.below, room.below_end) if side == LOW else (room.above, room.above_end)
    height = x + room.rise * (at - n) - drift
    return 2.0 * y * (height / r - x / k) / (sigma * sigma)


@lean_kernel
def counts_under_P(
    words: U64, band: Band, sigma: float, stack: Stack, d: int, at: int, there: float
) -> bool:
    """Say by lot whether a miss inside an open piece stands for one of its law P."""
    counts, sums = stack.counts, stack.sums
    side, beyond, E = counts[d, 2], sums[d, 2], sums[d, 4]
    if side == NEITHER:
        return True
    if (there < at * band.mu) != (side == LOW):
        return False
    piece = Piece(counts[d, 0], sums[d, 0], counts[d, 1], sums[d, 1], sigma)
    L = log_weight(band, piece, side, beyond, at, there)
    return bool(math.log(1.0 - uniform(words)) < L + E)


@lean_step
def choose_law(
    words: U64, band: Band, piece: Piece, drawn: bool, stack: Stack, d: int
) -> tuple[bool, float]:
    """Draw whether a piece is followed, and by which Q; note it, and return the sum under Q.

    ``drawn`` says that 2 exp(-E) has happened already.
    """
    n, total, k, gain, _ = piece
    room = room_in(band, piece, edge(band, n), edge(band, n + k))
    less, more = safeties(band, piece, room)
    E, side, beyond = min(less, more), NEITHER, gain
    if E > LOG_TWO:
        if not drawn and not happens(words, E - LOG_TWO):
            return False, gain
        side = LOW if uniform(words) < 0.5 else HIGH
        beyond = gain_beyond(band, piece, room, side)
    counts, sums = stack.counts, stack.sums  # entry by entry: rows would be checked for shape
    counts[d, 0], counts[d, 1], counts[d, 2], counts[d, 3] = n, k, side, 1
    sums[d, 0], sums[d, 1], sums[d, 2], sums[d, 4] = total, gain, beyond, E
    return side == NEITHER or beyond != gain, beyond


@lean_kernel
def enter(
    words: U64, band: Band, piece: Piece, limit: int, drawn: bool, stack: Stack, d: int
) -> tuple[int, float, bool]:
    """Settle a piece, or open it: return the count and the sum of a miss, and whether it is open.

    Beyond count ``limit`` nothing counts.
    """
    n, total, k, _, sigma = piece
    if n >= limit:
        return 0, 0.0, False
    if k <= SHORT and not drawn:
        at, there = play_singly(words, band, piece, limit)
        return at, there, False
    followed, beyond = choose_law(words, band, piece, drawn, stack, d)
    if not followed:
        return 0, 0.0, False
    piece = Piece(n, total, k, beyond, sigma)
    if k > SHORT:
        stack.sums[d, 3] = halve(words, piece)
        return 0, 0.0, True
    at, there = play_singly(words, band, piece, limit)
    if at > 0 and not counts_under_P(words, band, sigma, stack, d, at, there):
        at = 0
    return at, there, False


@lean_step
def half_of(stack: Stack, d: int, sigma: float, second: bool) -> Piece:
    """Return one half of an open piece."""
    n, k = stack.counts[d, 0], stack.counts[d, 1]
    total, beyond, some = stack.sums[d, 0], stack.sums[d, 2], stack.sums[d, 3]
    if second:
        return Piece(n + k // 2, total + some, k - k // 2, beyond - some, sigma)
    return Piece(n, total, k // 2, some, sigma)


@kernel
def leaves_band(words: U64, band: Band, piece: Piece, limit: int) -> bool:
    """Say whether a piece with which 2 exp(-E) has happened leaves its band."""
    sigma, d, drawn = piece.sigma, int(np.int64(0)), True  # no literal: one type of d
    stack = Stack(np.zeros((DEEP, 4), np.int64), np.zeros((DEEP, 5)))
    while True:
        at, there, going_on = enter(words, band, piece, limit, drawn, stack, d)
        drawn = False
        if going_on:
            piece = half_of(stack, d, sigma, False)
            d += 1
        while d > 0 and not going_on:  # back to where a second half is to come
            d -= 1
            if at > 0:
                if not counts_under_P(words, band, sigma, stack, d, at, there):
                    at = 0
            elif stack.counts[d, 3] == 1:
                stack.counts[d, 3] = 0
                piece = half_of(stack, d, sigma, True)
                d += 1
                going_on = True
        if not going_on:
            return at > 0
