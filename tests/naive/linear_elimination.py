"""PE-linear, straight from the page: slow, independent, round by round."""

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
