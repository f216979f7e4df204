"""UCB as a user would write it, in both forms of a learner of one's own, and the loop around it."""

import math

import numpy as np


class MyUCB:
    """The largest mean + 2R sqrt(log(2 t^2 / delta) / N) with R = 1/2, after one play each."""

    delta = 0.05

    def __init__(self, K, rng):
        self.n, self.total = [0] * K, [0.0] * K

    def choose(self, t):
        if 0 in self.n:
            return self.n.index(0)
        level = math.log(2.0) - math.log(self.delta) + 2.0 * math.log(t)
        each = [x / n + math.sqrt(level / n) for x, n in zip(self.total, self.n, strict=True)]
        return each.index(max(each))

    def update(self, arm, reward):
        self.n[arm] += 1
        self.total[arm] += reward


def no_plays(K, rng):
    """The state of the same learner as arrays."""
    return np.zeros(K), np.zeros(K)


def ucb_arm(state, t):
    n, total = state
    best, arm = -math.inf, 0
    level = math.log(2.0) - math.log(0.05) + 2.0 * math.log(t)
    for a in range(n.size):
        if n[a] == 0:
            return a
        index = total[a] / n[a] + math.sqrt(level / n[a])
        if index > best:
            best, arm = index, a
    return arm


def count(state, arm, reward):
    n, total = state
    n[arm] += 1
    total[arm] += reward


def play(learner, rewards, T):
    """Play T rounds on a table: the i-th pull of arm a gives rewards[a][i]."""
    K = len(rewards)
    n, last, arms = [0] * K, [0] * K, []
    for t in range(1, T + 1):
        a = learner.choose(t)
        learner.update(a, rewards[a][n[a]])
        n[a] += 1
        last[a] = t
        arms.append(a)
    return {"arms": arms, "n": n, "last": last, "eliminated": [0] * K}
