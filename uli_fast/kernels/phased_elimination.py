"""Phased elimination on K arms (Algorithm PE-MAB).

Phase l plays every survivor m_l times, in index order, each quota in a row, and
drops an arm whose mean over this phase is more than 2^-l below the best.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uli_fast._typing import I64, Total
from uli_fast.formulas.phased_elimination import quota
from uli_fast.kernels._jit import lean_kernel
from uli_fast.kernels.arms.state import (
    PHASE,
    ROUND,
    ArmState,
    RoundRecord,
    next_stop,
    note,
    note_run,
    record_of,
    state_of,
)
from uli_fast.kernels.rewards.laws import Law, law_of, play_each, total_after


class PhaseStart(NamedTuple):
    """Counts and sums when the phase began: its means use its own rewards only."""

    n: I64  # (K,)
    total: Total  # (K,)
    missing: I64  # (K,) plays of this phase whose rewards are not known; 0 in simulations


@lean_kernel
def next_arm(state: ArmState, start: PhaseStart, m: int) -> int:
    """Return the first survivor with plays left in this phase, -1 if there is none."""
    for a in range(state.n.shape[0]):
        if state.active[a] and state.n[a] - start.n[a] < m:
            return a
    return -1


@lean_kernel
def close_phase(state: ArmState, start: PhaseStart, m: int) -> None:
    """Drop the arms whose phase mean lies more than 2^-l below the best; begin the next.

    Missing rewards are in [0, 1]: the best counts them as 0, the others as 1.
    """
    K = state.n.shape[0]
    best = -np.inf
    for a in range(K):
        if state.active[a]:
            best = max(best, (state.total[a] - start.total[a]) / m)
    slack = 2.0 ** -state.clock[PHASE]
    for a in range(K):
        if state.active[a]:
            mean = (state.total[a] - start.total[a]) / m + start.missing[a] / m
            if best - mean > slack:
                state.active[a] = False
                state.eliminated[a] = state.clock[ROUND]
            start.missing[a] = 0
            start.n[a] = state.n[a]
            start.total[a] = state.total[a]
    state.clock[PHASE] += 1


@lean_kernel
def check_event(law: Law, state: ArmState, start: PhaseStart, m: int) -> None:
    """Note whether a phase mean misses its expectation by more than 2^(-l-1)."""
    for a in range(state.n.shape[0]):
        if state.active[a]:
            error = (state.total[a] - start.total[a]) / m - law.mu[a]
            if abs(error) > 2.0 ** (-state.clock[PHASE] - 1):
                state.broken[0] = True


@lean_kernel
def play_rounds(
    law: Law,
    state: ArmState,
    record: RoundRecord,
    start: PhaseStart,
    delta: float,
    R: float,
    T: int,
    budget: int,
) -> int:
    """Play single rounds until T or until the budget is spent; return what is left of it."""
    K = state.n.shape[0]
    while budget > 0 and state.clock[ROUND] < T:
        m = quota(state.clock[PHASE], K, delta, R)
        a = next_arm(state, start, m)
        t = state.clock[ROUND]
        left = m - (state.n[a] - start.n[a])
        k = min(left, next_stop(record) - t, budget)
        state.total[a] = play_each(law, a, state.n[a], k, state.total[a])
        state.n[a] += k
        state.last[a] = state.clock[ROUND] = t + k
        budget -= k
        note(record, state.n, t + k)
        if next_arm(state, start, m) < 0:
            check_event(law, state, start, m)
            close_phase(state, start, m)
    return budget


@lean_kernel
def batch_rounds(
    law: Law,
    states: ArmState,
    record: RoundRecord,
    starts: PhaseStart,
    delta: float,
    R: float,
    T: int,
    budget: int,
) -> bool:
    """Play single rounds of all replications in turn; say whether all have reached T."""
    for r in range(states.clock.shape[0]):
        if states.clock[r, ROUND] < T and budget > 0:
            start = PhaseStart(starts.n[r], starts.total[r], starts.missing[r])
            budget = play_rounds(
                law_of(law, r),
                state_of(states, r),
                record_of(record, r),
                start,
                delta,
                R,
                T,
                budget,
            )
    return bool(states.clock[-1, ROUND] == T)


@lean_kernel
def play_skipping(
    law: Law,
    state: ArmState,
    record: RoundRecord,
    start: PhaseStart,
    delta: float,
    R: float,
    T: int,
) -> None:
    """Play whole quotas, one draw each, until T."""
    K = state.n.shape[0]
    while state.clock[ROUND] < T:
        m = quota(state.clock[PHASE], K, delta, R)
        for a in range(K):
            t = state.clock[ROUND]
            if state.active[a] and t < T:
                note_run(record, state.n, a, t, m)
                state.total[a] = total_after(law, a, state.n[a], m, state.total[a])
                state.n[a] += m
                state.last[a] = min(t + m, T)
                state.clock[ROUND] = t + m
        if state.clock[ROUND] <= T and next_arm(state, start, m) < 0:
            check_event(law, state, start, m)
            close_phase(state, start, m)


@lean_kernel
def batch_skipping(
    law: Law,
    states: ArmState,
    record: RoundRecord,
    starts: PhaseStart,
    delta: float,
    R: float,
    T: int,
    budget: int,
) -> bool:
    """Skip through replications, one for each step of the budget; say whether all are at T."""
    for r in range(states.clock.shape[0]):
        if states.clock[r, ROUND] < T and budget > 0:
            start = PhaseStart(starts.n[r], starts.total[r], starts.missing[r])
            play_skipping(
                law_of(law, r), state_of(states, r), record_of(record, r), start, delta, R, T
            )
            budget -= 1
    return bool(states.clock[-1, ROUND] >= T)
