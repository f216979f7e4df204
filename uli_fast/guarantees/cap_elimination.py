"""F of elimination by caps: its phases."""

from __future__ import annotations

import math

from uli_fast.formulas.cap_elimination import CAP_CUTS, CAP_ROOM, cap_eta, cap_plays
from uli_fast.guarantees.bounds import Constant, Parameters, phased


def _rounds(m: int, delta: float, p: Parameters) -> int:
    """Return (d + 1) n_m."""
    d = int(p["d"])
    return (d + 1) * cap_plays(m, d, delta, p["R"])


def _gap(m: int, delta: float, p: Parameters) -> float:
    """Return (1 + sig) eta_{m-1}; the first phase plays anywhere, and gaps may have any size."""
    largest = p.get("largest_gap", math.inf)
    return largest if m == 1 else min(largest, (1.0 + CAP_CUTS) * cap_eta(m - 1))


BOUNDS = {
    "CAP-schedule": phased(
        _rounds,
        _gap,
        (
            Constant(
                "(1 + 1.9) .36^(m-1)",
                1.0 + CAP_CUTS,
                "arms of phase m: the cut of the phase before and its error (docs/proofs_caps.md)",
            ),
            Constant("d + 1", 1.0, "arms of a phase: the pole of a cap and d points of its rim"),
            Constant("0.999", 1.0 - CAP_ROOM, "of eta_m is for noise, the rest for rounding"),
        ),
        "2.9 .36^(m-1) R in phase m > 1, of order R d / sqrt(t)",
    )
}
