"""PE with the adaptive barycentric spanner on finitely many arms, straight from the page.

``literal`` drops the box once the last spanner has d arms, as the paper's pseudocode
does; that can lose the optimal arm.
"""

import math

import numpy as np


def spanner(active, T, C, d, tolerance=1e-9):
    """Return the columns chosen from the active arms, by determinants."""
    A = np.eye(d) / math.sqrt(T)
    placeholders = set(range(d))

    def furthest(i):
        others = np.delete(A, i, axis=1)
        values = [abs(np.linalg.det(np.column_stack([a, others]))) for a in active]
        return active[int(np.argmax(values))], max(values), abs(np.linalg.det(A))

    for i in range(d):
        s, value, _ = furthest(i)
        if value > tolerance * np.linalg.norm(np.linalg.inv(A)[i]) * abs(np.linalg.det(A)):
            A[:, i] = s
            placeholders.discard(i)
    i = 0
    while i < d:
        s, value, before = furthest(i)
        null = value <= tolerance * np.linalg.norm(np.linalg.inv(A)[i]) * before
        if not null and (value > C * (1 + 1e-9) * before or i in placeholders):
            A[:, i] = s
            placeholders.discard(i)
            i = 0
        else:
            i += 1
    return A[:, [j for j in range(d) if j not in placeholders]]


def play(arms, theta, phases, delta, C, rng, sigma=1.0, literal=False):
    """Play some phases; return the arms played in each, and whether the best was active."""
    d = arms.shape[1]
    best = int(np.argmax(arms @ theta))
    estimate, B = np.zeros(d), None
    history = []
    for m in range(1, phases + 1):
        T = 256 * C**4 * d**3 * 4**m * math.log(d**3 * 4**m / delta)
        feasible = np.ones(len(arms), dtype=bool)
        if B is not None and not (literal and B.shape[1] == d):
            inverse = np.linalg.pinv(B)
            feasible &= (np.abs(arms @ inverse.T) <= C * (1 + 1e-8)).all(axis=1)
            residual = arms.T - B @ (inverse @ arms.T)
            feasible &= np.linalg.norm(residual, axis=0) <= 1e-7
        values = arms @ estimate
        active = feasible & (values[feasible].max() - values <= 2.0 ** (1 - m))
        B = spanner(arms[active], T, C, d)
        n = math.ceil(T / d)
        means = B.T @ theta + sigma / math.sqrt(n) * rng.standard_normal(B.shape[1])
        V = np.eye(d) + n * B @ B.T
        estimate = np.linalg.solve(V, n * B @ means)
        history.append((B.T.copy(), bool(active[best])))
    return history


# The sharp schedule (docs/proofs_sets.md, Theorem B).


def soft_spanner(active, length, C):
    """Return columns: the first pass exchanges above 1, later ones above C."""
    d = active.shape[1]
    A, real = length * np.eye(d), np.zeros(d, bool)

    def look(i, limit):
        others = np.delete(A, i, axis=1)
        values = [np.linalg.det(np.insert(others, i, a, axis=1)) for a in active]
        best = int(np.argmax(np.abs(values)))
        if abs(values[best]) <= limit * abs(np.linalg.det(A)):
            return False
        A[:, i], real[i] = active[best], True
        return True

    for i in range(d):
        look(i, 1.0)
    i = clean = 0
    while clean < d:
        clean = 1 if look(i, C * (1 + 1e-9)) else clean + 1
        i = (i + 1) % d
    return A, real


def quantile(widths, L):
    """Return min over lambda of (sum phi(lambda D_i) + L) / lambda, by a fine grid."""
    if max(widths, default=0.0) == 0.0:
        return 0.0
    x = np.exp(np.linspace(-7.0, 3.5, 20_001)) / max(widths)
    total = sum(np.log(np.exp((x * D) ** 2 / 2) + 1 - np.exp(-x * D / 2)) for D in widths)
    return float(((total + L) / x).min())


def sharp_play(arms, phases, delta, C, R, means_of):
    """Play some phases; arms have norm at most 1, and so has theta.

    ``means_of(m, played, n)`` gives the mean rewards of n plays of each arm. Return of each phase
    the arms, n, what differences are known up to at its end, and which arms were active.
    """
    K, d = arms.shape
    active, history = np.ones(K, bool), []
    for m in range(1, phases + 1):
        eta, L = 0.6**m, math.log(m * (m + 1) / delta)
        length = 0.05 * eta / (2 * C * math.sqrt(d))
        B, real = soft_spanner(arms[active], length, C)
        coefficients = np.linalg.solve(B, arms.T).T
        low, high = coefficients[active].min(axis=0), coefficients[active].max(axis=0)
        D = high - low
        hidden = length * math.sqrt((D[~real] ** 2).sum())
        most = math.ceil((R * quantile([2 * C] * d, L) / (0.95 * eta)) ** 2)
        Q = quantile(D[real], L)
        n = most
        if real.any():
            n = max(1, math.ceil(0.05 * most), math.ceil((R * Q / (0.999 * eta - hidden)) ** 2))
        played, y = B[:, real].T, np.zeros(d)
        if real.any():
            y[real] = means_of(m, played, n)
        theta = np.linalg.solve(B.T, y)
        error = R * Q / math.sqrt(n) + hidden + 0.001 * eta
        history.append((played, n, error, active.copy()))
        within = ((coefficients >= low - 1e-8) & (coefficients <= high + 1e-8)).all(axis=1)
        values = arms @ theta
        active = within & (values >= values[within].max() - error)
    return history
