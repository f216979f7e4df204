"""The elimination framework (Algorithm 1) around a user's compiled rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types

from uli_fast._typing import B1, I64
from uli_fast.kernels._jit import by_type, kernel, transient_kernel
from uli_fast.kernels.arms.state import ROUND, ArmState, RoundRecord, least_played, note
from uli_fast.kernels.rewards.laws import Law, play_one

GOING, DONE, EMPTY, BAD_MASK = 0, 1, 2, 3


@kernel
def restrict(active: B1, keep: B1, eliminated: I64, t: int) -> bool:
    """Cut the active set to ``keep`` before round t; say whether an arm is left."""
    left = False
    for a in range(active.shape[0]):
        if active[a] and not keep[a]:
            active[a] = False
            eliminated[a] = t - 1
        left = left or active[a]
    return left


@kernel
def play_arm(law: Law, state: ArmState, record: RoundRecord) -> int:
    """Play the least played active arm and return it."""
    t = state.clock[ROUND] + 1
    a = least_played(state.n, state.active)
    state.total[a] = play_one(law, a, state.n[a], state.total[a])
    state.n[a] += 1
    state.last[a] = state.clock[ROUND] = t
    note(record, state.n, t)
    return a


def is_mask(keep: Any) -> bool:
    """Say whether a rule returned an array of booleans (compiled code only)."""
    raise TypeError("is_mask is called from compiled kernels only")


@by_type(is_mask)
def _is_mask(keep: Any) -> Callable[..., bool]:
    if isinstance(keep, types.Array) and keep.dtype == types.boolean:
        return lambda keep: True
    return lambda keep: False


@transient_kernel
def play_rounds(
    rule: Any, law: Law, state: ArmState, record: RoundRecord, T: int, played: I64
) -> int:
    """Play up to len(played) rounds, noting the arms in ``played``; return the status."""
    n, total, active = state.n.copy(), state.total.copy(), state.active.copy()
    for i in range(min(played.shape[0], T - state.clock[ROUND])):
        t = state.clock[ROUND] + 1
        if t > state.n.shape[0]:
            n[:], total[:], active[:] = state.n, state.total, state.active  # the rule's own
            keep = rule(n, total, active, t)
            if not is_mask(keep) or keep.shape != active.shape:
                return BAD_MASK
            if not restrict(state.active, keep, state.eliminated, t):
                return EMPTY
        played[i] = play_arm(law, state, record)
    return DONE if state.clock[ROUND] == T else GOING
