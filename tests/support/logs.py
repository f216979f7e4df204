"""Logs that somebody else made, by plans and by policies that look at outcomes."""

import numpy as np


def uniform(rng, means, n):
    """Return arms drawn at random, each as likely, and their rewards."""
    return drawn(rng, means, n, None)


def drawn(rng, means, n, shares):
    """Return arms drawn with fixed shares, and their rewards."""
    arms = rng.choice(len(means), n, p=shares)
    return arms, (rng.random(n) < np.asarray(means)[arms]).astype(float)


def thompson(rng, means, n):
    """Return what Thompson sampling would have logged."""
    wins, losses = np.ones(len(means)), np.ones(len(means))

    def choose(t):
        return int(rng.beta(wins, losses).argmax())

    def learn(a, x):
        wins[a] += x
        losses[a] += 1.0 - x

    return played(rng, means, n, choose, learn)


def winner(rng, means, n):
    """Return play the winner: an arm is kept while it wins, then the next has its turn."""
    now = [0]

    def learn(a, x):
        now[0] = a if x else (a + 1) % len(means)

    return played(rng, means, n, lambda t: now[0], learn)


def until_success(rng, means, n):
    """Return a log in which every arm but the first is played until it wins, again and again."""
    now = [0]

    def learn(a, x):
        now[0] = a if a and not x else (a + 1) % len(means)

    return played(rng, means, n, lambda t: now[0], learn)


def played(rng, means, n, choose, learn):
    """Return n rows of a policy that sees every outcome at once."""
    arms, rewards = np.zeros(n, np.int64), np.zeros(n)
    for t in range(n):
        arms[t] = choose(t)
        rewards[t] = float(rng.random() < means[arms[t]])
        learn(int(arms[t]), rewards[t])
    return arms, rewards


def rows(arms, rewards):
    """Return pairs (arm, reward), arms as strings."""
    return list(zip(map(str, arms), rewards.tolist(), strict=True))
