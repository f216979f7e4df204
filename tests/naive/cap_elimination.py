"""Elimination by caps of the unit ball, straight from docs/proofs_caps.md, with matrices.

An ellipsoid is {center + axes z: |z| <= 1}. ``mean(arm, n)`` is the mean of n rewards of an arm.
"""

import math
from typing import NamedTuple

import numpy as np

SIG, GAMMA, ROOM = 1.9, 0.36, 1e-3


class Phase(NamedTuple):
    """A phase: its arms, the plays of each, and the cap that they come from."""

    arms: np.ndarray
    plays: int
    pole: np.ndarray
    depth: float
    theta: np.ndarray | None  # the slope at its end, on the unit ball


def kappa(d):
    tau = (2 + (1 + SIG) * GAMMA) / SIG
    return (((d + 1) * tau - d) ** 2 + (d**2 - 1) * tau) / d**2 * (1 + 1e-9)


def plays(m, d, delta, R, unit):
    """Return n_m, from the two quantiles of the noise."""
    L1 = math.log(2 * m * (m + 1) / delta)
    L2 = L1 + math.log(2)
    eta = (1 - ROOM) * unit * GAMMA**m
    q = math.sqrt(kappa(d) * (d + 2 * math.sqrt(d * L1) + 2 * L1)) + math.sqrt(2 * L2)
    return max(1, math.ceil(d / (d + 1) * (R * q / eta) ** 2 * (1 + 1e-12)))


def bound(t, d, delta, R, unit, largest):
    """Return F, phase by phase."""
    m, end = 1, (d + 1) * plays(1, d, delta, R, unit)
    while end < t:
        m += 1
        end += (d + 1) * plays(m, d, delta, R, unit)
    return largest if m == 1 else min(largest, (1 + SIG) * GAMMA ** (m - 1) * unit)


def design(pole, depth):
    """Return the pole, and the rim points of a regular simplex orthogonal to it."""
    d = len(pole)
    v = max(1 - depth, -1 / d)
    q = np.ones(d) / math.sqrt(d)
    w = q + (1 if q @ pole >= 0 else -1) * pole
    mirror = np.eye(d) - 2 * np.outer(w, w) / (w @ w)
    z = (np.eye(d) - 1 / d) @ mirror
    if d > 1:
        z /= np.linalg.norm(z, axis=1)[:, None]
    return np.vstack([pole, v * pole + math.sqrt(1 - v**2) * z])


def barycentric(points, a):
    """Return the coordinates of a in the d + 1 points of a design."""
    system = np.column_stack([points, np.ones(len(points))]).T
    return np.linalg.solve(system, np.append(a, 1.0))


def mahalanobis(points, a):
    """Return the squared distance of a from the middle of a design, in its covariance."""
    centred = points - points.mean(axis=0)
    covariance = centred.T @ centred / len(points)
    x = a - points.mean(axis=0)
    return x @ np.linalg.solve(covariance, x)


def play(center, axes, R, delta, unit, mean, phases):
    """Play some phases and return them."""
    d = axes.shape[1]
    pole, depth, found = np.eye(d)[0], math.inf, []
    for m in range(1, phases + 1):
        points, n = design(pole, depth), plays(m, d, delta, R, unit)
        arms = center + points @ axes.T
        y = np.array([mean(arm, n) for arm in arms])
        theta = np.linalg.solve(points[1:] - points[0], y[1:] - y[0])
        found.append(Phase(arms, n, pole, depth, theta))
        length = np.linalg.norm(theta)
        pole, depth = theta / length, SIG * unit * GAMMA**m / length
    return found
