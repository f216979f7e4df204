"""The first sweeps of successive elimination on coins: replications side by side.

At first nobody can fall, whatever the coins say, and later for as many sweeps as sums leave room
for (kernels/arms/successive_coins.py). All replications of a block toss meanwhile, arm after
arm, in loops over lanes that compilers turn into SIMD. A lane without room leaves, and plays on
alone. A lane's arithmetic never mixes with another's: its path does not depend on its company.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uli_fast._typing import F64, I64, U64
from uli_fast.formulas.successive_elimination import width_at
from uli_fast.kernels._jit import lean_kernel
from uli_fast.kernels.arms.state import ROUND, ArmState, RoundRecord

# Replications in a block; fewer than FEWEST play alone, and all after MOST sweeps.
LANES, FEWEST, MOST = 64, 16, 1024


class SweepLanes(NamedTuple):
    """A block of replications; lane i of arm a is entry [a, i]."""

    total: I64  # (K, LANES) successes
    words: U64  # (4, LANES) streams
    row: I64  # (LANES,) the replication in each lane
    ends: I64  # (2, LANES) its smallest and largest sum
    far: F64  # (LANES,) how far a sum is from its expectation, at most


@lean_kernel
def toss(words: U64, total: I64, mu: F64, L: int, k: int) -> None:
    """Toss k sweeps in each lane, as kernels/draws/stream.py draws."""
    for _ in range(k):
        for a in range(mu.shape[0]):
            chance = np.int64(np.ceil(mu[a] * 2.0**53))
            for i in range(L):
                w, x, y, z = words[0, i], words[1, i], words[2, i], words[3, i]
                mixed, shifted = w + z, x << np.uint64(17)
                y ^= w
                z ^= x
                words[0, i], words[1, i], words[2, i] = w ^ z, x ^ y, y ^ shifted
                words[3, i] = (z << np.uint64(45)) | (z >> np.uint64(19))
                drawn = ((mixed << np.uint64(23)) | (mixed >> np.uint64(41))) + w
                total[a, i] += np.int64(drawn >> np.uint64(11)) < chance


@lean_kernel
def look(lanes: SweepLanes, mu: F64, L: int, n: int) -> None:
    """Find out how far sums are from each other, and from their expectations."""
    total, low, high, far = lanes.total, lanes.ends[0], lanes.ends[1], lanes.far
    for i in range(L):
        low[i] = high[i] = total[0, i]
        far[i] = abs(total[0, i] - n * mu[0])
    for a in range(1, mu.shape[0]):
        for i in range(L):
            x = total[a, i]
            low[i], high[i] = min(low[i], x), max(high[i], x)
            far[i] = max(far[i], abs(x - n * mu[a]))


@lean_kernel
def sure_sweeps(mu: F64, level: float, R: float, most: int) -> int:
    """Return up to which sweep nothing can happen, whatever is tossed; ``most`` at most.

    A sum is within n of another, and within n times the larger of mu and 1 - mu of n mu.
    """
    n, side = 0, 0.5
    for a in range(mu.shape[0]):
        side = max(side, max(mu[a], 1.0 - mu[a]))
    while n < most and width_at(n + 1, level, R) > side + 1e-9:  # side >= 1 / 2
        n += 1
    return n


@lean_kernel
def leave(lanes: SweepLanes, words: U64, states: ArmState, i: int, n: int, last: int) -> None:
    """Bring lane i back after n sweeps, and put the last one in its place."""
    r, K = lanes.row[i], states.n.shape[1]
    for a in range(K):
        states.n[r, a], states.total[r, a] = n, lanes.total[a, i]
        states.last[r, a] = (n - 1) * K + a + 1
        lanes.total[a, i] = lanes.total[a, last]
    for j in range(4):
        words[r, j], lanes.words[j, i] = lanes.words[j, i], lanes.words[j, last]
    states.clock[r, ROUND] = n * K
    lanes.row[i], lanes.far[i] = lanes.row[last], lanes.far[last]
    lanes.ends[0, i], lanes.ends[1, i] = lanes.ends[0, last], lanes.ends[1, last]


@lean_kernel
def note_early(record: RoundRecord, clock: I64, r0: int, r1: int, K: int) -> None:
    """Record the rounds that replications r0 to r1 have played, in all of which nobody fell."""
    for p in range(record.rounds.shape[0]):
        whole, rest = divmod(record.rounds[p], K)
        for r in range(r0, r1):
            if record.rounds[p] <= clock[r, ROUND]:
                for a in range(K):
                    record.plays[r, p, a] = whole + (a < rest)
                record.at[r, 0] = p + 1


@lean_kernel
def play_early(
    mu: F64,
    words: U64,
    states: ArmState,
    record: RoundRecord,
    lanes: SweepLanes,
    level: float,
    R: float,
    sweeps: int,
) -> None:
    """Play the first sweeps of all replications, ``sweeps`` at most."""
    M, K = states.n.shape
    sure = sure_sweeps(mu, level, R, sweeps)
    for r0 in range(0, M, LANES):
        L, n, upcoming = min(LANES, M - r0), 0, sure
        for i in range(L):
            lanes.row[i] = r0 + i
            for a in range(K):
                lanes.total[a, i] = 0
            for j in range(4):
                lanes.words[j, i] = words[r0 + i, j]
        while L > 0 and upcoming > n:
            toss(lanes.words, lanes.total, mu, L, upcoming - n)
            n, upcoming = upcoming, sweeps
            look(lanes, mu, L, n)
            apart = (n + 1) * (2.0 * width_at(n + 1, level, R) - 1e-12) - 1e-9
            astray = n * width_at(n, level, R) - (1e-9 + 1e-14 * n)
            i = L - L  # no literal: ``leave`` would be compiled for it
            while i < L:
                spread = lanes.ends[1, i] - lanes.ends[0, i]
                k = int(min(apart - spread, astray - lanes.far[i], sweeps - n))
                if k > 0:
                    upcoming = min(upcoming, n + k)
                    i += 1
                else:
                    L -= 1
                    leave(lanes, words, states, i, n, L)
        note_early(record, states.clock, r0, min(r0 + LANES, M), K)
