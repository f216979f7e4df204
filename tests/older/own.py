"""A user's own rules, base and arm set, as studies of 0.8.0 were begun with them.

v0_8_0.zip holds marks of this code: leave it as it is, docstrings of its functions included.
"""

import numpy as np

from uli_fast import Comparison, Exp3P, Guarantee, Runs, Study
from uli_fast.errors import ArgumentError, InfeasibleError
from uli_fast.geometry import designs

SLACK = 0.45
columns = designs.rank


def lags(n, total):
    """Say which arms lie behind the best by more than the slack."""
    means = total / np.maximum(n, 1)
    return means < means.max() - SLACK


def plain_rule(n, total, active, t):
    """Drop what lags."""
    return active & ~(lags(n, total) & (n > 5))


def rule(n, total, active, t):
    """Drop what lags, with names of the package on the way."""
    if isinstance(total, Runs | Comparison | Study | Guarantee):
        raise ArgumentError("total", "must be sums")
    many = designs.rank(np.eye(n.size))
    return active & ~(lags(n, total) & (n > many))


def leaning_rule(n, total, active, t):
    """Drop what lags, by a function of the package."""
    return active & ~(lags(n, total) & (n > columns(np.eye(n.size))))


def f(delta, t):
    """Return a bound that always holds."""
    return 1.0


class Base:
    """A base that plays like Exp3.P, through what the package has."""

    losses = "unit"

    def __init__(self, factor=1.0):
        self.factor, self.inner = factor, Exp3P(constant=0.75)

    def g(self, arms, delta):
        return self.factor * len(arms)

    def start_phase(self, arms, rounds, delta):
        if not isinstance(self.inner, Exp3P):
            raise ArgumentError("base", "is not what it was")
        return self.inner.start_phase(arms, rounds, delta)


class Even:
    """A base without anything of the package."""

    def g(self, arms, delta):
        return 0.01

    def start_phase(self, arms, rounds, delta):
        return EvenPhase(len(arms))


class EvenPhase:
    def __init__(self, k):
        self.estimates = np.zeros(k)

    def choose(self, rng):
        k = self.estimates.size
        return int(rng.random() * k), 1.0 / k

    def update(self, arm, loss):
        self.estimates[arm] += loss * self.estimates.size


class Grid:
    """Points of a grid in the unit disc, as an arm set."""

    dimension = 2

    def __init__(self, steps):
        line = np.linspace(-1.0, 1.0, steps)
        points = np.array([(x, y) for x in line for y in line])
        self.points = points[np.linalg.norm(points, axis=1) <= 1.0]

    def __repr__(self):
        return f"Grid({len(self.points)} points)"

    def maximize(self, u, eq=None, le=None):
        left = np.ones(len(self.points), np.bool_)
        if eq is not None:
            left &= (np.abs(self.points @ eq[0].T - eq[1]) <= 1e-9).all(axis=1)
        if le is not None:
            left &= (self.points @ le[0].T <= le[1] + 1e-9).all(axis=1)
        if not left.any():
            raise InfeasibleError("no point of the grid is left")
        values = np.where(left, self.points @ u, -np.inf)
        return self.points[values.argmax()], float(values.max())
