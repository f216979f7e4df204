"""Thompson sampling: draw a mean for every arm from its posterior, play the largest.

Thompson (1933); Agrawal and Goyal (2012), "Analysis of Thompson sampling for the multi-armed
bandit problem". Coins: theta_a ~ Beta(1 + S_a, 1 + N_a - S_a), the posterior of a uniform prior;
a reward strictly between 0 and 1 counts as a success with itself as probability (their
Algorithm 2). Gaussians: theta_a ~ N(mean_a, R^2 / N_a), the posterior of a flat prior, after one
play each. Decisions and rewards are drawn from the replication's one stream.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from uli_fast._typing import F64, I64, Total
from uli_fast.kernels._jit import kernel, lean_kernel, lean_step
from uli_fast.kernels.arms.state import (
    ROUND,
    ArmState,
    RoundRecord,
    next_stop,
    note,
    record_of,
    state_of,
)
from uli_fast.kernels.draws.gamma import gamma
from uli_fast.kernels.draws.normal import normal
from uli_fast.kernels.draws.stream import uniform
from uli_fast.kernels.rewards.laws import Law, draw_reward, law_of, play_one


class Shapes(NamedTuple):
    """Of the two gamma variables whose ratio is the odds of a Beta: successes, failures."""

    d: F64  # (2, K) shape - 1/3
    c: F64  # (2, K) 1 / sqrt(9 d)


@lean_step
def reshape(shapes: Shapes, a: int, wins: float, losses: float) -> None:
    """Set the posterior Beta(1 + wins, 1 + losses) of arm a."""
    shapes.d[0, a], shapes.d[1, a] = wins + 2.0 / 3.0, losses + 2.0 / 3.0
    shapes.c[0, a] = 1.0 / math.sqrt(9.0 * shapes.d[0, a])
    shapes.c[1, a] = 1.0 / math.sqrt(9.0 * shapes.d[1, a])


@lean_kernel
def all_shapes(shapes: Shapes, n: I64, wins: Total) -> None:
    """Set the posteriors of all arms."""
    for a in range(n.shape[0]):
        reshape(shapes, a, float(wins[a]), float(n[a] - wins[a]))


@lean_step
def largest(rng: Any, shapes: Shapes) -> int:
    """Draw every arm's odds of success and return the arm with the largest."""
    d, c = shapes.d, shapes.c
    arm, best = 0, -1.0
    for a in range(d.shape[1]):
        odds = gamma(rng, d[0, a], c[0, a]) / gamma(rng, d[1, a], c[1, a])
        if odds > best:
            arm, best = a, odds
    return arm


@kernel
def draw_coin(rng: Any, n: I64, wins: Total) -> int:
    """Return the arm whose chance of success is drawn largest (the live step)."""
    shapes = Shapes(np.empty((2, n.shape[0])), np.empty((2, n.shape[0])))
    all_shapes(shapes, n, wins)
    return largest(rng, shapes)


@lean_kernel
def draw_normal(rng: Any, n: I64, total: Total, R: float) -> int:
    """Draw every arm's mean and return the arm with the largest; unplayed arms come first."""
    arm, best = 0, -np.inf
    for a in range(n.shape[0]):
        if n[a] == 0:
            return a
        theta = (total[a] + R * np.sqrt(float(n[a])) * normal(rng)) / n[a]
        if theta > best:
            arm, best = a, theta
    return arm


@lean_step
def toss(rng: Any, reward: float) -> bool:
    """Return whether a reward in [0, 1] counts as a success."""
    if 0.0 < reward < 1.0:
        return bool(uniform(rng) < reward)
    return reward >= 1.0


@lean_kernel
def as_coin(rng: Any, reward: float) -> bool:
    """Return whether a reward in [0, 1] counts as a success (the live step)."""
    return toss(rng, reward)


@lean_step
def count(state: ArmState, record: RoundRecord, a: int) -> None:
    """Count a play of arm a and record the round if it is a chosen one."""
    state.n[a] += 1
    t = state.clock[ROUND] + 1
    state.clock[ROUND] = t
    state.last[a] = t
    if t == next_stop(record):
        note(record, state.n, t)


@lean_kernel
def play_coins(
    law: Law, state: ArmState, shapes: Shapes, record: RoundRecord, T: int, budget: int
) -> int:
    """Play rewards in [0, 1]; ``total`` counts successes. Return what is left of the budget."""
    all_shapes(shapes, state.n, state.total)
    words = law.words
    k = min(budget, T - state.clock[ROUND])
    for _ in range(k):
        a = largest(words, shapes)
        state.total[a] += toss(words, draw_reward(law, a, state.n[a]))
        count(state, record, a)
        reshape(shapes, a, float(state.total[a]), float(state.n[a] - state.total[a]))
    return int(budget - k)


@lean_kernel
def play_normals(
    law: Law, state: ArmState, record: RoundRecord, R: float, T: int, budget: int
) -> int:
    """Play rewards whose noise is taken for Gaussian. Return what is left of the budget."""
    k = min(budget, T - state.clock[ROUND])
    for _ in range(k):
        a = draw_normal(law.words, state.n, state.total, R)
        state.total[a] = play_one(law, a, state.n[a], state.total[a])
        count(state, record, a)
    return int(budget - k)


@lean_kernel
def batch_coins(
    law: Law, states: ArmState, shapes: Shapes, record: RoundRecord, T: int, budget: int
) -> bool:
    """Play all replications in turn; say whether all have reached T."""
    for r in range(states.clock.shape[0]):
        if states.clock[r, ROUND] < T and budget > 0:
            budget = play_coins(
                law_of(law, r), state_of(states, r), shapes, record_of(record, r), T, budget
            )
    return bool(states.clock[-1, ROUND] == T)


@lean_kernel
def batch_normals(
    law: Law, states: ArmState, record: RoundRecord, R: float, T: int, budget: int
) -> bool:
    """Play all replications in turn; say whether all have reached T."""
    for r in range(states.clock.shape[0]):
        if states.clock[r, ROUND] < T and budget > 0:
            budget = play_normals(
                law_of(law, r), state_of(states, r), record_of(record, r), R, T, budget
            )
    return bool(states.clock[-1, ROUND] == T)
