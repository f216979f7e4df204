"""LinUCB, straight from the page: a fresh inverse every round."""

import math

import numpy as np


def play(reward, arms, T, delta, R=1.0):
    """Play T rounds on arms of norm at most 1; reward(a) draws one."""
    K, d = arms.shape
    V, b = np.eye(d), np.zeros(d)
    n, last, sequence = [0] * K, [0] * K, []
    for t in range(1, T + 1):
        inverse = np.linalg.inv(V)
        theta = inverse @ b
        radius = R * math.sqrt(d * math.log(1 + t / d) + 2 * math.log(1 / delta)) + 1
        index = [a @ theta + radius * math.sqrt(a @ inverse @ a) for a in arms]
        arm = int(np.argmax(index))
        b = b + arms[arm] * reward(arm)
        V = V + np.outer(arms[arm], arms[arm])
        n[arm] += 1
        last[arm] = t
        sequence.append(arm)
    return {"arms": sequence, "n": n, "last": last, "eliminated": [0] * K}
