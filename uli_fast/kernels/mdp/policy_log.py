"""Which policies were played, how often and when last: all that the guarantee asks of a run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uli_fast._typing import F64, I8, I64
from uli_fast.kernels._jit import kernel, lean_kernel, lean_step
from uli_fast.kernels.mdp.episodes import copied, evaluate

# FNV-1a, 64 bits.
BASIS, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


class PolicyLog(NamedTuple):
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
    best: F64  # (2,) the optimal value, and the difference that does not count as a gap
    V: F64  # (S,)
    W: F64  # (S,)


@lean_step
def is_full(policy_log: PolicyLog) -> bool:
    """Say whether there is no room for a new policy."""
    return bool(policy_log.size[0] == policy_log.plays.shape[0])


@lean_step
def slot_of(policy_log: PolicyLog, pi: I8) -> int:
    """Return the slot of a policy, or the free one where it belongs."""
    H, S = pi.shape
    key = BASIS
    for h in range(H):
        for s in range(S):
            key = (key ^ np.uint64(pi[h, s])) * PRIME
    mask = policy_log.slot.shape[0] - 1
    i = np.int64(key >> np.uint64(20)) & mask
    while policy_log.slot[i] >= 0:
        e = policy_log.slot[i]
        same = True
        for h in range(H):
            for s in range(S):
                same = same and policy_log.policy[e, h, s] == pi[h, s]
        if same:
            break
        i = (i + 1) & mask
    return int(i)


@lean_step
def gap_of(policy_log: PolicyLog, pi: I8) -> float:
    """Return how much less a policy is worth than the best, averaged over initial states."""
    evaluate(pi, policy_log.P, policy_log.r, policy_log.V, policy_log.W)
    value = 0.0
    for s in range(pi.shape[1]):
        value += policy_log.start[s] * policy_log.V[s]
    gap = policy_log.best[0] - value
    return gap if gap > policy_log.best[1] else 0.0


@lean_step
def entry_of(policy_log: PolicyLog, pi: I8) -> int:
    """Return the entry of a policy, made if there is none; there must be room."""
    i = slot_of(policy_log, pi)
    e = policy_log.slot[i]
    if e < 0:
        e = policy_log.size[0]
        policy_log.slot[i] = e
        policy_log.size[0] += 1
        copied(pi, policy_log.policy[e])
        policy_log.gap[e] = gap_of(policy_log, pi)
    return int(e)


@lean_step
def regret_now(policy_log: PolicyLog) -> float:
    """Return the sum of plays and gaps."""
    total = 0.0
    for e in range(policy_log.size[0]):
        total += policy_log.plays[e] * policy_log.gap[e]
    return total


@lean_step
def enter(policy_log: PolicyLog, pi: I8, t: int) -> None:
    """Note that a policy is played in episode t."""
    e = entry_of(policy_log, pi)
    policy_log.plays[e] += 1
    policy_log.last[e] = t
    at = policy_log.at[0]
    if at < policy_log.rounds.shape[0] and t == policy_log.rounds[at]:
        policy_log.regret[at] = regret_now(policy_log)
        policy_log.at[0] += 1


@lean_kernel
def enter_block(policy_log: PolicyLog, pi: I8, t: int, n: int) -> None:
    """Note that a policy is played in episodes t + 1 to t + n."""
    e = entry_of(policy_log, pi)
    before = regret_now(policy_log)
    policy_log.plays[e] += n
    policy_log.last[e] = t + n
    at = policy_log.at[0]
    while at < policy_log.rounds.shape[0] and policy_log.rounds[at] <= t + n:
        policy_log.regret[at] = before + (policy_log.rounds[at] - t) * policy_log.gap[e]
        at += 1
    policy_log.at[0] = at


@kernel
def rehash(policy_log: PolicyLog) -> None:
    """Refill the hash table from the entries."""
    policy_log.slot[:] = -1
    for e in range(policy_log.size[0]):
        policy_log.slot[slot_of(policy_log, policy_log.policy[e])] = e
