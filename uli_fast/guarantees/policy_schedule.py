"""Phase lengths and bonuses of policy elimination.

A phase m with T episodes estimates the value of every active policy up to
epsilon(T, delta_m), delta_m = delta / (2 m^2); its length is the smallest T with
epsilon <= 2^(-m-1). docs/errata.md derives every term of epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from uli_fast.formulas.phases import share


class Size(NamedTuple):
    """How large a tabular MDP is."""

    S: int
    A: int
    H: int
    log_policies: float  # log of the number of policies


class PhasePlan(NamedTuple):
    """Length and bonus min(b0 sqrt(b1 / n) + b2 / (3 n), H) of a phase."""

    episodes: int
    bonus: tuple[float, float, float]


def log_iota(size: Size, T: int, delta: float) -> float:
    """Return log(10 S A H |Pi| T / delta)."""
    S, A, H, log_policies = size
    return math.log(10.0 * S * A * H) + math.log(T) - math.log(delta) + log_policies


def log_weissman(size: Size, T: int, delta: float) -> float:
    """Return log((2^S - 2) 5 H S A T / delta): one L1 bound for all values at once."""
    S, A, H, _ = size
    subsets = S * math.log(2.0) + math.log1p(-(2.0 ** (1 - S))) if S > 1 else math.log(2.0)
    return subsets + math.log(5.0 * H * S * A) + math.log(T) - math.log(delta)


def initial_error(size: Size, T: int, delta: float) -> float:
    """Bound the error of the frequencies of initial states."""
    return size.H / 2.0 * math.sqrt(2.0 * size.S * math.log(10.0 / delta) / T)


def value_error(size: Size, T: int, delta: float) -> float:
    """Bound the error of the mean over initial states, for all policies at once."""
    log = math.log(5.0) - math.log(delta) + size.log_policies
    return size.H**2 * math.sqrt(log / (2.0 * T))


def step_error(size: Size, T: int, delta: float) -> float:
    """Bound the error of the mean over next states."""
    return size.H**2 * math.sqrt(size.H * math.log(5.0 / delta) / (2.0 * T))


def _shared_terms(size: Size, T: int, delta: float) -> float:
    return sum(error(size, T, delta) for error in (initial_error, value_error, step_error))


def visit_sum(size: Size, T: int) -> float:
    """Bound the sum of 1 / sqrt(max(1, N)) over a stage's visits."""
    return size.S * size.A + 2.0 * math.sqrt(size.S * size.A) * math.sqrt(T)


def proved_error(size: Size, T: int, delta: float) -> float:
    """Return epsilon(T, delta) for the paper's bonus."""
    S, A, H, _ = size
    log = log_iota(size, T, delta)
    root = H**2 * math.sqrt(2.0 * S * log) * visit_sum(size, T)
    linear = 2.0 / 3.0 * H**2 * S**2 * A * log * (2.0 + math.log(T))
    return _shared_terms(size, T, delta) + H / T * (2.0 + 1.0 / H) * (root + linear)


def sharp_error(size: Size, T: int, delta: float) -> float:
    """Return epsilon(T, delta) for the bonus of the L1 bound."""
    H = size.H
    root = H**2 / 2.0 * math.sqrt(2.0 * log_weissman(size, T, delta)) * visit_sum(size, T)
    return _shared_terms(size, T, delta) + H / T * (2.0 + 1.0 / H) * root


ERRORS: dict[str, Callable[[Size, int, float], float]] = {
    "proved": proved_error,
    "sharp": sharp_error,
}


@lru_cache(maxsize=4096)
def proved_length(schedule: str, size: Size, delta: float, m: int) -> int:
    """Return the smallest T with epsilon(T, delta_m) <= 2^(-m-1)."""
    error, delta_m, goal = ERRORS[schedule], share(delta, m), 2.0 ** (-m - 1)
    low, high = 0, 1
    while error(size, high, delta_m) > goal:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if error(size, middle, delta_m) > goal else (low, middle)
    return high


def paper_length(c1: float, c2: float, size: Size, delta: float, m: int) -> int:
    """Return ceil(c1 4^m S^2 A H^4 log^2(c2 4^m S^2 A H^4 |Pi| / delta_m))."""
    S, A, H, log_policies = size
    scale = 4.0**m * S**2 * A * H**4
    log = math.log(c2 * scale) + log_policies - math.log(share(delta, m))
    return max(1, math.ceil(c1 * scale * log**2))


def plan(schedule: str | tuple[float, float], size: Size, delta: float, m: int) -> PhasePlan:
    """Return phase m."""
    S, _, H, _ = size
    if isinstance(schedule, str):
        T = proved_length(schedule, size, delta, m)
    else:
        T = paper_length(*schedule, size, delta, m)
    if schedule == "sharp":
        return PhasePlan(T, (H / 2.0, 2.0 * log_weissman(size, T, share(delta, m)), 0.0))
    log = log_iota(size, T, share(delta, m))
    return PhasePlan(T, (float(H), 2.0 * S * log, 2.0 * H * S * log))


@lru_cache(maxsize=512)
def phase_ends(schedule: str, size: Size, delta: float, beyond: int) -> tuple[int, ...]:
    """Return the last episode of phase 1, 2, ... until one lies beyond."""
    ends = [proved_length(schedule, size, delta, 1)]
    while ends[-1] <= beyond:
        ends.append(ends[-1] + proved_length(schedule, size, delta, len(ends) + 1))
    return tuple(ends)
