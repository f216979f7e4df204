"""The blocks of sharp PE-linear: what a run holds, and the steps that players share with it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast._typing import F64, I64
from uli_fast.errors import DesignError
from uli_fast.geometry import designs
from uli_fast.guarantees.linear_blocks import EXACT_PAIRS, FLAT, HIDDEN, TOLERANCE, LinearBlocks
from uli_fast.learners._linear import Units

if TYPE_CHECKING:
    from uli_fast.kernels.arms.state import ArmState
    from uli_fast.kernels.linear.blocks import LinearState
    from uli_fast.kernels.linear_elimination import OpenBlock

# Designs are made a little better than F counts on: pruning and factors round.
DESIGN_TOLERANCE = TOLERANCE - 1e-4
# Sums of n numbers up to x are off by n^2 x times the first of these at most; what is computed from
# their means by parts of them that are far below the second.
LAST_DIGIT, ARITHMETIC = 2.0**-53, 2.0**-45
LARGEST = float(np.finfo(np.float64).max)
# What never changes in a run.
FIXED = ("affine", "origin", "sizes")


def new_linear_state(
    features: F64,
    delta: float,
    prior_gap: float,
    known_intercept: bool,
    absent: float = 0.0,
    floor: float = LARGEST,
    uneven: float = 0.0,
) -> LinearState:
    """Allocate the state of a run in which nothing has been played, with its first design.

    ``prior_gap`` is in units of R, and so is what directions without coordinates may hide of a gap:
    where ``absent`` is above 0 that bounds what rounding of coordinates hides as well. ``floor`` is
    what F allows for it all, in a run that is held against F as it was before, and ``uneven`` how
    far its means are from a plane over the arms.
    """
    from uli_fast.kernels.linear import blocks as kernel

    plane = designs.affine_coordinates(features)
    K, k = plane.coordinates.shape
    plan, origin = LinearBlocks(K, max(k, 1), delta, prior_gap), plane.origin
    known = origin is not None and known_intercept
    r = k + 1
    lin = kernel.LinearState(
        affine=np.column_stack([np.ones(K), plane.coordinates]),
        origin=np.concatenate([[1.0], origin]) if known and origin is not None else np.zeros(0),
        C=np.zeros((K, r)),
        tie=np.zeros(r),
        pivots=np.zeros(r, np.int64),
        s=np.zeros(r),
        H=np.zeros((r, r)),
        weights=np.zeros(K),
        warm=np.zeros((2, K)),
        sizes=plan.sizes(),
        least=np.zeros((2, K)),
        error=np.zeros(K),
        facts=np.zeros(15),
        counts=np.zeros(6, np.int64),
    )
    lin.counts[kernel.LEADER] = lin.counts[kernel.TIED] = -1
    lin.facts[kernel.UNEVEN] = uneven
    lin.facts[kernel.BLUR] = 0.0 if absent > 0.0 else plane.blur
    if K > 1:
        lin.facts[kernel.LEVEL], lin.facts[kernel.RHO] = plan.level, plan.rho
        lin.facts[kernel.LEVERAGE], lin.facts[kernel.ABSENT] = plan.leverage, absent
        lin.facts[kernel.ALLOWED], lin.facts[kernel.KNOWN] = HIDDEN, floor
    redesign(lin, np.full(K, True))
    return lin


def redesign(lin: LinearState, active: Any) -> None:
    """Give the active arms a design; one that is left has all of it."""
    from uli_fast.kernels.linear import blocks as kernel

    if active.sum() == 1:
        lin.weights[:] = active
    elif not kernel.redesign(lin, active, DESIGN_TOLERANCE, EXACT_PAIRS):
        raise DesignError("no design with small leverages was found for the active arms")


def copied(lin: LinearState) -> LinearState:
    """Return a state of its own for another run; what never changes is shared."""
    own = {name: x.copy() for name, x in lin._asdict().items() if name not in FIXED}
    return lin._replace(**own)


def open_block(state: ArmState, units: Units, truth: F64 | None = None) -> OpenBlock:
    """Allocate a block; the truth is in reward units less the intercept."""
    from uli_fast.kernels.linear_elimination import OpenBlock

    K = state.n.size
    gaps = np.zeros(0) if truth is None else (truth.max() - truth) / units.scale
    best = -1 if truth is None else int(truth.argmax())
    zeros = np.zeros(K, np.int64)
    scales = (float(units.slope), float(units.offset))
    return OpenBlock(
        zeros, zeros.copy(), np.zeros_like(state.total), gaps, np.zeros(0), best, *scales
    )


class SharpBlocks:
    """The blocks of one run, as a live player goes through them: quotas, and a look at the end."""

    def __init__(self, lin: LinearState, units: Units, state: ArmState, flat: bool = False) -> None:
        self.lin, self.units, self.state, self.flat = lin, units, state, flat
        self.values: F64 = np.full(state.n.size, np.nan)  # at the last look
        self.errors: F64 = np.zeros(state.n.size)  # that missing or rounded rewards may have made
        self._quotas: tuple[int, I64] | None = None

    def quotas(self) -> I64:
        """Return the plays of each arm in this block: ceil(pi(a) m_l)."""
        from uli_fast.kernels.linear import blocks as kernel
        from uli_fast.kernels.linear_elimination import LARGEST_QUOTA

        block = int(self.state.clock[1])
        if self._quotas is None or self._quotas[0] != block:
            n = np.zeros(self.state.n.size, np.int64)
            kernel.quotas(self.lin, block, LARGEST_QUOTA, n)
            self._quotas = block, n
        return self._quotas[1]

    def close(
        self,
        sums: F64 | I64,
        truth: F64 | None = None,
        missing: I64 | None = None,
        largest: float = 0.0,
    ) -> None:
        """Take in the reward sums of this block, look, and drop what lags.

        ``missing`` rewards of each arm are in the sums as 1/2, on a scale from 0 to 1; the truth is
        in units of R. ``largest`` is what no number that was added up, nor the intercept, is
        beyond, where that has to be asked: rounding is taken at its worst too.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # which ``drowned`` tells of
            self._close(sums, truth, missing, largest)
            self._say()

    def _close(
        self, sums: F64 | I64, truth: F64 | None, missing: I64 | None, largest: float
    ) -> None:
        from uli_fast.kernels.linear import blocks as kernel

        n, units = self.quotas(), self.units
        means = sums / np.maximum(n, 1) * units.slope - units.offset
        gaps = np.zeros(0) if truth is None else truth.max() - truth
        best = -1 if truth is None else int(truth.argmax())
        missed = n * (n * LAST_DIGIT + ARITHMETIC) * largest * units.slope
        if missing is not None:
            missed += 0.5 * units.slope * missing
        if not missed.any():
            missed = np.zeros(0)
        if kernel.close(self.lin, self.state, n, means, gaps, missed, best):
            redesign(self.lin, self.state.active)

    def _say(self) -> None:
        """Keep the estimates of the active arms."""
        J, rank, on = self.lin.facts[0], self.lin.counts[0], self.state.active
        self.values[:], self.errors[:] = np.nan, 0.0
        if J > 0.0:
            self.values[on] = self.lin.C[on, :rank] @ self.lin.s[:rank] / J
            self.errors[on] = self.lin.error[on] / J

    def changing(self) -> dict[str, Any]:
        """Return the arrays that change in a run; what F allows for does not."""
        from uli_fast.kernels.linear import blocks as kernel

        lin = self.lin._replace(facts=self.lin.facts[: kernel.ALLOWED])
        return {name: x for name, x in lin._asdict().items() if name not in FIXED}

    @property
    def hidden(self) -> float:
        """What coordinates may hide of a gap, in units of R."""
        from uli_fast.kernels.linear import blocks as kernel

        return float(kernel.hidden(self.lin))

    @property
    def withdrawn(self) -> int:
        """The round from which on F is not claimed, 0 if it is: looks are worth too little."""
        from uli_fast.kernels.linear.blocks import WITHDRAWN

        return int(self.lin.counts[WITHDRAWN])

    @property
    def drowned(self) -> bool:
        """Whether rewards were so large that a sum is no number any more."""
        return not (np.isfinite(self.lin.s).all() and np.isfinite(self.lin.error).all())

    @property
    def delayed(self) -> float:
        """What missing or rounded rewards may add to gaps that F bounds, in units of R.

        Whoever stays lags by less than c and the errors of two arms, which are as uncertain again.
        What a look leaves to rounding is one of them: an intercept may be far from all rewards.
        """
        from uli_fast.kernels.linear.blocks import ROOM

        J, rank, on = float(self.lin.facts[0]), self.lin.counts[0], self.state.active
        if J == 0.0:
            return 0.0
        sizes = np.abs(self.lin.C[on, :rank]) @ np.abs(self.lin.s[:rank])
        return 4.0 * float((self.lin.error[on] + ROOM * sizes).max()) / J

    @property
    def unseen(self) -> float:
        """What directions that are flat but for rounding may hide of a gap, in units of R."""
        from uli_fast.kernels.linear.blocks import WIDEST

        flat = self.flat and self.state.active.sum() > 1
        return flat * FLAT * float(self.lin.facts[WIDEST])

    @property
    def leader(self) -> int | None:
        """The arm with the largest estimate at the last look."""
        leader = int(self.lin.counts[1])
        return leader if leader >= 0 else None

    def certificate(self) -> float:
        """Return what no active arm's gap exceeds on the event, in units of R."""
        from uli_fast.kernels.linear import blocks as kernel

        if self.drowned:
            return math.inf
        return float(kernel.realised(self.lin, self.state.active)) + self.unseen
