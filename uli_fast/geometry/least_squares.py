"""Least squares in the span of the arms, weighted by plays, and with a ridge."""

from __future__ import annotations

import math

import numpy as np

from uli_fast._typing import F64, I64
from uli_fast.geometry.designs import RANK_TOLERANCE


def least_squares(x: F64, n: I64, y: F64) -> F64:
    """Return the minimum-norm minimiser of sum n (<theta, x> - y)^2 over rows with n > 0.

    Weights are divided by the largest: counts of 10^15 lose no digits. Directions that the
    design ignores are ignored here too.
    """
    played = n > 0
    weight = np.sqrt(n[played] / n.max())
    rows, right = x[played] * weight[:, None], y[played] * weight
    theta: F64 = np.linalg.lstsq(rows, right, rcond=RANK_TOLERANCE)[0]
    return theta


def influence(x: F64, n: I64) -> F64:
    """Return how far the estimate at row i moves per unit of the mean reward of row j, (K, K)."""
    played = n > 0
    weight = np.sqrt(n[played] / n.max())
    moved = np.zeros((x.shape[1], len(x)))
    inverse = np.linalg.pinv(x[played] * weight[:, None], rcond=RANK_TOLERANCE)
    moved[:, played] = inverse * weight
    return np.asarray(x @ moved)


def ridge(arms: F64, n: int, means: F64) -> F64:
    """Return V^-1 sum of a X with V = I + n sum a a^T, as least squares that never form V."""
    d = arms.shape[1]
    stacked = np.vstack([arms, np.eye(d) / math.sqrt(n)])
    theta: F64 = np.linalg.lstsq(stacked, np.concatenate([means, np.zeros(d)]), rcond=None)[0]
    return theta
