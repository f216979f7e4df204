"""Blocks: which rewards may be drawn as one sum, exactly in law.

A block is a number of pulls during which no decision can change. What decides
that is a bound on the partial sums:

- rewards in [0, 1] add between 0 and 1 each (tables, deterministic rewards);
- of Bernoulli rewards the sums are drawn first, and what an arrangement of them can
  do is checked then. Sums that allow too much are kept in an urn and their rewards are
  revealed one by one, as draws without replacement: given their sum they are a
  random arrangement, so this is exact, and no sum is thrown away (kernels/rewards/above_line.py
  does better for a single arm);
- Gaussian rewards are unbounded: a maximal inequality certifies a block, and its
  failure probability is added up in ArmState.tv.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from uli_fast._typing import B1, Total
from uli_fast.kernels._jit import lean_by_type, lean_kernel, lean_step
from uli_fast.kernels.rewards.laws import (
    DETERMINISTIC,
    GAUSSIAN,
    BernoulliBlocks,
    Law,
    RealLaw,
    total_after,
)

# A block of sweeps pays off from this length on; of coins, which cost as much as a binomial draw
# if there are some twenty of them and has to be watched besides, from that.
SHORTEST_SWEEPS, SHORTEST_TOSSES = 4, 40

# A block of Gaussian rewards is certified by a maximal inequality that fails
# with this probability per arm and block; log(2 / FAILURE) enters its radius.
BLOCK_FAILURE = 1e-18
_LOG_BLOCK_FAILURE = float(np.log(2.0 / BLOCK_FAILURE))


@lean_kernel
def likely_excess(variance: float, k: int, caution: float) -> float:
    """Bound by how much a sum of k Bernoulli rewards exceeds its mean, nearly always.

    By Bernstein's inequality it is more with probability at most exp(-5) / k^2 (at
    caution 1), so that revealing refused blocks one by one costs next to nothing.
    """
    log_term = caution * (2.0 * np.log(2.0) * math.frexp(k)[1] + 5.0)  # >= 2 log k + 5
    third = log_term / 3.0
    return float(third + np.sqrt(third * third + 2.0 * variance * log_term))


@lean_kernel
def likely_sweeps(room: float, n: int, rate: float, caution: float) -> int:
    """Return how many sweeps let the spread grow by ``room`` at most, nearly always.

    The rate is the smaller of the largest chances of a success and of a failure.
    """
    longest = int(min(room / max(rate, 1e-3), n))
    excess = likely_excess(rate * (1.0 - rate) * longest, longest, caution)
    return max(int(min(room, n)), int(longest - excess / max(rate, 1e-3)))


def is_gaussian(law: Law) -> bool:
    """Say whether rewards are unbounded, so that blocks need a certificate."""
    raise TypeError("is_gaussian is called from compiled kernels only")


@lean_by_type(is_gaussian)
def _is_gaussian(law: Any) -> Callable[..., bool]:
    if law.instance_class is RealLaw:
        return lambda law: law.kind == GAUSSIAN
    return lambda law: False


def swing(law: Law, a: int, k: int) -> float:
    """Bound the noise of every partial sum of k Gaussian rewards of arm a."""
    raise TypeError("swing is called from compiled kernels only")


@lean_by_type(swing)
def _swing(law: Any, a: Any, k: Any) -> Callable[..., float]:
    # max_i |W_i| < x fails with probability at most 2 exp(-x^2 / (2 k sigma^2)).
    if law.instance_class is RealLaw:
        return lambda law, a, k: law.scale[0, a] * np.sqrt(2.0 * k * _LOG_BLOCK_FAILURE)
    return lambda law, a, k: 0.0


@lean_step
def mean_floor(law: RealLaw, a: int, n: int, k: int, total: float) -> float:
    """Bound from below the sample mean of arm a during its next k pulls."""
    if law.kind == DETERMINISTIC:
        return float(law.mu[a])
    if law.kind == GAUSSIAN:  # without noise the mean moves steadily to its last value
        drift = min(total / n, (total + k * law.mu[a]) / (n + k))
        return float(drift - swing(law, a, k) / n)
    return float(total / (n + k))


def shortest_sweeps(law: Law) -> int:
    """Return from how many sweeps on a block pays off."""
    raise TypeError("shortest_sweeps is called from compiled kernels only")


@lean_by_type(shortest_sweeps)
def _shortest_sweeps(law: Any) -> Callable[..., int]:
    coins = law.instance_class is not RealLaw
    return (lambda law: SHORTEST_TOSSES) if coins else (lambda law: SHORTEST_SWEEPS)


def plan_sweeps(law: Law, active: B1, n: int, room: float) -> int:
    """Return the sweeps to draw at once while the spread may grow by ``room``."""
    raise TypeError("plan_sweeps is called from compiled kernels only")


def draw_sweeps(law: Law, active: B1, n: int, total: Total, k: int, room: float) -> bool:
    """Add k sweeps to the sums, unless they might eliminate somebody; say whether done."""
    raise TypeError("draw_sweeps is called from compiled kernels only")


@lean_by_type(plan_sweeps)
def _plan_sweeps(law: Any, active: Any, n: Any, room: Any) -> Callable[..., int]:
    # With rewards in [0, 1] the spread grows by at most 1 a sweep.
    return _plan_bernoulli if law.instance_class is BernoulliBlocks else _plan_real


@lean_by_type(draw_sweeps)
def _draw_sweeps(
    law: Any, active: Any, n: Any, total: Any, k: Any, room: Any
) -> Callable[..., bool]:
    return _draw_bernoulli if law.instance_class is BernoulliBlocks else _draw_real


def _plan_real(law: Any, active: Any, n: Any, room: Any) -> int:
    return int(min(room, n))


def _draw_real(law: Any, active: Any, n: Any, total: Any, k: Any, room: Any) -> bool:
    for a in range(active.shape[0]):
        if active[a]:
            total[a] = total_after(law, a, n, k, total[a])
    return True


def _plan_bernoulli(law: Any, active: Any, n: Any, room: Any) -> int:
    """Plan for the growth that _draw_bernoulli is going to see, nearly always."""
    p, q = 0.0, 0.0  # largest chances of a success and of a failure
    for a in range(active.shape[0]):
        if active[a]:
            if law.urn[0, a] > 0 or room < SHORTEST_SWEEPS:
                return 0
            p, q = max(p, law.mu[a]), max(q, 1.0 - law.mu[a])
    return likely_sweeps(room, n, min(p, q), law.caution)


def _draw_bernoulli(law: Any, active: Any, n: Any, total: Any, k: Any, room: Any) -> bool:
    """Draw each arm's successes; refused sweeps stay in the urn, revealed one by one.

    With s successes in k pulls an arm gains at most min(i, s) in i of them and at
    least i - (k - s): a spread grows by at most min(largest s, k - smallest s).
    """
    pulls, wins = law.urn[0], law.urn[1]
    most, least = 0, k
    for a in range(active.shape[0]):
        if active[a]:
            wins[a] = total_after(law, a, n, k, 0)
            most, least = max(most, wins[a]), min(least, wins[a])
    accepted = bool(min(most, k - least) <= room)
    for a in range(active.shape[0]):
        if active[a]:
            if accepted:
                total[a] += wins[a]
                wins[a] = 0
            else:
                pulls[a] = k
    return accepted
