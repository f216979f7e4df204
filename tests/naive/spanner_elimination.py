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
