"""F of the schedule itself: the phase in which a round falls when no arm is ever dropped.

With fewer arms phases only come sooner, and later phases have smaller gaps. So at every round
the gap is at most G(l), l the phase of that round in the schedule with all arms active, and
nothing is lost to closed forms of sums and logarithms (docs/proofs_phases.md).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from uli_fast._typing import F64
from uli_fast.formulas.meta_elimination import log_term, noise_bound, phase_gap
from uli_fast.formulas.meta_elimination import phase_size as meta_size
from uli_fast.formulas.phased_elimination import phase_size
from uli_fast.formulas.phases import share
from uli_fast.guarantees import linear_blocks
from uli_fast.guarantees.spanner_blocks import SpannerSize
from uli_fast.guarantees.spanner_blocks import accuracy as spanner_accuracy

# Rounding lengthens no phase by more than this factor, whichever way it went.
ROUNDED_UP = 1.0 + 1e-12
# Phase m of cap elimination learns up to eta_m = CAP_SHRINKS^m and cuts CAP_CUTS eta_m below the
# pole; CAP_ROOM of eta_m is for rounding (docs/proofs_caps.md).
CAP_CUTS, CAP_SHRINKS, CAP_ROOM = 1.9, 0.36, 1e-3
# The table ends here; what is beyond has the bound of its last phase.
LAST_ROUND, MOST_PHASES = 2**1000, 1100

Parameters = Mapping[str, float]


def _phased_rounds(phase: int, delta: float, p: Parameters) -> int:
    """Return K m_l of PE-MAB."""
    K = int(p["K"])
    return K * max(1, rounded_up(phase_size(phase, K, delta, p["R"])))


def largest_support(d: int) -> int:
    """Return 4 d loglog d + 16, which no design of phased elimination on vectors exceeds."""
    return math.floor(4.0 * d * log_log(d) + 16.0)


def log_log(d: float) -> float:
    """Return log log max(d, e)."""
    return math.log(math.log(max(float(d), math.e)))


def linear_size(phase: int, K: int, d: int, delta: float, R: float) -> float:
    """Return m_l = 4 d 4^l max(R^2 log(4 K l^2 / delta), loglog d + 4) of PE-linear."""
    log_term = math.log(4.0 * K) - math.log(delta) + 2.0 * math.log(phase)
    return 4.0 * d * 4.0 ** min(phase, 400) * max(R * R * log_term, log_log(d) + 4.0)


def _linear_rounds(phase: int, delta: float, p: Parameters) -> int:
    """Return ceil(m_l) + s - 1: what s quotas that add up to m_l are, each rounded up."""
    size = linear_size(phase, int(p["K"]), int(p["d"]), delta, p["R"])
    return rounded_up(size) + int(p["support"]) - 1


def spanner_size(m: int, d: int, C: float, delta: float, R: float) -> float:
    """Return T_m = 256 C^4 d^3 4^m log(d^3 4^m / delta) max(1, R^2)."""
    log_term = 3.0 * math.log(d) + m * math.log(4.0) - math.log(delta)
    size = 256.0 * C**4 * float(d) ** 3 * 4.0 ** min(m, 400) * log_term
    return size * max(1.0, R * R)


def _spanner_rounds(m: int, delta: float, p: Parameters) -> int:
    """Return d ceil(T_m / d): a spanner has at most d arms."""
    d = int(p["d"])
    return d * rounded_up(spanner_size(m, d, p["C"], delta, p["R"]) / d)


def cap_kappa(d: int) -> float:
    """Return kappa: no arm that matters is further than kappa d from a cap's design.

    It is a little larger than proved, so that what is at most that is below.
    """
    tau = (2.0 + (1.0 + CAP_CUTS) * CAP_SHRINKS) / CAP_CUTS
    along = ((d + 1.0) * tau - d) ** 2
    return (along + (d * d - 1.0) * tau) / (d * d) * (1.0 + 1e-9)


def cap_quantiles(m: int, d: int, delta: float) -> tuple[float, float]:
    """Return what |P e| and a fixed <x, e> stay below in phase m, for 1-subgaussian noise e.

    P is a projection of rank d and |x| = 1; both fail with delta / (2 m (m + 1)) at most.
    """
    L1 = math.log(2.0) + math.log(m) + math.log(m + 1.0) - math.log(delta)
    L2 = L1 + math.log(2.0)
    return math.sqrt(d + 2.0 * math.sqrt(d * L1) + 2.0 * L1), math.sqrt(2.0 * L2)


def cap_eta(m: int) -> float:
    """Return eta_m = CAP_SHRINKS^m, to which phase m learns."""
    return CAP_SHRINKS ** min(m, 600)


def cap_plays(m: int, d: int, delta: float, R: float) -> int:
    """Return n_m, the plays of each of the d + 1 arms of a cap; R is in units of eta_0."""
    norm, fixed = cap_quantiles(m, d, delta)
    x = R * (math.sqrt(cap_kappa(d)) * norm + fixed) / ((1.0 - CAP_ROOM) * cap_eta(m))
    return max(1, rounded_up(d / (d + 1.0) * x * x))


def _cap_rounds(m: int, delta: float, p: Parameters) -> int:
    """Return (d + 1) n_m."""
    d = int(p["d"])
    return (d + 1) * cap_plays(m, d, delta, p["R"])


def _cap_gap(m: int, delta: float, p: Parameters) -> float:
    """Return (1 + sig) eta_{m-1}; the first phase plays anywhere, and gaps may have any size."""
    largest = p.get("largest_gap", math.inf)
    return largest if m == 1 else min(largest, (1.0 + CAP_CUTS) * cap_eta(m - 1))


def _sharp_spanner_rounds(m: int, delta: float, p: Parameters) -> int:
    """Return d times the most plays of a column."""
    d = int(p["d"])
    return d * SpannerSize(m, d, p["C"], delta, p["R"]).most


def _meta_rounds(m: int, delta: float, p: Parameters) -> int:
    """Return T_m = ceil(multiplier g_m 2^m), g_m = c D log(20 K m^2 / delta)."""
    log = log_term(int(p["K"]), share(delta if "sigma" not in p else delta / 2.0, m))
    return rounded_up(meta_size(m, p["multiplier"], p["constant"] * p["dimension"] * log))


def _meta_gap(m: int, delta: float, p: Parameters) -> float:
    """Return G(m), in reward units times the B of the phase before."""
    gap = phase_gap(m)
    if "sigma" not in p:
        return gap
    before = max(m - 1, 1)
    rounds = max(1, _meta_rounds(before, delta, p))
    return gap * noise_bound(p["sigma"], before, rounds, delta / 2.0)


class Plan(NamedTuple):
    """Phases by their numbers: rounds with all arms active, and what no gap in it exceeds."""

    rounds: Callable[[int, float, Parameters], int]
    gap: Callable[[int, float, Parameters], float]

    def steps(self, delta: float, p: Parameters) -> Steps:
        """Add the phases up."""
        return table(lambda x: self.rounds(x, delta, p), lambda x: self.gap(x, delta, p))


class BlockPlan:
    """Blocks that grow by a tenth: thousands of them, computed at once."""

    def steps(self, delta: float, p: Parameters) -> Steps:
        """Return the last round of each block, and F in it."""
        return Steps(*linear_blocks.table(delta, p))


# Survivors of phase l - 1 have gaps of at most G(l).
PLANS: dict[str, Plan | BlockPlan] = {
    "PE-MAB-schedule": Plan(_phased_rounds, lambda phase, _, p: 4.0 * 2.0**-phase),
    "PE-linear-schedule": Plan(_linear_rounds, lambda phase, _, p: 8.0 * 2.0**-phase),
    "PE-linear-sharp": BlockPlan(),
    "PE-spanner-schedule": Plan(_spanner_rounds, lambda phase, _, p: 4.0 * 2.0**-phase),
    "PE-spanner-sharp": Plan(
        _sharp_spanner_rounds, lambda phase, _, p: 2.0 * spanner_accuracy(phase - 1)
    ),
    "CAP-schedule": Plan(_cap_rounds, _cap_gap),
    "META-Exp3P-schedule": Plan(_meta_rounds, _meta_gap),
    "META-GeometricHedge-schedule": Plan(_meta_rounds, _meta_gap),
    "META-GeometricHedge-unbounded-schedule": Plan(_meta_rounds, _meta_gap),
}


@dataclass(frozen=True, eq=False)
class Steps:
    """A bound that is constant within phases."""

    ends: tuple[int, ...]  # the last round of phase 1, 2, ...
    gaps: tuple[float, ...]  # the bound in each of them, and after the last

    @cached_property
    def _arrays(self) -> tuple[F64, F64]:
        return np.array(self.ends, np.float64), np.array(self.gaps)

    def at(self, t: float) -> float:
        """Return the bound at a round; Python's whole numbers are compared exactly."""
        return self.gaps[bisect_left(self.ends, t)]

    def at_all(self, t: F64) -> F64:
        """Return the bounds at many rounds.

        Rounds that are not floats are rounded as ends are: none falls in a later phase.
        """
        ends, gaps = self._arrays
        return np.asarray(gaps[np.searchsorted(ends, t)])

    def total(self, T: int, most: float) -> float:
        """Sum the bound over rounds 1 to T, each at most ``most``."""
        total, before = 0.0, 0
        for end, gap in zip((*self.ends, T), self.gaps, strict=True):
            last = max(before, min(end, T))
            total += (last - before) * min(most, gap)
            before = last
        return total


def steps(formula: str, delta: float, p: Parameters) -> Steps:
    """Return the steps of a bound that is a table of phases."""
    return _steps(formula, delta, tuple(sorted(p.items())))


@lru_cache(maxsize=256)
def _steps(formula: str, delta: float, items: tuple[tuple[str, float], ...]) -> Steps:
    return PLANS[formula].steps(delta, dict(items))


def table(rounds: Callable[[int], int], gap: Callable[[int], float]) -> Steps:
    """Add up the rounds of phases 1, 2, ... as they are given."""
    ends, gaps, last = list[int](), [gap(1)], 0
    while last < LAST_ROUND and len(ends) < MOST_PHASES:
        try:
            last += rounds(len(ends) + 1)
        except OverflowError:  # longer than any number of rounds that can be asked about
            break
        ends.append(last)
        gaps.append(gap(len(ends) + 1))
    return Steps(tuple(ends), tuple(gaps))


def rounded_up(x: float) -> int:
    """Return a whole number that is not below x, however x was rounded."""
    return math.ceil(x * ROUNDED_UP)
