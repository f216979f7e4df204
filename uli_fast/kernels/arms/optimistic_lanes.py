"""The first rounds of optimistic learners on coins: replications side by side.

While plays are few the leader changes all the time, and every index has to be looked at. Done for
one replication after the other, the comparisons wait for each other; done for all replications
of a block at once, arm by arm, they are loops over lanes that compilers turn into SIMD. A bonus is
a part that knows the round, the same for all lanes, times one that knows the plays: both are
looked up. A lane's arithmetic never mixes with another's, so that its path does not depend on
its company.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from uli_fast._typing import F64, I64, U64
from uli_fast.kernels._jit import lean_kernel, lean_step
from uli_fast.kernels.arms.optimism import confidence, moves, radius
from uli_fast.kernels.arms.state import ROUND, ArmState, RoundRecord

# Rounds that are played in lanes, and replications in a block.
EARLY, LANES = 1 << 14, 64


class CoinLanes(NamedTuple):
    """A block of replications; lane l of arm a is entry [a, l]."""

    n: I64  # (K, LANES) plays
    total: F64  # (K, LANES) successes
    last: I64  # (K, LANES) last round played
    value: F64  # (K, LANES) the mean, with the bonus if that stays
    bonus: F64  # (K, LANES) the part of one that moves that knows the plays
    words: U64  # (4, LANES) streams
    bits: U64  # (LANES,) drawn last
    best: F64  # (LANES,) largest index
    arm: F64  # (LANES,) its arm; a float, as wide as the indices it is chosen with


class BonusTables(NamedTuple):
    """A bonus in round t after n plays is ``swell[t] * weight[n]``; swell is 1 if it stays."""

    swell: F64  # (rounds + 1,); the first entry is 0 if it is 1 throughout
    weight: F64  # (rounds + 1,)


@lean_kernel
def fill_tables(rule: Any, tables: BonusTables) -> None:
    """Tabulate a rule; where its bonus moves with t, it falls with the root of n."""
    level = confidence(rule, 1)
    tables.swell[0] = 1.0 if moves(rule) else 0.0
    for i in range(1, tables.swell.shape[0]):
        if moves(rule):
            tables.swell[i] = radius(rule, confidence(rule, i), 1.0)
            tables.weight[i] = 1.0 / np.sqrt(float(i))
        else:
            tables.swell[i] = 1.0
            tables.weight[i] = radius(rule, level, float(i))


@lean_kernel
def lead_still(lanes: CoinLanes, L: int) -> None:
    """Find the arm with the largest index in each lane, the smallest among equals."""
    value, best, arm = lanes.value, lanes.best, lanes.arm
    for i in range(L):
        best[i], arm[i] = value[0, i], 0.0
    K = value.shape[0]
    for a in range(1, K, 3):  # three at once: most of the time is spent on best and arm
        b, c = min(a + 1, K - 1), min(a + 2, K - 1)
        for i in range(L):
            top, who = best[i], arm[i]
            who = float(a) if value[a, i] > top else who
            top = value[a, i] if value[a, i] > top else top
            who = float(b) if value[b, i] > top else who
            top = value[b, i] if value[b, i] > top else top
            who = float(c) if value[c, i] > top else who
            best[i] = value[c, i] if value[c, i] > top else top
            arm[i] = who


@lean_kernel
def lead(lanes: CoinLanes, L: int, swell: float) -> None:
    """Do so where indices move."""
    mean, bonus, best, arm = lanes.value, lanes.bonus, lanes.best, lanes.arm
    for i in range(L):
        best[i], arm[i] = mean[0, i] + swell * bonus[0, i], 0.0
    for a in range(1, mean.shape[0]):
        for i in range(L):
            index = mean[a, i] + swell * bonus[a, i]
            ahead = index > best[i]
            best[i] = index if ahead else best[i]
            arm[i] = float(a) if ahead else arm[i]


@lean_kernel
def draw(words: U64, bits: U64, L: int) -> None:
    """Draw 53 bits in each lane, as kernels/draws/stream.py does."""
    for i in range(L):
        a, b, c, d = words[0, i], words[1, i], words[2, i], words[3, i]
        total, shifted = a + d, b << np.uint64(17)
        c ^= a
        d ^= b
        words[0, i], words[1, i], words[2, i] = a ^ d, b ^ c, c ^ shifted
        words[3, i] = (d << np.uint64(45)) | (d >> np.uint64(19))
        mixed = ((total << np.uint64(23)) | (total >> np.uint64(41))) + a
        bits[i] = mixed >> np.uint64(11)


@lean_kernel
def settle(lanes: CoinLanes, L: int, mu: F64, tables: BonusTables, t: int) -> None:
    """Take in the coins of round t."""
    weight, still = tables.weight, 1.0 - tables.swell[0]
    for i in range(L):
        a = np.int64(lanes.arm[i])
        n = lanes.n[a, i] + 1
        total = lanes.total[a, i] + (float(lanes.bits[i]) * 2.0**-53 < mu[a])
        lanes.n[a, i], lanes.total[a, i], lanes.last[a, i] = n, total, t
        lanes.value[a, i], lanes.bonus[a, i] = total / n + still * weight[n], weight[n]


@lean_kernel
def board(
    lanes: CoinLanes, states: ArmState, words: U64, tables: BonusTables, r0: int, L: int
) -> None:
    """Bring replications r0, r0 + 1, ... into the lanes."""
    weight, still = tables.weight, 1.0 - tables.swell[0]
    for i in range(L):
        for a in range(states.n.shape[1]):
            n, total = states.n[r0 + i, a], float(states.total[r0 + i, a])
            lanes.n[a, i], lanes.total[a, i], lanes.last[a, i] = n, total, states.last[r0 + i, a]
            lanes.value[a, i] = total / max(n, 1) + still * weight[n]
            lanes.bonus[a, i] = weight[n]
        for j in range(4):
            lanes.words[j, i] = words[r0 + i, j]


@lean_kernel
def leave(lanes: CoinLanes, states: ArmState, words: U64, r0: int, L: int, t: int) -> None:
    """Bring them back after round t."""
    for i in range(L):
        for a in range(states.n.shape[1]):
            states.n[r0 + i, a], states.last[r0 + i, a] = lanes.n[a, i], lanes.last[a, i]
            states.total[r0 + i, a] = np.int64(lanes.total[a, i])
        for j in range(4):
            words[r0 + i, j] = lanes.words[j, i]
        states.clock[r0 + i, ROUND] = t


@lean_step
def note_all(lanes: CoinLanes, record: RoundRecord, r0: int, L: int) -> None:
    """Record the counts of all lanes."""
    at = record.at[r0, 0]
    for i in range(L):
        for a in range(lanes.n.shape[0]):
            record.plays[r0 + i, at, a] = lanes.n[a, i]
        record.at[r0 + i, 0] = at + 1


@lean_kernel
def play_early(
    mu: F64,
    words: U64,
    states: ArmState,
    record: RoundRecord,
    lanes: CoinLanes,
    tables: BonusTables,
    end: int,
    budget: int,
) -> int:
    """Play all replications up to round ``end``, or while the budget lasts; return what is left.

    Those of a block are always at the same round.
    """
    M, K = states.n.shape
    for r0 in range(0, M, LANES):
        L, t = min(LANES, M - r0), states.clock[r0, ROUND]
        stop = min(end, t + (budget + L - 1) // L)
        if t >= stop:
            continue
        board(lanes, states, words, tables, r0, L)
        budget -= (stop - t) * L
        while t < stop:
            t += 1
            if t <= K:  # each arm once
                for i in range(L):
                    lanes.arm[i] = float(t - 1)
            elif tables.swell[0] > 0.0:
                lead(lanes, L, tables.swell[t])
            else:
                lead_still(lanes, L)
            draw(lanes.words, lanes.bits, L)
            settle(lanes, L, mu, tables, t)
            if record.rounds[record.at[r0, 0]] == t:
                note_all(lanes, record, r0, L)
        leave(lanes, states, words, r0, L, t)
    return budget
