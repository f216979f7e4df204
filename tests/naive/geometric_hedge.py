"""GeometricHedge.P with John's exploration, straight from the page."""

import math

import numpy as np


def g(K, d, delta, constant=256.0):
    return constant * d * math.log(10 * K / delta)


def phase(x, nu, arms, T, delta, draw, rounds=None):
    """Play the algorithm tuned to T on the rows of x, which span R^d.

    nu is a design whose leverages are within rho of d; draw(p, arms) gives a
    position and its loss.
    """
    K, d = x.shape
    G = sum(n * np.outer(a, a) for n, a in zip(nu, x, strict=True))
    rho = max(a @ np.linalg.solve(G, a) for a in x) / d
    L = math.log(10 * K / delta)
    s = math.sqrt(L / (d * T))
    eta, beta, gamma = s / 2, 1.1 * s, min(0.5, 1.5 * rho * d * s)
    log_w = np.zeros(K)
    estimates = np.zeros(K)
    played = []
    for _ in range(T if rounds is None else rounds):
        q = np.exp(log_w - log_w.max())
        q /= q.sum()
        p = (1 - gamma) * q + gamma * nu
        i, loss = draw(p, arms)
        played.append(arms[i])
        Sigma = sum(pa * np.outer(a, a) for pa, a in zip(p, x, strict=True))
        inverse = np.linalg.inv(Sigma)
        l_hat = x @ inverse @ x[i] * loss
        v = np.array([a @ inverse @ a for a in x])
        estimates += l_hat
        log_w -= eta * (l_hat - 2 * beta * v)
    return played, estimates, log_w
