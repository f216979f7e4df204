"""Rounds of a learner of the user's own: in Python one by one, or compiled into one loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from uli_fast._typing import I64
from uli_fast.kernels._jit import by_type, kernel, transient_kernel
from uli_fast.kernels.arms.state import ROUND, ArmState, RoundRecord, note
from uli_fast.kernels.rewards.laws import Law, draw_reward

GOING, DONE, NO_ARM = 0, 1, 2
# What stands for a choice that is no whole number.
NOT_WHOLE = -(2**63)


@kernel
def pull(law: Law, state: ArmState, record: RoundRecord, a: int) -> float:
    """Play arm a in the next round and return its reward, on the unit scale."""
    t = state.clock[ROUND] + 1
    reward = draw_reward(law, a, state.n[a])
    state.n[a] += 1
    state.last[a] = state.clock[ROUND] = t
    note(record, state.n, t)
    return reward


def arm_of(chosen: Any) -> int:
    """Return the arm of a choice, or of an arm with its probability (compiled code only)."""
    raise TypeError("arm_of is called from compiled kernels only")


@by_type(arm_of)
def _arm_of(chosen: Any) -> Callable[..., Any]:
    if isinstance(chosen, types.Integer):
        return lambda chosen: np.int64(chosen)
    pair = isinstance(chosen, types.BaseTuple) and len(chosen) == 2
    if pair and isinstance(chosen[0], types.Integer):
        return lambda chosen: np.int64(chosen[0])
    return lambda chosen: np.int64(NOT_WHOLE)


@transient_kernel
def play_rounds(
    choose: Any,
    update: Any,
    mind: Any,
    law: Law,
    state: ArmState,
    record: RoundRecord,
    units: tuple[float, float],
    T: int,
    played: I64,
) -> int:
    """Play up to len(played) rounds, noting the arms in ``played``; return the status.

    ``units`` are low and scale: a reward is low + scale times that of the unit scale. A choice
    that is no arm is left in ``played[0]``.
    """
    low, scale = units
    for i in range(min(played.shape[0], T - state.clock[ROUND])):
        a = arm_of(choose(mind, state.clock[ROUND] + 1))
        if a < 0 or a >= state.n.shape[0]:
            played[0] = a
            return NO_ARM
        update(mind, a, low + scale * pull(law, state, record, a))
        played[i] = a
    return DONE if state.clock[ROUND] == T else GOING
