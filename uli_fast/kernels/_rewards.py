"""The one way in which kernels draw rewards.

``total_after(law, a, n, k, total)`` is the reward sum of arm ``a`` after ``k``
more pulls, ``n`` pulls having summed to ``total``. It is a new total rather
than an increment so that deterministic rewards stay n * mean (accumulated
rounding moves the last play of lil'UCB by hundreds of rounds) and a table's
total is its prefix sum, the same to the bit however the pulls are grouped.

``play_one(law, a, n, total)`` is the same for a single pull.

Some blocks of Bernoulli rewards are safe only while they hold few failures.
``play_block`` draws the sum of such a block first. If it holds too many, the sum
is kept in an urn and its rewards are revealed one by one by ``play_one``, so it
gives the plays made, k or (seldom) 1, and the sum after them.

Rewards are on the unit scale: a problem has mapped [low, high] to [0, 1].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from uli_fast._typing import F64, I64
from uli_fast.kernels._jit import by_type, kernel

DETERMINISTIC, TABLE, BETA, GAUSSIAN = 0, 1, 2, 3

# Generator.binomial is validated to 1e15 trials; larger draws are split here.
LARGEST_DRAW = 10**13

# A block of Gaussian rewards is certified by a maximal inequality that fails
# with this probability per arm and block; log(2 / FAILURE) enters its radius.
BLOCK_FAILURE = 1e-18
_LOG_BLOCK_FAILURE = float(np.log(2.0 / BLOCK_FAILURE))


class BernoulliLaw(NamedTuple):
    """Rewards 0 or 1, drawn one by one; sums are int64, exact to 10**18."""

    mu: F64  # (K,) success probabilities
    rng: np.random.Generator


class BernoulliBlocks(NamedTuple):
    """Rewards 0 or 1, drawn in blocks where a kernel allows it."""

    mu: F64  # (K,) success probabilities
    rng: np.random.Generator
    caution: float  # 1; smaller values refuse blocks more often, with the same law
    urn: I64  # (2, K) pulls and successes of a refused block, revealed one by one


class RealLaw(NamedTuple):
    """Real rewards; sums are float64."""

    kind: int
    mu: F64  # (K,) means
    scale: F64  # (2, K): Beta parameters; row 0 the standard deviation if Gaussian
    prefix: F64  # (K, columns + 1): prefix sums of a table
    rng: np.random.Generator


Law = BernoulliLaw | BernoulliBlocks | RealLaw


def total_after(law: Law, a: int, n: int, k: int, total: Any) -> Any:
    """Return the reward sum of arm a after k more pulls (compiled code only)."""
    raise TypeError("total_after is called from compiled kernels only")


@by_type(total_after)
def _total_after(law: Any, a: Any, n: Any, k: Any, total: Any) -> Callable[..., Any]:
    return _real if law.instance_class is RealLaw else _bernoulli


def _bernoulli(law: Any, a: Any, n: Any, k: Any, total: Any) -> Any:
    while k > LARGEST_DRAW:
        total += law.rng.binomial(LARGEST_DRAW, law.mu[a])
        k -= LARGEST_DRAW
    return total + law.rng.binomial(k, law.mu[a])


def _real(law: Any, a: Any, n: Any, k: Any, total: Any) -> Any:
    if law.kind == DETERMINISTIC:
        return (n + k) * law.mu[a]
    if law.kind == TABLE:  # beyond the table the facade raises after the chunk
        return law.prefix[a, min(n + k, law.prefix.shape[1] - 1)]
    if law.kind == GAUSSIAN:
        noise = law.scale[0, a] * np.sqrt(float(k)) * law.rng.standard_normal()
        return total + (k * law.mu[a] + noise)
    for _ in range(k):
        total += law.rng.beta(law.scale[0, a], law.scale[1, a])
    return total


def play_block(law: Law, a: int, n: int, k: int, total: Any) -> Any:
    """Return the plays made, k at the most, and the reward sum after them (compiled only)."""
    raise TypeError("play_block is called from compiled kernels only")


@by_type(play_block)
def _play_block(law: Any, a: Any, n: Any, k: Any, total: Any) -> Callable[..., Any]:
    if law.instance_class is BernoulliBlocks:
        return _bernoulli_block
    return lambda law, a, n, k, total: (k, total_after(law, a, n, k, total))


def _bernoulli_block(law: Any, a: Any, n: Any, k: Any, total: Any) -> Any:
    """Draw the sum of k rewards; a sum with too many failures goes into the urn."""
    if law.urn[0, a] == 0:
        successes = total_after(law, a, n, k, 0)
        if k - successes <= allowed_failures(law.mu[a], law.caution, k):
            return k, total + successes
        law.urn[0, a], law.urn[1, a] = k, successes
    return 1, play_one(law, a, n, total)


def play_one(law: Law, a: int, n: int, total: Any) -> Any:
    """Return the reward sum of arm a after one more pull (compiled code only)."""
    raise TypeError("play_one is called from compiled kernels only")


@by_type(play_one)
def _play_one(law: Any, a: Any, n: Any, total: Any) -> Callable[..., Any]:
    if law.instance_class is BernoulliLaw:
        return lambda law, a, n, total: total + np.int64(law.rng.random() < law.mu[a])
    if law.instance_class is BernoulliBlocks:
        return _revealed_one
    return lambda law, a, n, total: total_after(law, a, n, 1, total)


def _revealed_one(law: Any, a: Any, n: Any, total: Any) -> Any:
    """Draw one reward, from the urn while it holds any.

    Given their sum the rewards of a block are a random arrangement, so revealing
    them as draws without replacement is exact in law; no sum is thrown away.
    """
    pulls = law.urn[0, a]
    if pulls == 0:
        return total + np.int64(law.rng.random() < law.mu[a])
    won = np.int64(law.rng.random() * pulls < law.urn[1, a])
    law.urn[0, a] = pulls - 1
    law.urn[1, a] -= won
    return total + won


@kernel
def likely_excess(variance: float, k: int, caution: float) -> float:
    """Bound by how much a sum of k Bernoulli rewards exceeds its mean, nearly always.

    By Bernstein's inequality it is more with probability at most exp(-5) / k^2 (at
    caution 1), so that revealing refused blocks one by one costs next to nothing.
    """
    log_term = caution * (2.0 * np.log(2.0) * math.frexp(k)[1] + 5.0)  # >= 2 log k + 5
    third = log_term / 3.0
    return float(third + np.sqrt(third * third + 2.0 * variance * log_term))


@kernel
def allowed_failures(p: float, caution: float, k: int) -> int:
    """Return the failures that a block of k rewards with mean p may hold."""
    expected = (1.0 - p) * k
    return min(k, int(expected + likely_excess(p * expected, k, caution)))


def is_gaussian(law: Law) -> bool:
    """Say whether rewards are unbounded, so that blocks need a certificate."""
    raise TypeError("is_gaussian is called from compiled kernels only")


@by_type(is_gaussian)
def _is_gaussian(law: Any) -> Callable[..., bool]:
    if law.instance_class is RealLaw:
        return lambda law: law.kind == GAUSSIAN
    return lambda law: False


def swing(law: Law, a: int, k: int) -> float:
    """Bound the noise of every partial sum of k Gaussian rewards of arm a."""
    raise TypeError("swing is called from compiled kernels only")


@by_type(swing)
def _swing(law: Any, a: Any, k: Any) -> Callable[..., float]:
    # max_i |W_i| < x fails with probability at most 2 exp(-x^2 / (2 k sigma^2)).
    if law.instance_class is RealLaw:
        return lambda law, a, k: law.scale[0, a] * np.sqrt(2.0 * k * _LOG_BLOCK_FAILURE)
    return lambda law, a, k: 0.0


def mean_floor(law: Law, a: int, n: int, k: int, total: Any) -> float:
    """Bound from below the sample mean of arm a during its next k pulls."""
    raise TypeError("mean_floor is called from compiled kernels only")


@by_type(mean_floor)
def _mean_floor(law: Any, a: Any, n: Any, k: Any, total: Any) -> Callable[..., float]:
    if law.instance_class is RealLaw:
        return _real_mean_floor
    # lowest when all failures that play_block lets pass come first
    return lambda law, a, n, k, total: total / (n + allowed_failures(law.mu[a], law.caution, k))


def _real_mean_floor(law: Any, a: Any, n: Any, k: Any, total: Any) -> float:
    if law.kind == DETERMINISTIC:
        return float(law.mu[a])
    if law.kind == GAUSSIAN:  # without noise the mean moves steadily to its last value
        drift = min(total / n, (total + k * law.mu[a]) / (n + k))
        return float(drift - swing(law, a, k) / n)
    return float(total / (n + k))
