"""Exp3.P with exponentials, with a polynomial, and side by side in NumPy."""

from __future__ import annotations

import math

import numpy as np

from bench.plain.jit import plain

# Weights are rescaled by a power of two each time this many rounds have passed.
RESCALED = 256


@plain
def rates(K, T, delta):
    """Return gamma and eta."""
    gamma = min(0.5, math.sqrt(K * math.log(10.0 * K / delta) / T))
    return gamma, gamma / K


@plain
def rescale(w, W):
    """Multiply weights of sum W by a power of two, and return it."""
    factor = 2.0 ** -math.floor(math.log2(W))
    for a in range(w.shape[0]):
        w[a] *= factor
    return factor


@plain
def exp3p(p, T, delta, rng):
    """Exp3.P: probabilities by SIMD, a search without branches, then one exp per arm."""
    K = p.shape[0]
    gamma, eta = rates(K, T, delta)
    n = np.zeros(K, np.int64)
    w = np.ones(K)
    probability = np.zeros(K)
    bonus = np.zeros(K)
    W = float(K)
    for t in range(1, T + 1):
        inverse = (1.0 - gamma) / W
        for a in range(K):
            probability[a] = w[a] * inverse + gamma / K
            bonus[a] = 2.0 * eta * eta / probability[a]
        u, cum, arm = rng.random(), 0.0, -1
        for a in range(K):
            arm += u >= cum
            cum += probability[a]
        n[arm] += 1
        loss = rng.random() >= p[arm]
        W = 0.0
        for a in range(K):
            new = w[a] * math.exp(bonus[a])
            w[a] = new
            W += new
        if loss:
            old = w[arm]
            w[arm] = old * math.exp(-eta / probability[arm])
            W += w[arm] - old
        if t % RESCALED == 0:
            W *= rescale(w, W)
    return n


@plain
def exp3p_polynomial(p, T, delta, rng):
    """Exp3.P whose bonuses, at most 2 eta, grow weights by a polynomial: SIMD over arms."""
    K = p.shape[0]
    gamma, eta = rates(K, T, delta)
    n = np.zeros(K, np.int64)
    w = np.ones(K)
    probability = np.zeros(K)
    W = float(K)
    for t in range(1, T + 1):
        inverse = (1.0 - gamma) / W
        for a in range(K):
            old = w[a]
            probability[a] = old * inverse + gamma / K
            y = 2.0 * eta * eta / probability[a]
            e = 1 / 2.0 + y * (1 / 6.0 + y * (1 / 24.0 + y * (1 / 120.0)))
            w[a] = old + old * (y * (1.0 + y * e))
        W = 0.0
        for a in range(K):
            W += w[a]
        u, arm, cum = rng.random(), 0, probability[0]
        while u >= cum and arm < K - 1:
            arm += 1
            cum += probability[arm]
        n[arm] += 1
        if rng.random() >= p[arm]:
            old = w[arm]
            w[arm] = old * math.exp(-eta / probability[arm])
            W += w[arm] - old
        if t % RESCALED == 0:
            W *= rescale(w, W)
    return n


def exp3p_side_by_side(p, T, delta, rng, M):
    """Exp3.P in NumPy, M replications at once."""
    K, each = p.size, np.arange(M)
    gamma, eta = rates(K, T, delta)
    n = np.zeros((M, K))
    w = np.ones((M, K))
    for _ in range(T):
        probability = w * ((1.0 - gamma) / w.sum(axis=1, keepdims=True)) + gamma / K
        below = probability.cumsum(axis=1) <= rng.random((M, 1))
        arm = np.minimum(below.sum(axis=1), K - 1)
        n[each, arm] += 1.0
        loss = rng.random(M) >= p[arm]
        gain = 2.0 * eta * eta / probability
        gain[each, arm] -= eta * loss / probability[each, arm]
        w *= np.exp(gain)
        w /= w.max(axis=1, keepdims=True)
    return n
