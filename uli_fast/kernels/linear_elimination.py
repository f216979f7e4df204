"""Playing the quotas of a phase of PE-linear, in index order, each in a row."""

from __future__ import annotations

from uli_fast._typing import I64
from uli_fast.kernels._jit import lean_kernel
from uli_fast.kernels.arms.state import ROUND, ArmState, RoundRecord, next_stop, note, note_run
from uli_fast.kernels.rewards.laws import Law, play_each, total_after


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
