"""Linear arms: designs, PE-linear, LinUCB and GeometricHedge.P."""

from __future__ import annotations

import math

import numpy as np

from bench.plain.jit import plain
from bench.plain.stream import keep, opened, uniform


def frank_wolfe(arms: np.ndarray) -> np.ndarray:
    """Return a design with leverages up to 2d, the straightforward way."""
    K, d = arms.shape
    weights = np.full(K, 1.0 / K)
    while True:
        inverse = np.linalg.inv(arms.T @ (weights[:, None] * arms))
        leverages = ((arms @ inverse) * arms).sum(axis=1)
        a = int(leverages.argmax())
        if leverages[a] <= 2.0 * d:
            return weights
        step = (leverages[a] / d - 1.0) / (leverages[a] - 1.0)
        weights *= 1.0 - step
        weights[a] += step


def in_its_span(arms: np.ndarray) -> np.ndarray:
    """Return Frank and Wolfe's design, in coordinates of the span of the arms."""
    _, sizes, axes = np.linalg.svd(arms, full_matrices=False)
    return frank_wolfe(arms @ axes[sizes > 1e-9 * sizes[0]].T)


@plain
def play_quotas(p, quotas, rounds, words):
    """Play each quota in a row until no rounds are left; return the pulls and the sums."""
    n, total, s = np.zeros_like(quotas), np.zeros_like(quotas), opened(words)
    for a in range(p.shape[0]):
        n[a] = min(quotas[a], rounds)
        rounds -= n[a]
        wins = 0
        for _ in range(n[a]):
            u, s = uniform(s)
            wins += u < p[a]
        total[a] = wins
    keep(words, s)
    return n, total


def linear_elimination(x, p, T, delta, words, design=in_its_span):
    """PE-linear: NumPy between phases, nothing but draws within.

    x: (K, d) arms of norm at most 1; a reward is X - 1/2 for Bernoulli X, its noise
    1/2-subgaussian.
    """
    K, d = x.shape
    n = np.zeros(K, np.int64)
    active = np.arange(K)
    left, phase, log_log = T, 1, math.log(math.log(max(d, math.e)))
    while left > 0 and active.size > 1:
        log_term = math.log(4.0 * K / delta) + 2.0 * math.log(phase)
        size = 4.0 * d * 4.0**phase * max(0.25 * log_term, log_log + 4.0)
        quotas = np.zeros(K, np.int64)
        quotas[active] = np.ceil(design(x[active]) * size)
        pulls, wins = play_quotas(p, quotas, left, words)
        n += pulls
        left -= pulls.sum()
        if left > 0:
            arms, weight = x[active], np.sqrt(quotas[active])
            mean = wins[active] / np.maximum(quotas[active], 1) - 0.5
            theta = np.linalg.lstsq(weight[:, None] * arms, weight * mean, rcond=1e-9)[0]
            values = arms @ theta
            active = active[values >= values.max() - 2.0 ** (1 - phase)]
        phase += 1
    n[active[0]] += left
    return n


@plain
def lin_ucb(x, p, T, delta, words):
    """LinUCB with kept estimates and widths: one rank-one update a round, SIMD over arms.

    x: (K, d) arms of norm at most 1; a reward is X - 1/2 for Bernoulli X, its noise
    1/2-subgaussian.
    """
    (K, d), s = x.shape, opened(words)
    columns = np.ascontiguousarray(x.T)
    n = np.zeros(K, np.int64)
    inverse = np.eye(d)
    mean, square = np.zeros(K), np.zeros(K)  # <theta_hat, a> and |a|^2 in the norm of V^-1
    index, along, w = np.zeros(K), np.zeros(K), np.zeros(d)
    for i in range(d):
        for a in range(K):
            square[a] += columns[i, a] * columns[i, a]
    for t in range(1, T + 1):
        radius = 0.5 * math.sqrt(d * math.log1p(t / d) - 2.0 * math.log(delta)) + 1.0
        for a in range(K):
            index[a] = mean[a] + radius * math.sqrt(square[a])
        best = -np.inf
        for a in range(K):
            best = max(best, index[a])
        arm = 0
        while index[arm] != best:
            arm += 1
        n[arm] += 1
        u, s = uniform(s)
        reward = (u < p[arm]) - 0.5
        shrink = 1.0 / (1.0 + square[arm])
        surprise = (reward - mean[arm]) * shrink
        for i in range(d):
            w[i] = 0.0
            for j in range(d):
                w[i] += inverse[i, j] * columns[j, arm]
        along[:] = 0.0
        for i in range(d):
            for j in range(d):
                inverse[i, j] -= w[i] * w[j] * shrink
            for a in range(K):
                along[a] += columns[i, a] * w[i]
        for a in range(K):
            mean[a] += along[a] * surprise
            square[a] -= along[a] * along[a] * shrink
    return n


def geometric_hedge(x, nu, p, T, delta, rng):
    """GeometricHedge.P in NumPy, vectorised over arms; losses are 1/2 - X for Bernoulli X.

    x: (K, d) arms, whitened by the design nu. Inverting the d x d matrix is faster
    than solving for all arms, and arms side by side are faster than arms in rows.
    """
    K, d = x.shape
    columns = np.ascontiguousarray(x.T)
    rho = np.square(x).sum(axis=1).max() / d
    s = math.sqrt(math.log(10.0 * K / delta) / (d * T))
    eta, beta, gamma = s / 2.0, 1.1 * s, min(0.5, 1.5 * rho * d * s)
    explore = gamma * nu
    n = np.zeros(K, np.int64)
    lw = np.zeros(K)
    for _ in range(T):
        q = np.exp(lw - lw.max())
        probability = q * ((1.0 - gamma) / q.sum()) + explore
        arm = min(int(probability.cumsum().searchsorted(rng.random(), "right")), K - 1)
        loss = 0.5 - (rng.random() < p[arm])
        n[arm] += 1
        y = np.linalg.inv((columns * probability) @ x) @ columns
        v = (columns * y).sum(axis=0)
        lw += eta * (2.0 * beta * v - loss * (x[arm] @ y))
    return n
