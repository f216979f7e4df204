"""The one way in which kernels draw rewards.

``total_after(law, a, n, k, total)`` is the reward sum of arm ``a`` after ``k``
more pulls, ``n`` pulls having summed to ``total``. It is a new total rather
than an increment so that deterministic rewards stay n * mean (accumulated
rounding moves the last play of lil'UCB by hundreds of rounds) and a table's
total is its prefix sum, the same to the bit however the pulls are grouped.

Rewards known beforehand (``prefix``) come first; beyond them a law draws its own.

``play_one(law, a, n, total)`` is the same for a single pull, ``play_each(law, a, n, k, total)``
for k of them one by one, ``draw_reward(law, a, n)`` the reward of one alone.
kernels/rewards/blocks.py says which pulls may be drawn at once.

Rewards are on the unit scale: a problem has mapped [low, high] to [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from uli_fast._typing import F64, I32, I64, U64
from uli_fast.kernels._jit import lean_by_type, lean_kernel
from uli_fast.kernels.draws.binomial import successes
from uli_fast.kernels.draws.coins import toss_one
from uli_fast.kernels.draws.gamma import beta
from uli_fast.kernels.draws.normal import normal
from uli_fast.kernels.draws.stream import uniform

DETERMINISTIC, TABLE, BETA, GAUSSIAN, UNIFORM = 0, 1, 2, 3, 4


class BernoulliLaw(NamedTuple):
    """Rewards 0 or 1, drawn one by one; sums are int64, exact to 10**18."""

    mu: F64  # (K,) success probabilities
    words: U64  # (4,) the stream


class BernoulliBlocks(NamedTuple):
    """Rewards 0 or 1, drawn in blocks where a kernel allows it; the first ones may be known."""

    mu: F64  # (K,) success probabilities
    words: U64  # (4,) the stream
    caution: float  # 1; smaller values refuse blocks more often, with the same law
    urn: I64  # (2, K) pulls and successes of a refused block, revealed one by one
    prefix: I32  # (K, columns + 1): prefix sums of the known rewards


class RealLaw(NamedTuple):
    """Real rewards; sums are float64."""

    kind: int
    mu: F64  # (K,) means
    # (2, K): Beta parameters; row 0 the standard deviation if Gaussian, half the
    # width if uniform
    scale: F64
    prefix: F64  # (K, columns + 1): prefix sums of the known rewards; a table has no others
    words: U64  # (4,) the stream


# Of a batch: words and urn have a first axis more, one row per replication.
Law = BernoulliLaw | BernoulliBlocks | RealLaw


def law_of(law: Any, r: int) -> Any:
    """Return the law of replication r of a batch (compiled code only)."""
    raise TypeError("law_of is called from compiled kernels only")


@lean_by_type(law_of)
def _law_of(law: Any, r: Any) -> Callable[..., Any]:
    if law.instance_class is RealLaw:
        return lambda law, r: RealLaw(law.kind, law.mu, law.scale, law.prefix, law.words[r])
    if law.instance_class is BernoulliBlocks:
        return lambda law, r: BernoulliBlocks(
            law.mu, law.words[r], law.caution, law.urn[r], law.prefix
        )
    return lambda law, r: BernoulliLaw(law.mu, law.words[r])


def total_after(law: Law, a: int, n: int, k: int, total: Any) -> Any:
    """Return the reward sum of arm a after k more pulls (compiled code only)."""
    raise TypeError("total_after is called from compiled kernels only")


@lean_by_type(total_after)
def _total_after(law: Any, a: Any, n: Any, k: Any, total: Any) -> Callable[..., Any]:
    if law.instance_class is RealLaw:
        return _real
    return _known_first if law.instance_class is BernoulliBlocks else _bernoulli


def _bernoulli(law: Any, a: Any, n: Any, k: Any, total: Any) -> Any:
    return total + successes(law.words, k, law.mu[a])


def _known_first(law: Any, a: Any, n: Any, k: Any, total: Any) -> Any:
    known = min(k, law.prefix.shape[1] - 1 - n)
    if known > 0:
        total += law.prefix[a, n + known] - law.prefix[a, n]
        k -= known
    return total + successes(law.words, k, law.mu[a])


def _real(law: Any, a: Any, n: Any, k: Any, total: Any) -> Any:
    if law.kind == DETERMINISTIC:
        return (n + k) * law.mu[a]
    known = min(k, law.prefix.shape[1] - 1 - n)
    if known > 0:
        total = law.prefix[a, n + known]
        k -= known
    if k == 0 or law.kind == TABLE:  # beyond the table the facade raises after the chunk
        return total
    if law.kind == GAUSSIAN:
        noise = law.scale[0, a] * np.sqrt(float(k)) * normal(law.words)
        return total + (k * law.mu[a] + noise)
    if law.kind == UNIFORM:
        for _ in range(k):
            total += law.mu[a] + law.scale[0, a] * (2.0 * uniform(law.words) - 1.0)
        return total
    for _ in range(k):
        total += beta(law.words, law.scale[0, a], law.scale[1, a])
    return total


def play_one(law: Law, a: int, n: int, total: Any) -> Any:
    """Return the reward sum of arm a after one more pull (compiled code only)."""
    raise TypeError("play_one is called from compiled kernels only")


@lean_by_type(play_one)
def _play_one(law: Any, a: Any, n: Any, total: Any) -> Callable[..., Any]:
    if law.instance_class is BernoulliLaw:
        return lambda law, a, n, total: total + np.int64(uniform(law.words) < law.mu[a])
    if law.instance_class is BernoulliBlocks:
        return _revealed_one
    return lambda law, a, n, total: total_after(law, a, n, 1, total)


def _revealed_one(law: Any, a: Any, n: Any, total: Any) -> Any:
    """Take the known reward; else draw one, from the urn while it holds any.

    Given their sum the rewards of a block are a random arrangement, so revealing
    them as draws without replacement is exact in law; no sum is thrown away. Of a refused
    block that goes beyond the known rewards the urn is left with those that were drawn.
    """
    pulls = law.urn[0, a]
    if n < law.prefix.shape[1] - 1:
        won = np.int64(law.prefix[a, n + 1] - law.prefix[a, n])
    elif pulls == 0:
        return total + np.int64(uniform(law.words) < law.mu[a])
    else:
        won = np.int64(uniform(law.words) * pulls < law.urn[1, a])
    if pulls > 0:
        law.urn[0, a] = pulls - 1
        law.urn[1, a] -= won
    return total + won


def play_each(law: Law, a: int, n: int, k: int, total: Any) -> Any:
    """Return the reward sum of arm a after k more pulls, each drawn (compiled code only)."""
    raise TypeError("play_each is called from compiled kernels only")


@lean_by_type(play_each)
def _play_each(law: Any, a: Any, n: Any, k: Any, total: Any) -> Callable[..., Any]:
    if law.instance_class is BernoulliLaw:
        return lambda law, a, n, k, total: total + toss_one(law.words, law.mu[a], k)
    return _each


def _each(law: Any, a: Any, n: Any, k: Any, total: Any) -> Any:
    for i in range(k):
        total = play_one(law, a, n + i, total)
    return total


def draw_reward(law: Law, a: int, n: int) -> float:
    """Return the reward of pull n + 1 of arm a (compiled code only)."""
    raise TypeError("draw_reward is called from compiled kernels only")


@lean_by_type(draw_reward)
def _draw_reward(law: Any, a: Any, n: Any) -> Callable[..., float]:
    if law.instance_class is RealLaw:
        return _real_reward
    return lambda law, a, n: float(play_one(law, a, n, 0))


def _real_reward(law: Any, a: Any, n: Any) -> float:
    if law.kind == DETERMINISTIC:
        return float(law.mu[a])
    if n < law.prefix.shape[1] - 1:
        return float(law.prefix[a, n + 1] - law.prefix[a, n])
    return float(total_after(law, a, n, 1, 0.0))


@lean_kernel
def draw_sum(law: Law, a: int, k: int) -> float:
    """Return the sum of k rewards of arm a, drawn at once where there is a way."""
    return float(total_after(law, a, 0, k, 0))


@lean_kernel
def sum_one_by_one(law: Law, a: int, k: int) -> float:
    """Return the sum of k rewards of arm a, each of them drawn."""
    total = 0.0
    for n in range(k):
        total += draw_reward(law, a, n)
    return total


@lean_kernel
def draw_rewards(law: Law, a: int, n: int, rewards: F64) -> None:
    """Fill ``rewards`` with those of pulls n + 1, n + 2, ... of arm a."""
    for i in range(rewards.shape[0]):
        rewards[i] = draw_reward(law, a, n + i)
