"""Which policies were played, how often and when last: all that the guarantee asks of a run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uli_fast._typing import F64, I8, I64
from uli_fast.kernels._jit import kernel, lean_step
from uli_fast.kernels._mdp import copied, evaluate

# FNV-1a, 64 bits.
BASIS, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


class Ledger(NamedTuple):
    """The policies played so far, D of them, and the truth about them."""

    policy: I8  # (room, H, S) in the order of their first play
    plays: I64  # (room,)
    last: I64  # (room,) last episode
    gap: F64  # (room,)
    slot: I64  # (a power of two > room,) hash table of entries, -1 where free
    size: I64  # (1,) D
    clock: I64  # (1,) episodes played
    rounds: I64  # (P,) recorded episodes
    regret: F64  # (P,)
    at: I64  # (1,) the next recorded episode
    P: F64  # (H, S, A, S) the true transitions
    r: F64  # (H, S, A) the true rewards, on [0, 1]
    start: F64  # (S,) the true initial probabilities
    best: F64  # (2,) the optimal value, and the difference that is no gap
    V: F64  # (S,)
    W: F64  # (S,)


@lean_step
def is_full(ledger: Ledger) -> bool:
    """Say whether there is no room for a new policy."""
    return bool(ledger.size[0] == ledger.plays.shape[0])


@lean_step
def slot_of(ledger: Ledger, pi: I8) -> int:
    """Return the slot of a policy, or the free one where it belongs."""
    H, S = pi.shape
    key = BASIS
    for h in range(H):
        for s in range(S):
            key = (key ^ np.uint64(pi[h, s])) * PRIME
    mask = ledger.slot.shape[0] - 1
    i = np.int64(key >> np.uint64(20)) & mask
    while ledger.slot[i] >= 0:
        e = ledger.slot[i]
        same = True
        for h in range(H):
            for s in range(S):
                same = same and ledger.policy[e, h, s] == pi[h, s]
        if same:
            break
        i = (i + 1) & mask
    return int(i)


@lean_step
def gap_of(ledger: Ledger, pi: I8) -> float:
    """Return how much a policy is worth less than the best, averaged over initial states."""
    evaluate(pi, ledger.P, ledger.r, ledger.V, ledger.W)
    value = 0.0
    for s in range(pi.shape[1]):
        value += ledger.start[s] * ledger.V[s]
    gap = ledger.best[0] - value
    return gap if gap > ledger.best[1] else 0.0


@lean_step
def entry_of(ledger: Ledger, pi: I8) -> int:
    """Return the entry of a policy, made if there is none; there must be room."""
    i = slot_of(ledger, pi)
    e = ledger.slot[i]
    if e < 0:
        e = ledger.size[0]
        ledger.slot[i] = e
        ledger.size[0] += 1
        copied(pi, ledger.policy[e])
        ledger.gap[e] = gap_of(ledger, pi)
    return int(e)


@lean_step
def regret_now(ledger: Ledger) -> float:
    """Return the sum of plays and gaps."""
    total = 0.0
    for e in range(ledger.size[0]):
        total += ledger.plays[e] * ledger.gap[e]
    return total


@lean_step
def enter(ledger: Ledger, pi: I8, t: int) -> None:
    """Note that a policy is played in episode t."""
    e = entry_of(ledger, pi)
    ledger.plays[e] += 1
    ledger.last[e] = t
    at = ledger.at[0]
    if at < ledger.rounds.shape[0] and t == ledger.rounds[at]:
        ledger.regret[at] = regret_now(ledger)
        ledger.at[0] += 1


@kernel
def enter_block(ledger: Ledger, pi: I8, t: int, n: int) -> None:
    """Note that a policy is played in episodes t + 1 to t + n."""
    e = entry_of(ledger, pi)
    before = regret_now(ledger)
    ledger.plays[e] += n
    ledger.last[e] = t + n
    at = ledger.at[0]
    while at < ledger.rounds.shape[0] and ledger.rounds[at] <= t + n:
        ledger.regret[at] = before + (ledger.rounds[at] - t) * ledger.gap[e]
        at += 1
    ledger.at[0] = at


@kernel
def rehash(ledger: Ledger) -> None:
    """Fill the hash table anew from the entries."""
    ledger.slot[:] = -1
    for e in range(ledger.size[0]):
        ledger.slot[slot_of(ledger, ledger.policy[e])] = e
