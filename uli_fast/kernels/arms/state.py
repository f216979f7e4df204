"""States of K-armed runs and their records at chosen rounds.

A batch has the arrays of all its replications, one row each; kernels play a row.

An engine that skips may pass the horizon T inside a block: the block is drawn
whole, so that a path does not depend on T, and what is recorded is cut at T.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uli_fast._typing import B1, F64, I64, Total
from uli_fast.kernels._jit import lean_kernel, lean_step

# Positions in ArmState.clock.
ROUND, PHASE = 0, 1


class ArmState(NamedTuple):
    """What a K-armed learner knows, and what a run must remember; of a batch (M, ...)."""

    n: I64  # (K,) pulls
    total: Total  # (K,) reward sums
    active: B1  # (K,) surviving set
    last: I64  # (K,) last round played, 0 if never
    eliminated: I64  # (K,) the round whose reward removed the arm, 0 if never
    clock: I64  # (2,) rounds played; phase
    broken: B1  # (1,) whether some confidence interval missed its mean
    tv: F64  # (1,) total-variation distance spent on certified blocks


class RoundRecord(NamedTuple):
    """Counts at chosen rounds; of a batch, plays are (M, P, K) and at (M, 1)."""

    rounds: I64  # (P,) increasing, the last one is the horizon
    plays: I64  # (P, K) pulls up to and including each round
    at: I64  # (1,) how many rounds are recorded


@lean_step
def state_of(states: ArmState, r: int) -> ArmState:
    """Return the state of replication r of a batch."""
    return ArmState(
        states.n[r],
        states.total[r],
        states.active[r],
        states.last[r],
        states.eliminated[r],
        states.clock[r],
        states.broken[r],
        states.tv[r],
    )


@lean_step
def record_of(records: RoundRecord, r: int) -> RoundRecord:
    """Return the record of replication r of a batch."""
    return RoundRecord(records.rounds, records.plays[r], records.at[r])


@lean_kernel
def regret_rows(plays: I64, gaps: F64, regret: F64) -> None:
    """Fill in the pseudo-regret (M, P) of counts (M, P or more, K)."""
    for r in range(regret.shape[0]):
        for p in range(regret.shape[1]):
            x = 0.0
            for a in range(plays.shape[2]):
                x += plays[r, p, a] * gaps[a]
            regret[r, p] = x


@lean_kernel
def least_played(n: I64, active: B1) -> int:
    """Return the active arm with the fewest pulls, the smallest index among equals."""
    arm = -1
    for a in range(n.shape[0]):
        if active[a] and (arm < 0 or n[a] < n[arm]):
            arm = a
    return arm


@lean_kernel
def count_active(active: B1) -> int:
    """Return the number of surviving arms."""
    m = 0
    for a in range(active.shape[0]):
        m += active[a]
    return m


@lean_step
def next_stop(record: RoundRecord) -> int:
    """Return the next round to be recorded; the last one is the horizon."""
    return int(record.rounds[min(record.at[0], record.rounds.shape[0] - 1)])


@lean_kernel
def note(record: RoundRecord, n: I64, t: int) -> None:
    """Record the counts n if round t is a chosen one."""
    at = record.at[0]
    if at < record.rounds.shape[0] and record.rounds[at] == t:
        for a in range(n.shape[0]):
            record.plays[at, a] = n[a]
        record.at[0] = at + 1


@lean_kernel
def note_run(record: RoundRecord, n: I64, a: int, t: int, k: int) -> None:
    """Record the rounds t+1..t+k in which arm a is played k times; n is from before."""
    rounds, plays, at = record.rounds, record.plays, record.at[0]
    while at < rounds.shape[0] and rounds[at] <= t + k:
        for b in range(n.shape[0]):
            plays[at, b] = n[b]
        plays[at, a] += rounds[at] - t
        at += 1
    record.at[0] = at


@lean_kernel
def note_sweeps(record: RoundRecord, n: I64, active: B1, t: int, k: int, m: int) -> None:
    """Record k sweeps over the m active arms in index order; n is from before."""
    rounds, plays, at = record.rounds, record.plays, record.at[0]
    while at < rounds.shape[0] and rounds[at] <= t + k * m:
        whole, rest = divmod(rounds[at] - t, m)
        i = 0
        for a in range(n.shape[0]):
            plays[at, a] = n[a]
            if active[a]:
                plays[at, a] += whole + (i < rest)
                i += 1
        at += 1
    record.at[0] = at


@lean_kernel
def play_alone(states: ArmState, record: RoundRecord, t: int, k: int) -> None:
    """Play rounds t+1..t+k of the replications with one arm left."""
    for r in range(states.clock.shape[0]):
        if count_active(states.active[r]) == 1:
            a = int(np.argmax(states.active[r]))
            note_run(record_of(record, r), states.n[r], a, t, k)
            states.n[r, a] += k
            states.last[r, a] = states.clock[r, ROUND] = t + k


@lean_kernel
def play_out(state: ArmState, record: RoundRecord, a: int, T: int) -> None:
    """Play arm a to the horizon: with one arm left no reward changes a decision."""
    t = state.clock[ROUND]
    note_run(record, state.n, a, t, T - t)
    state.n[a] += T - t
    state.last[a] = T
    state.clock[ROUND] = T
