"""Thompson sampling: draw a mean for every arm from its posterior, play the largest.

Thompson (1933); Agrawal and Goyal (2012), "Analysis of Thompson sampling for the multi-armed
bandit problem". Coins: theta_a ~ Beta(1 + S_a, 1 + N_a - S_a), the posterior of a uniform prior;
a reward strictly between 0 and 1 counts as a success with itself as probability (their
Algorithm 2). Gaussians: theta_a ~ N(mean_a, R^2 / N_a), the posterior of a flat prior, after one
play each. Decisions and rewards are drawn from the replication's one generator.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from uli_fast._typing import F64, I64, Total
from uli_fast.kernels._jit import kernel, step
from uli_fast.kernels.arms.state import ROUND, ArmState, RoundRecord, next_stop, note
from uli_fast.kernels.rewards.laws import Law, draw_reward, play_one


class Shapes(NamedTuple):
    """Of the two gamma variables whose ratio is the odds of a Beta: successes, failures."""

    d: F64  # (2, K) shape - 1/3
    c: F64  # (2, K) 1 / sqrt(9 d)


@step
def gamma(rng: Any, d: float, c: float) -> float:
    """Draw a gamma variable of shape d + 1/3 >= 1 (Marsaglia and Tsang, 2000)."""
    while True:
        x = rng.standard_normal()
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            u, square = rng.random(), x * x
            if u < 1.0 - 0.0331 * square * square:
                return float(d * v)
            if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
                return float(d * v)


@step
def reshape(shapes: Shapes, a: int, wins: float, losses: float) -> None:
    """Set the posterior Beta(1 + wins, 1 + losses) of arm a."""
    for i, plays in enumerate((wins, losses)):
        shapes.d[i, a] = plays + 2.0 / 3.0
        shapes.c[i, a] = 1.0 / math.sqrt(9.0 * shapes.d[i, a])


@kernel
def all_shapes(n: I64, wins: Total) -> Shapes:
    """Return the posteriors of all arms."""
    shapes = Shapes(np.empty((2, n.shape[0])), np.empty((2, n.shape[0])))
    for a in range(n.shape[0]):
        reshape(shapes, a, float(wins[a]), float(n[a] - wins[a]))
    return shapes


@step
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
    return largest(rng, all_shapes(n, wins))


@kernel
def draw_normal(rng: Any, n: I64, total: Total, R: float) -> int:
    """Draw every arm's mean and return the arm with the largest; unplayed arms come first."""
    arm, best = 0, -np.inf
    for a in range(n.shape[0]):
        if n[a] == 0:
            return a
        theta = (total[a] + R * np.sqrt(float(n[a])) * rng.standard_normal()) / n[a]
        if theta > best:
            arm, best = a, theta
    return arm


@step
def toss(rng: Any, reward: float) -> bool:
    """Return whether a reward in [0, 1] counts as a success."""
    if 0.0 < reward < 1.0:
        return bool(rng.random() < reward)
    return reward >= 1.0


@kernel
def as_coin(rng: Any, reward: float) -> bool:
    """Return whether a reward in [0, 1] counts as a success (the live step)."""
    return toss(rng, reward)


@step
def count(state: ArmState, record: RoundRecord, a: int) -> None:
    """Count a play of arm a and record the round if it is a chosen one."""
    state.n[a] += 1
    t = state.clock[ROUND] + 1
    state.clock[ROUND] = t
    state.last[a] = t
    if t == next_stop(record):
        note(record, state.n, t)


@kernel
def play_coins(law: Law, state: ArmState, record: RoundRecord, T: int, budget: int) -> bool:
    """Play rewards in [0, 1]; ``total`` counts successes. Say whether T is reached."""
    shapes, rng = all_shapes(state.n, state.total), law.rng
    for _ in range(min(budget, T - state.clock[ROUND])):
        a = largest(rng, shapes)
        state.total[a] += toss(rng, draw_reward(law, a, state.n[a]))
        count(state, record, a)
        reshape(shapes, a, float(state.total[a]), float(state.n[a] - state.total[a]))
    return bool(state.clock[ROUND] == T)


@kernel
def play_normals(
    law: Law, state: ArmState, record: RoundRecord, R: float, T: int, budget: int
) -> bool:
    """Play rewards whose noise is taken for Gaussian. Say whether T is reached."""
    for _ in range(min(budget, T - state.clock[ROUND])):
        a = draw_normal(law.rng, state.n, state.total, R)
        state.total[a] = play_one(law, a, state.n[a], state.total[a])
        count(state, record, a)
    return bool(state.clock[ROUND] == T)
