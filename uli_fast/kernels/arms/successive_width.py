"""Confidence intervals of successive elimination, and whether one misses its mean."""

from __future__ import annotations

from typing import NamedTuple

from uli_fast.formulas.successive_elimination import width
from uli_fast.kernels._jit import lean_kernel, lean_step


class Band(NamedTuple):
    """A mean, and what decides how wide the intervals are that should hold it."""

    mu: float
    K: int
    delta: float
    R: float


@lean_step
def edge(band: Band, n: int) -> float:
    """Return n wd(n): how far a sum of n rewards may be from n mu.

    It is concave in n: with v = log(4 K / delta) + 2 log n it is a multiple of sqrt(n v), and
    4 v <= (v + 2)^2. So it lies above its chords.
    """
    return float(n * width(n, band.K, band.delta, band.R))


@lean_kernel
def missed(band: Band, n: int, total: float) -> bool:
    """Say whether the interval after n rewards misses the mean, as round by round it would."""
    mean, wd = total / n, width(n, band.K, band.delta, band.R)
    return not mean - wd <= band.mu <= mean + wd
