"""F of policy elimination: H in the first phase, 4 2^-m in phase m."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from uli_fast._typing import F64
from uli_fast.guarantees.bounds import Bound, Constant, Parameters
from uli_fast.guarantees.policy_schedule import Size, phase_ends

_GAPS = Constant("4 2^-m", 4.0, "phase m keeps gaps of at most 2^-m + 2 2^(-m-1) = 4 2^-(m+1)")


def _ends(schedule: str, delta: float, p: Parameters, last: int) -> tuple[int, ...]:
    """Return the last episode of each phase, until one reaches ``last``."""
    size = Size(int(p["S"]), int(p["A"]), int(p["H"]), p["log_policies"])
    return phase_ends(schedule, size, delta, last)


def _bound(schedule: str, length: Constant, formula: str = "") -> Bound:
    def at(t: F64, delta: float, p: Parameters) -> F64:
        if p["log_policies"] == 0.0:
            return np.zeros_like(t)  # a single policy has no gap
        ends = _ends(schedule, delta, p, int(t.max(initial=1.0)))
        m = np.searchsorted(np.array(ends, np.float64), t) + 1.0
        return np.where(m == 1.0, p["H"], np.minimum(p["H"], 4.0 * 2.0**-m))

    def steps(delta: float, p: Parameters, T: int) -> Iterator[tuple[int, float]]:
        ends = _ends(schedule, delta, p, T)
        heights = at(np.array(ends, np.float64), delta, p)
        for end, height in zip(ends, heights.tolist(), strict=True):
            yield min(end, T), height

    return Bound(at, (_GAPS, length), steps=steps, formula=formula)


BOUNDS = {
    "POLICY-proved": _bound(
        "proved",
        Constant("2^(-m-1)", 0.5, "phases last until epsilon(T) is below it (docs/errata.md)"),
        "H in phase 1, then 4 2^-m in phase m",
    ),
    "POLICY-sharp": _bound(
        "sharp",
        Constant("2^(-m-1)", 0.5, "epsilon(T) with the L1 bound of Weissman (docs/errata.md)"),
    ),
}
