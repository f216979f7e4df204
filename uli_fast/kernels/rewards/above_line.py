"""Blocks of Bernoulli rewards that stay above a straight line, exactly in law.

After i of k rewards with s successes the height above the line is x + s - m i; a block
ends early where it is not positive. The sum S of the block is drawn first. Given S its
rewards are a random arrangement (law P), and what has to be decided is whether and where
that arrangement touches the line, mostly without arranging anything:

- Let Q be the random arrangement of D successes fewer and D failures more. An arrangement
  that touches first with a successes and b failures to come has P / Q = L, the product of
  the ratios of its draws. For the D below, L is at most ``ceiling`` at every place where
  the line can be touched (docs/errata.md has the proof), so P touches with probability
  at most ``ceiling``.
- A uniform variable beyond the ceiling therefore accepts the whole block. Else rewards are
  revealed by Q until they touch, which counts with probability L / ceiling: a first touch
  at a certain place then has exactly its probability under P. What is left of the block
  goes into the urn. An arrangement of Q that does not touch, or does not count, stands for
  the others of P, and the block is accepted.
"""

from __future__ import annotations

import math
from typing import Any

from uli_fast.kernels._jit import lean_kernel, lean_step
from uli_fast.kernels.draws.stream import uniform
from uli_fast.kernels.rewards.laws import play_one, total_after

LOG_TWO = math.log(2.0)


@lean_kernel
def tilt(k: int, wins: int, x: float, m: float) -> tuple[int, float]:
    """Return D and -log(ceiling) for a block with ``wins`` successes and 0 < m < 1.

    Without an end well above the line D is 0 and the ceiling 1: Q is P itself. The line
    must be within reach of the failures there are.
    """
    losses = k - wins
    room = (x - m * losses) + wins * (1.0 - m) - m  # the last height, less one failure
    if room < 0.0:
        return 0, 0.0
    D = int((1.0 + min(1.0, m / (1.0 - m))) * room) + 1
    z = x / (m * (losses + 0.5 * (D + 1)))
    return D, D * z * (1.0 + z * (0.5 + z / 3.0))  # at most -D log(1 - z)


@lean_step
def play_above(law: Any, a: int, n: int, k: int, x: float, m: float) -> Any:
    """Draw k rewards of arm a; return how many are played, and their successes.

    They are k, or as many as it takes to touch the line before the last one.
    """
    words = law.words
    wins = total_after(law, a, n, k, 0)
    losses = k - wins
    if m * losses < x:  # not even all failures at once reach the line
        return k, wins
    D, safety = 0, 0.0
    if m < 1.0:
        D, safety = tilt(k, wins, x, m)
    if D > 0:
        u = uniform(words)
        # 1 / (1 + z + z^2 / 2 + z^3 / 6) > exp(-z) spares most exponentials
        if u * (1.0 + safety * (1.0 + safety * (0.5 + safety / 6.0))) > 1.0 or u >= math.exp(
            -safety
        ):
            return k, wins
    left, lost = wins, losses  # successes and failures to come
    for i in range(1, k):
        if lost == 0:  # P has no failure left: nothing touches any more
            break
        if uniform(words) * (left + lost) < left - D:
            safety += math.log(left / (left - D))
            left -= 1
        else:
            safety += math.log(lost / (lost + D))
            lost -= 1
        if wins - left <= m * i - x:
            if D > 0 and math.log(uniform(words)) >= safety:
                break
            law.urn[0, a], law.urn[1, a] = left + lost, left
            return i, wins - left
    return k, wins


@lean_step
def doubt(p: float, caution: float, k: float) -> float:
    """Return 2 p (1 - p) log k, roughly: what keeps long blocks from being revealed.

    A block of k touches with probability about 1 / k and then costs k steps.
    """
    return 2.0 * p * (1.0 - p) * caution * (LOG_TWO * math.frexp(k)[1])


@lean_step
def longest_block(law: Any, a: int, n: int, x: float, drift: float) -> int:
    """Return how many plays, n at most, seldom touch a line that is x away.

    ``drift`` is what a play gains on the line on average. k is the smallest solution of
    (x + drift k)^2 = w k, where w / 2 is the doubt; there is none for a strong drift.
    """
    p = law.mu[a]
    if 2.0 * x * drift >= doubt(p, law.caution, float(n)):
        return n
    k = min(float(n), x * x)
    w = 2.0 * doubt(p, law.caution, k)
    if 4.0 * x * drift < w:
        k = min(k, 2.0 * x * x / (w - 2.0 * x * drift + math.sqrt(w * (w - 4.0 * x * drift))))
    return int(k)


@lean_step
def is_fresh(law: Any, a: int, n: int) -> bool:
    """Say whether the next rewards of arm a are independent draws."""
    return bool(law.urn[0, a] == 0 and n >= law.prefix.shape[1] - 1)


@lean_step
def walk_fresh(law: Any, a: int, k: int, low: float, high: float, m: float) -> tuple[int, int]:
    """Play independent rewards, k at most; return how many, and their successes.

    They end where the successes less m each are not between low and high.
    """
    words, p = law.words, law.mu[a]
    wins, i = 0, 0
    while i < k:
        wins += uniform(words) < p
        i += 1
        line = m * i
        if wins <= low + line or wins >= high + line:
            break
    return i, wins


@lean_step
def walk(law: Any, a: int, n: int, k: int, low: float, m: float) -> tuple[int, int]:
    """Play rewards that are known or in the urn, as ``walk_fresh`` does."""
    wins, i = 0, 0
    while i < k:
        wins = play_one(law, a, n + i, wins)
        i += 1
        if wins <= low + m * i:
            break
    return i, wins
