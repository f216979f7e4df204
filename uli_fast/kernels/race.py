"""Races on common instances: paired betting on "candidate j beats candidate a".

All candidates still in the race are scored on the same instances, so their scores may depend on
each other in any way; only the mean of a difference x_j - x_a given the past is used (proof in
docs/proofs_race.md). N = 0: instances are draws from a population. N > 0: they are a list of N,
drawn without replacement. What is left of the list then has another mean: if j is no better than
a on the whole list, that of x_j - x_a on the rest is at most -S / (N - n), S the sum so far.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from uli_fast._typing import B1, F64, I64
from uli_fast.formulas.betting_elimination import next_look, sharpest_variance
from uli_fast.formulas.mixture import LOG_2, log_add, log_mix, outer_boundary
from uli_fast.kernels._jit import kernel
from uli_fast.kernels.betting_elimination import lead

# Bets u_k = 2^(-k/2); bet k takes part once 0.01 / u_k^2 instances have been seen: before that it
# could win nothing. The mixture of the second half takes care of smaller ones.
N_BETS = 40
BETS = 2.0 ** (-0.5 * np.arange(N_BETS))
ENTRY = np.array([2**k // 100 for k in range(N_BETS)], np.int64)
WEIGHTS = (np.arange(N_BETS) + 8.0) ** -1.5
LOG_WEIGHTS = np.log(WEIGHTS / WEIGHTS.sum())
CAP = 0.99  # of what may be lost at once
RHO = sharpest_variance(1.0)  # differences have variance proxy 1
# Of sums of n scores: n 2^-53 times n for each one, and how far apart they are called different.
LAST_DIGIT, ROUNDING = 2.0**-52, 1e-9


class RaceState(NamedTuple):
    """What K candidates have shown."""

    B: F64  # (K, K, N_BETS) log of what bet k on "j beats a" has grown to, at [j, a, k]
    lo: F64  # (K,) sums of scores in [0, 1], missing ones as 0
    hi: F64  # (K,) and as 1
    active: B1  # (K,) still in the race
    v: F64  # (1,) variance proxy of the second half
    n: I64  # (1,) instances seen


@kernel
def new_race(K: int) -> RaceState:
    """Return a race before its first instance."""
    return RaceState(
        np.zeros((K, K, N_BETS)),
        np.zeros(K),
        np.zeros(K),
        np.ones(K, np.bool_),
        np.zeros(1),
        np.zeros(1, np.int64),
    )


@kernel
def highest_mean(S: float, n: int, N: int) -> float:
    """Bound the mean of the next difference, if the first is no better than the second."""
    return 0.0 if N == 0 else min(1.0, max(-1.0, -S / (N - n)))


@kernel
def scale(n: int, N: int) -> float:
    """Return by how much sums are multiplied in the second half; n < N for a list."""
    return 1.0 if N == 0 else N / (N - n)


@kernel
def variance(n: int, N: int) -> float:
    """Return what instance n adds to the variance proxy: (S - n gap) N / (N - n) moves so far."""
    if N == 0:
        return 1.0
    return 0.0 if n == N else (N / (N - n)) ** 2  # after the last one sums are exact


@kernel
def bet(B: F64, d: float, c: float, n_bets: int) -> None:
    """Let bets grow by 1 + u (d - c), where the mean of d is at most c if they are to be lost."""
    if d == c:
        return
    cap = CAP / (1.0 + max(c, 0.0))
    for k in range(n_bets):
        B[k] += math.log1p(min(BETS[k], cap) * (d - c))


@kernel
def feed(state: RaceState, lo: F64, hi: F64, N: int) -> None:
    """Take in scores of instances in order, one row each; those of dropped ones are not read."""
    K = state.lo.size
    for i in range(lo.shape[0]):
        n = state.n[0]
        n_bets = np.searchsorted(ENTRY, n, side="right")
        for j in range(K):
            for a in range(K):
                if a != j and state.active[a] and state.active[j]:
                    c = highest_mean(state.lo[j] - state.hi[a], n, N)
                    bet(state.B[j, a], lo[i, j] - hi[i, a], c, n_bets)
        for a in range(K):
            if state.active[a]:
                state.lo[a] += lo[i, a]
                state.hi[a] += hi[i, a]
        state.n[0] = n + 1
        state.v[0] += variance(n + 1, N)


@kernel
def log_wealth(state: RaceState, j: int, a: int, N: int) -> float:
    """Return the log of the wealth of "j beats a": half in the bets, half in the mixture."""
    total = -math.inf
    for k in range(N_BETS):
        total = log_add(total, LOG_WEIGHTS[k] + state.B[j, a, k])
    n = state.n[0]
    if n != N:
        D = scale(n, N) * (state.lo[j] - state.hi[a])
        total = log_add(total, log_mix(D, state.v[0], RHO))
    return total - LOG_2


@kernel
def tied(n: int) -> float:
    """Return how far apart sums of n scores may be and still count as equal."""
    return n * max(ROUNDING, n * LAST_DIGIT)


@kernel
def look(state: RaceState, level: float, N: int) -> int:
    """Drop those that the leader beats: by betting, or because the rest of the list cannot help."""
    j, n = lead(state.lo, state.active), state.n[0]
    for a in range(state.lo.size):
        if a != j and state.active[a]:
            ahead = state.lo[j] - state.hi[a]
            settled = N > 0 and ahead > (N - n) + tied(n)
            if settled or log_wealth(state, j, a, N) >= level:
                state.active[a] = False
    return j


@kernel
def gap_bound(state: RaceState, level: float, N: int) -> float:
    """Bound the gap of everybody left at this look, on the event that the best is left."""
    worst, n, K = 0.0, state.n[0], state.lo.size
    left = 0
    for a in range(K):
        left += state.active[a]
        for j in range(K):
            if a != j and state.active[a] and state.active[j]:
                worst = max(worst, state.hi[j] - state.lo[a])
    if left == 1:
        return 0.0
    certain = 1.0 if N == 0 else min(1.0, (worst + (N - n)) / N + N * LAST_DIGIT)
    if n == N:
        return certain
    c = outer_boundary(state.v[0], level + LOG_2, RHO) / scale(n, N)
    return float(min(certain, (worst + c) / n))


@kernel
def envelope(n: int, v: float, level: float, N: int) -> float:
    """Return F = 2 c(n) / n after the look at n: the gap of survivors, whatever their scores."""
    if n == 0:
        return 1.0
    if n == N:
        return tied(N) / N + N * LAST_DIGIT
    c = outer_boundary(v, level + LOG_2, RHO) / scale(n, N)
    return min(1.0, 2.0 * c / n)


@kernel
def settle(scores: F64, N: int, batch: int, level: float, eps: float, dropped: I64) -> RaceState:
    """Run a race on a table of scores, a row per instance; no score is missing.

    ``dropped`` gets the instances after which each candidate was dropped, 0 for survivors.
    """
    state, most, bound = new_race(scores.shape[1]), scores.shape[0], 1.0
    while state.active.sum() > 1 and state.n[0] < most and bound > eps:
        n = state.n[0]
        rows = scores[n : min(most, max(n + batch, next_look(n)))]
        feed(state, rows, rows, N)
        look(state, level, N)
        if eps > 0.0:
            bound = min(bound, gap_bound(state, level, N))
        for a in range(dropped.size):
            if not state.active[a] and dropped[a] == 0:
                dropped[a] = state.n[0]
    return state
