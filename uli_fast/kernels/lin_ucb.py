"""LinUCB on finitely many arms: ridge regression with a confidence ellipsoid.

Index of arm a before round t: <theta_hat, a> + radius(t) |a|_{V^-1}, with
V = I + sum of the arms played. One play changes V by a rank-one term, and every
arm's estimate and width by one inner product (Sherman and Morrison).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from uli_fast._typing import F64
from uli_fast.kernels._jit import lean_kernel, lean_step
from uli_fast.kernels.arms.state import ROUND, ArmState, RoundRecord, note
from uli_fast.kernels.rewards.laws import Law, draw_reward

# Plays between two fresh inverses: rank-one updates drift.
REFRESH = 1024


class Ridge(NamedTuple):
    """What LinUCB knows."""

    x: F64  # (K, d) arms
    V: F64  # (d, d) I + sum a a^T
    inverse: F64  # (d, d)
    b: F64  # (d,) sum of a X
    w: F64  # (d,) V^-1 a of the arm played
    mean: F64  # (K,) <theta_hat, a>
    square: F64  # (K,) |a|^2_{V^-1}


@lean_kernel
def radius(t: int, d: int, delta: float, R: float) -> float:
    """Return R sqrt(d log(1 + t / d) + 2 log(1 / delta)) + 1, for round t."""
    return float(R * math.sqrt(d * math.log1p(t / d) - 2.0 * math.log(delta)) + 1.0)


@lean_step
def leader(ridge: Ridge, width: float) -> int:
    """Return the arm with the largest index, the smallest number among equals."""
    best, arm = -np.inf, 0
    for a in range(ridge.mean.shape[0]):
        value = ridge.mean[a] + width * math.sqrt(max(ridge.square[a], 0.0))
        if value > best:
            best, arm = value, a
    return arm


@lean_step
def absorb(ridge: Ridge, arm: int, reward: float) -> None:
    """Take in a reward of the arm."""
    x, w = ridge.x, ridge.w
    K, d = x.shape
    for i in range(d):
        w[i] = 0.0
        for j in range(d):
            w[i] += ridge.inverse[i, j] * x[arm, j]
            ridge.V[i, j] += x[arm, i] * x[arm, j]
        ridge.b[i] += reward * x[arm, i]
    shrink = 1.0 / (1.0 + ridge.square[arm])
    surprise = (reward - ridge.mean[arm]) * shrink
    for i in range(d):
        for j in range(d):
            ridge.inverse[i, j] -= w[i] * w[j] * shrink
    for a in range(K):
        along = 0.0
        for i in range(d):
            along += x[a, i] * w[i]
        ridge.mean[a] += along * surprise
        ridge.square[a] -= along * along * shrink


@lean_kernel
def choose(ridge: Ridge, t: int, delta: float, R: float) -> int:
    """Return the arm of round t: for live decisions, one by one."""
    return leader(ridge, radius(t, ridge.x.shape[1], delta, R))


@lean_kernel
def take(ridge: Ridge, arm: int, reward: float) -> None:
    """Take in a reward of the arm: for live decisions, one by one."""
    absorb(ridge, arm, reward)


@lean_kernel
def play_rounds(
    ridge: Ridge,
    law: Law,
    state: ArmState,
    record: RoundRecord,
    parameters: tuple[float, float, float, float],
    T: int,
    budget: int,
) -> bool:
    """Play up to T, the budget or the next refresh; parameters are delta, R, offset, slope."""
    delta, R, offset, slope = parameters
    d = ridge.x.shape[1]
    until_refresh = REFRESH - state.clock[ROUND] % REFRESH
    for _ in range(min(budget, T - state.clock[ROUND], until_refresh)):
        t = state.clock[ROUND] + 1
        a = leader(ridge, radius(t, d, delta, R))
        absorb(ridge, a, slope * draw_reward(law, a, state.n[a]) - offset)
        state.n[a] += 1
        state.last[a] = state.clock[ROUND] = t
        note(record, state.n, t)
    return bool(state.clock[ROUND] == T)
