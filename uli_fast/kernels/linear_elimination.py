"""Playing the quotas of a phase or block of PE-linear, in index order, each in a row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uli_fast._typing import F64, I64, Total
from uli_fast.kernels._jit import kernel, lean_kernel
from uli_fast.kernels.arms.state import (
    PHASE,
    ROUND,
    ArmState,
    RoundRecord,
    next_stop,
    note,
    note_run,
)
from uli_fast.kernels.linear.blocks import OPEN, LinearState, close, quotas
from uli_fast.kernels.rewards.laws import Law, play_each, total_after

# No quota is larger: counters have 64 bits.
LARGEST_QUOTA = 4e18


@lean_kernel
def play_skipping(law: Law, state: ArmState, record: RoundRecord, left: I64, T: int) -> bool:
    """Play what is left of every quota, one draw each; say whether all were played by T.

    A quota is drawn whole, so that a path does not depend on T; the record is cut.
    """
    for a in range(left.shape[0]):
        t, k = state.clock[ROUND], left[a]
        if k > 0 and t < T:
            note_run(record, state.n, a, t, k)
            state.total[a] = total_after(law, a, state.n[a], k, state.total[a])
            state.n[a] += k
            state.last[a] = min(t + k, T)
            state.clock[ROUND] = t + k
            left[a] = 0
    return bool(state.clock[ROUND] <= T and left.sum() == 0)


@lean_kernel
def play_rounds(
    law: Law, state: ArmState, record: RoundRecord, left: I64, T: int, budget: int
) -> bool:
    """Play single rounds until the quotas, T or the budget is reached; say if all were played."""
    for a in range(left.shape[0]):
        while left[a] > 0 and state.clock[ROUND] < T and budget > 0:
            t = state.clock[ROUND]
            k = min(left[a], next_stop(record) - t, budget)
            state.total[a] = play_each(law, a, state.n[a], k, state.total[a])
            state.n[a] += k
            state.last[a] = state.clock[ROUND] = t + k
            left[a] -= k
            budget -= k
            note(record, state.n, t + k)
    return bool(left.sum() == 0)


class OpenBlock(NamedTuple):
    """A block in progress, and what turns its sums into rewards in units of R."""

    quotas: I64  # (K,) plays of this block
    left: I64  # (K,) those still to come
    before: Total  # (K,) reward sums when it began
    gaps: F64  # (K,) true gaps in units of R, or nothing
    missed: F64  # (K,) what missing rewards may have moved a sum by, or nothing
    best: int  # a best arm
    slope: float  # a reward in units of R is X slope - offset,
    offset: float  # X being what kernels draw


@kernel
def play_blocks(
    law: Law,
    state: ArmState,
    record: RoundRecord,
    lin: LinearState,
    block: OpenBlock,
    T: int,
    budget: int,
) -> bool:
    """Play blocks until an arm is dropped, T or the budget is reached; say if one was dropped.

    Without a budget (0) a quota is one draw.
    """
    skips, end = budget == 0, state.clock[ROUND] + budget
    while state.clock[ROUND] < T and (skips or state.clock[ROUND] < end):
        if lin.counts[OPEN] == 0:
            open_block(state, lin, block)
        if skips:
            complete = play_skipping(law, state, record, block.left, T)
        else:
            spare = end - state.clock[ROUND]
            complete = play_rounds(law, state, record, block.left, T, spare)
        if not complete:
            return False
        if close_block(state, lin, block) > 0:
            return True
    return False


@kernel
def open_block(state: ArmState, lin: LinearState, block: OpenBlock) -> None:
    """Set the quotas of the next block."""
    quotas(lin, state.clock[PHASE], LARGEST_QUOTA, block.quotas)
    block.left[:] = block.quotas
    block.before[:] = state.total
    lin.counts[OPEN] = 1


@kernel
def close_block(state: ArmState, lin: LinearState, block: OpenBlock) -> int:
    """Take in the rewards of a block; return how many arms are dropped."""
    means = np.zeros(block.left.size)
    for a in range(means.size):
        if block.quotas[a] > 0:
            x = (state.total[a] - block.before[a]) / block.quotas[a]
            means[a] = x * block.slope - block.offset
    lin.counts[OPEN] = 0
    return close(lin, state, block.quotas, means, block.gaps, block.missed, block.best)
