"""Phases of elimination by caps: what they learn, what they cut, and how long they are."""

from __future__ import annotations

import math

from uli_fast.formulas.phases import rounded_up

# Phase m of cap elimination learns up to eta_m = CAP_SHRINKS^m and cuts CAP_CUTS eta_m below the
# pole; CAP_ROOM of eta_m is for rounding (docs/proofs_caps.md).
CAP_CUTS, CAP_SHRINKS, CAP_ROOM = 1.9, 0.36, 1e-3


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
