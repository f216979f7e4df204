"""PE-linear, the paper's and our own, straight from the page: slow, independent, round by round."""

import math

import numpy as np


def play(reward, arms, T, delta, design, R=1.0):
    """Play T rounds on arms of norm at most 1; reward(a) draws one, design(A) gives pi."""
    K = len(arms)
    d = max(1, np.linalg.matrix_rank(arms))
    log_log = math.log(math.log(max(d, math.e)))
    n, last, eliminated, sequence = [0] * K, [0] * K, [0] * K, []
    active = list(range(K))
    phase, t = 0, 0
    while t < T:
        phase += 1
        m = 4 * d * 4**phase * max(R * R * math.log(4 * K * phase**2 / delta), log_log + 4)
        pi = design(arms[active]) if len(active) > 1 else [1.0]
        V, total, complete = np.zeros((arms.shape[1],) * 2), np.zeros(arms.shape[1]), True
        for a, weight in zip(active, pi, strict=True):
            for _ in range(math.ceil(weight * m)):
                if t == T:
                    complete = False
                    break
                t += 1
                n[a] += 1
                last[a] = t
                sequence.append(a)
                total += arms[a] * reward(a)
                V += np.outer(arms[a], arms[a])
        if complete:
            values = arms[active] @ np.linalg.pinv(V, rcond=1e-10) @ total
            for a, value in zip(list(active), values, strict=True):
                if values.max() - value > 2.0 ** (1 - phase):
                    eliminated[a] = t
            active = [a for a in active if not eliminated[a]]
    return {"arms": sequence, "n": n, "last": last, "eliminated": eliminated}


def log_mixture(A, v, rho):
    """Return log W(A, v) for A >= 0: the half-normal mixture with precision rho."""
    x = A / math.sqrt(v + rho)
    log_phi = math.log1p(-0.5 * math.erfc(x / math.sqrt(2.0)))
    return math.log(2.0) - 0.5 * math.log(1.0 + v / rho) + x * x / 2.0 + log_phi


def crossing(v, level, rho):
    """Return c(v), where log W reaches the level, by bisection."""
    low, high = 0.0, 2.0 * math.sqrt((v + rho) * (2.0 * level + math.log(1.0 + v / rho)))
    for _ in range(200):
        middle = (low + high) / 2.0
        low, high = (middle, high) if log_mixture(middle, v, rho) < level else (low, middle)
    return high


def largest_pair(rows, inverse):
    """Return the largest |a - b|^2 in the norm of ``inverse``."""
    return max((a - b) @ inverse @ (a - b) for a in rows for b in rows)


def play_sharp(reward, arms, T, delta, design, R=1.0, prior_gap=None, known_intercept=True):
    """Play T rounds of Algorithm A of docs/proofs_linear.md; design(active) gives pi.

    Blocks that are looked at are in "looks": J, the realised certificate, active arms.
    """
    K, rho = len(arms), 4.0 * R**4 / (0.2 * R if prior_gap is None else prior_gap) ** 2
    k = np.linalg.matrix_rank(arms - arms[0], tol=1e-9 * max(np.abs(arms - arms[0]).max(), 1e-300))
    rows = arms if known_intercept and k == arms.shape[1] else np.column_stack([np.ones(K), arms])
    k = max(1, k)
    support = min(K, (k + 1) * (k + 2) // 2 + 1)
    first, level = max(2 * support, 16), math.log(max(K - 1, 1) / delta)
    J, s, H = 0.0, np.zeros(rows.shape[1]), np.zeros((rows.shape[1],) * 2)
    n, last, eliminated, sequence, looks = [0] * K, [0] * K, [0] * K, [], []
    active, M, t = list(range(K)), 0, 0
    while t < T:
        m = max(first, math.ceil(M / 10))
        M += m
        pi = dict(zip(active, design(active) if len(active) > 1 else [1.0], strict=True))
        quota = {a: math.ceil(pi[a] * m) for a in active}
        sums, complete = dict.fromkeys(active, 0.0), True
        for a in active:
            for _ in range(quota[a]):
                if t == T:
                    complete = False
                    break
                t += 1
                n[a] += 1
                last[a] = t
                sequence.append(a)
                sums[a] += reward(a)
        copies = np.abs(arms[active] - arms[active[0]]).max() == 0.0
        if not complete or len(active) == 1 or copies:
            continue
        V = sum(quota[a] * np.outer(rows[a], rows[a]) for a in active)
        inverse = np.linalg.pinv(V, rcond=1e-12, hermitian=True)
        theta = inverse @ sum(sums[a] * rows[a] for a in active)
        if len(active) <= 64:
            q = largest_pair(rows[active], inverse)
        else:
            room = min(quota[a] / pi[a] for a in active if quota[a])
            V_pi = sum(pi[a] * np.outer(rows[a], rows[a]) for a in active)
            q = largest_pair(rows[active], np.linalg.pinv(V_pi, rcond=1e-12, hermitian=True)) / room
        J, s, H = J + 1.0 / q, s + theta / q, H + inverse / q**2

        def noise(a, b, H=H):
            x = rows[a] - rows[b]
            return max(R * R * x @ H @ x, 0.0)

        leader = max(active, key=lambda a: s @ rows[a])
        gone = [
            a
            for a in active
            if a != leader
            and s @ (rows[leader] - rows[a]) > 0.0
            and log_mixture(s @ (rows[leader] - rows[a]), noise(leader, a), rho) >= level
        ]
        for a in gone:
            eliminated[a] = t
        active = [a for a in active if a not in gone]
        sharpest = (
            max(
                (s @ (rows[b] - rows[a]) + crossing(noise(a, b), level, rho)) / J
                for a in active
                for b in active
            )
            if len(active) > 1
            else 0.0
        )
        looks.append({"t": t, "J": J, "certificate": sharpest, "active": list(active)})
    return {"arms": sequence, "n": n, "last": last, "eliminated": eliminated, "looks": looks}
