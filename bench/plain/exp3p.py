"""Exp3.P with exponentials, with a polynomial, and side by side in NumPy."""

from __future__ import annotations

import math

import numpy as np

from bench.plain.jit import plain
from bench.plain.stream import opened, uniform

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
def exp3p(p, T, delta, words):
    """Exp3.P: probabilities by SIMD, a search without branches, then one exp per arm."""
    K, s = p.shape[0], opened(words)
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
        u, s = uniform(s)
        cum, arm = 0.0, -1
        for a in range(K):
            arm += u >= cum
            cum += probability[a]
        n[arm] += 1
        u, s = uniform(s)
        loss = u >= p[arm]
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
def exp3p_polynomial(p, T, delta, words):
    """Exp3.P whose bonuses, at most 2 eta, grow weights by a polynomial: SIMD over arms."""
    K, s = p.shape[0], opened(words)
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
        u, s = uniform(s)
        arm, cum = 0, probability[0]
        while u >= cum and arm < K - 1:
            arm += 1
            cum += probability[arm]
        n[arm] += 1
        u, s = uniform(s)
        if u >= p[arm]:
            old = w[arm]
            w[arm] = old * math.exp(-eta / probability[arm])
            W += w[arm] - old
        if t % RESCALED == 0:
            W *= rescale(w, W)
    return n


def exp3p_side_by_side(p, T, delta, rng, M):
    """Exp3.P in NumPy, M replications at once: arm after arm, so that sums are SIMD."""
    K, each = p.size, np.arange(M)
    gamma, eta = rates(K, T, delta)
    n = np.zeros((K, M), np.int64)
    w, gain = np.ones((K, M)), np.empty((K, M))
    n_at, gain_at = n.ravel(), gain.ravel()
    for t in range(1, T + 1):
        probability = w * ((1.0 - gamma) / w.sum(axis=0))
        probability += gamma / K
        below = probability.cumsum(axis=0) <= rng.random(M)
        arm = np.minimum(below.sum(axis=0), K - 1)
        at = arm * M + each
        n_at[at] += 1
        loss = rng.random(M) >= p[arm]
        np.divide(2.0 * eta * eta, probability, out=gain)
        gain_at[at] -= eta * loss / probability.ravel()[at]
        w *= np.exp(gain, out=gain)
        if t % RESCALED == 0:
            w /= w.max(axis=0)
    return n.T
