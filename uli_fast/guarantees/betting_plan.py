"""When betting elimination has dropped an arm *if* the best mean is known: for planning only.

F knows nothing of the variance, but the learner's bets do: with rates near .9 it drops arms several
times sooner than F says. How much sooner can be said once the best mean is stated; that is a
statement about what will happen if it is right, and never a certificate. Proof: docs/proofs.md,
"Planning"; arithmetic: staying.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64
from uli_fast.errors import ArgumentError, NoGuaranteeError
from uli_fast.guarantees import betting_staying
from uli_fast.guarantees.guarantee import Guarantee
from uli_fast.problems import kinds
from uli_fast.problems.arms_info import read_arms

# bound() is about these eps together: 2^(-i/4) of the range, down to 1e-8.
STEPS = tuple(2.0 ** (-i / 4.0) for i in range(107))
# A stated mean that is a problem's own but for rounding is its own.
ROUNDING = 1e-12


@dataclass(frozen=True, repr=False)
class Planned:
    """What to expect of BettingElimination if the best mean is the stated one.

    With probability 1 - delta, if all of ``assumes`` is true, the best arm is never dropped and
    arms of a gap above eps are not played after ``rounds_until(eps)``: for any finitely many eps
    fixed in advance together, those of ``bound`` for one. It holds by itself, not together with
    the intervals of a live player, whose share of delta it spends. ``any_mean`` is F, which needs
    no best mean; F and the plan hold together, so the smaller of both is returned.

    Examples
    --------
    >>> import uli_fast as uli
    >>> learner = uli.BettingElimination(0.05)
    >>> plan = learner.planned(4, best_mean=0.92)
    >>> print(plan.rounds_until(0.1) < learner.guarantee(4).rounds_until(0.1))
    True
    """

    delta: float
    K: int
    leader: int
    best_mean: float  # in reward units, as all that follows
    low: float
    high: float
    R: float | None  # as given to the learner
    any_mean: Guarantee

    @property
    def scale(self) -> float:
        """Reward units per unit of the learner's scale."""
        return self.any_mean.scale

    @property
    def largest_gap(self) -> float:
        """No gap is larger: no mean is below the lowest reward."""
        return min(self.any_mean.largest_gap, self.best_mean - self.low)

    @property
    def assumes(self) -> tuple[str, ...]:
        """What must be true for the plan to hold."""
        noise = "" if self.R is None else f" and are {self.R:g}-subgaussian"
        return (
            f"The best mean is {self.best_mean:g}, exactly. Nothing is assumed of the other means.",
            "If the best mean is nearer to the middle of the range, arms may stay for longer than "
            "planned; if it is further away, plans are shorter wherever they were computed, which "
            "proves nothing. F holds either way.",
            f"Rewards lie in [{self.low:g}, {self.high:g}]{noise}.",
            "Given all that came before, a play has the mean of its arm, and the plays of one "
            "sweep are independent.",
            "A look is made after its sweep, with every reward: none is missing, late, or known "
            "only as part of a sum.",
        )

    def rounds_until(self, eps: float, gaps: Any = None) -> int:
        """Return a round after which no arm of a gap above eps is played.

        Where the ``gaps`` are known, eps is as good as the smallest of them above it.
        """
        eps = _check.positive("eps", eps)
        known = self.any_mean.rounds_until(eps, gaps)
        if gaps is not None and known > 0:
            sizes = _check.vector("gaps", gaps)
            eps = math.nextafter(float(sizes[sizes > eps].min()), 0.0)
        planned = self._rounds(eps / self.scale)
        return known if planned is None else min(known, planned)

    def bound(self, t: Any) -> Any:
        """Return how bad the arm of round t can be, for a round or an array of rounds.

        A falling step function: the smallest of the eps 2^(-i/4) (high - low), i = 0, ..., 106,
        that ``rounds_until`` has before t, or F(t) where it is smaller.
        """
        known = self.any_mean.bound(t)
        if self.K == 1:
            return known
        rounds = np.asarray(t, np.float64)
        # beyond 2^53 a round may have been rounded up
        early = np.where(rounds < 2.0**53, rounds, np.nextafter(rounds, 0.0))
        starts, heights = self._steps(float(early.max(initial=1.0)))
        values = np.minimum(known, heights[np.searchsorted(starts, early)])
        return float(values) if rounds.ndim == 0 else values

    def _steps(self, last: float) -> tuple[F64, F64]:
        """Return the rounds after which each step begins, and the heights of all steps."""
        starts, heights = list[float](), [self.largest_gap]
        for eps in STEPS:
            rounds = self._rounds(eps)
            if rounds is None or rounds >= last:
                break
            starts.append(rounds)
            heights.append(min(heights[-1], eps * self.scale))
        # What is gone for a smaller eps is gone for a larger one.
        return np.minimum.accumulate(np.array(starts)[::-1])[::-1], np.array(heights)

    def _rounds(self, eps: float) -> int | None:
        p = (self.best_mean - self.low) / self.scale
        if self.K == 1 or eps >= p:
            return 0  # there is no such gap
        return _rounds(p, self.K, self.delta, self.leader, eps)

    def __repr__(self) -> str:
        """Say that it is a plan."""
        return (
            f"Planned: BettingElimination(delta={self.delta:g}, leader={self.leader}) on {self.K} "
            f"arms with rewards in [{self.low:g}, {self.high:g}], if the best mean is "
            f"{self.best_mean:g}. A plan under an assumption, not a certificate: see .assumes"
        )


@lru_cache(maxsize=4096)
def _rounds(p: float, K: int, delta: float, r: int, eps: float) -> int | None:
    sweeps = betting_staying.sweeps_until(betting_staying.setting(p, K, delta, r), eps)
    return None if sweeps is None else sweeps * (K - 1 + r)


def plan(
    about: Any, best_mean: float, leader: int, R: float | None, any_mean: Guarantee
) -> Planned:
    """Return the plan for a problem or a number of arms, if this is the best mean.

    ``any_mean`` is F of the learner, whose ``leader`` and ``R`` these are.
    """
    arms = read_arms(about)
    if arms.low is None or arms.high is None:
        raise NoGuaranteeError(
            "a plan with a stated best mean is for rewards in a range: without one a mean says "
            "nothing about the variance"
        )
    mean = _check.inside("best_mean", best_mean, arms.low, arms.high)
    if not 0.0 < (mean - arms.low) / arms.scale < 1.0:
        raise ArgumentError("best_mean", f"is an end of the range but for rounding, got {mean!r}")
    if kinds.is_bandit(about):
        own = float(about.means.max())
        if abs(own - mean) > ROUNDING * arms.scale:
            raise ArgumentError(
                "best_mean",
                f"must be that of the problem, {own!r}, got {mean!r}; or plan for the number of "
                f"arms, {arms.K}",
            )
    return Planned(any_mean.delta, arms.K, leader, mean, arms.low, arms.high, R, any_mean)
