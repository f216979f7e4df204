"""The usual trial of fixed size: equal groups, one look, two-proportion z tests.

Every one of K arms gets n patients. At the end arm a is called inferior if the arm that did
best beats it in the pooled two-proportion z test, one-sided at level alpha / (K - 1). The arm
that did best is not known beforehand: for the truly best arm to be called inferior, one of the
K - 1 others must beat it in its own test, so the chance of that is at most alpha by Bonferroni
(as far as the normal approximation of the test goes). That is the error which elimination
bounds by delta, and so the two can be compared. With two arms it is the one-sided
test at level alpha; a two-sided test at 5 % is alpha = 0.025.

Nothing is simulated. Groups are of one size, so the arm with the most good outcomes gives the
largest z, and with S of them beats an arm with s if and only if S >= c(s), for a whole number
c(s). All chances are therefore sums over one binomial variable of products of distribution
functions, exact up to 1e-12.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from uli_fast import _check
from uli_fast._typing import B1, F64
from uli_fast.errors import ArgumentError
from uli_fast.problems import kinds
from uli_fast.problems.arms import ArmBandit

# Probability left out at either end of a binomial variable.
NEGLECTED = 1e-14
# Patients per arm beyond which sums over binomial variables are not taken.
LARGEST_GROUP = 10**7


@dataclass(frozen=True, eq=False)
class FixedTrial:
    """A trial of fixed size with equal groups, and what it finds.

    ``means`` are chances of a good outcome, ``n`` is the patients per arm, ``alpha`` the chance
    allowed of calling the best arm inferior. Numbers of patients are those of all K arms.

    Examples
    --------
    >>> import uli_fast as uli
    >>> trial = uli.fixed_trial(uli.BernoulliBandit([0.72, 0.66, 0.60]), patients=600)
    >>> print(trial.n, trial.inferior)
    200 [False  True  True]
    """

    means: F64  # (K,)
    n: int
    alpha: float

    @property
    def gaps(self) -> F64:
        """How far each arm is behind the best."""
        gaps: F64 = self.means.max() - self.means
        return gaps

    @property
    def inferior(self) -> B1:
        """Which arms have a gap."""
        worse: B1 = self.gaps > 0.0
        return worse

    @cached_property
    def called(self) -> tuple[float, ...]:
        """The chance of each arm to be called inferior, (K,)."""
        return tuple(self._called(a, self.n) for a in range(self.means.size))

    @cached_property
    def called_all(self) -> float:
        """The chance that every inferior arm is called inferior; NaN where there is none."""
        return self.power_all(self.n)

    @cached_property
    def lost_best(self) -> float:
        """The chance that the best arm is called inferior (of several best ones: all)."""
        return self._beaten(self.inferior, ~self.inferior, self.n)

    def needed(self, power: float) -> tuple[int | None, ...]:
        """Return the patients needed to call each arm inferior with this chance, exactly.

        None for best arms, and beyond 10**7 patients per arm. The power rises with small steps
        back: one patient per arm fewer misses it, still fewer may by accident reach it.
        """
        target = _check.in_open_unit("power", power)
        return tuple(self._needed(partial(self._called, a), target, a) for a in self._arms())

    def needed_all(self, power: float) -> int | None:
        """Return the patients needed to call all inferior arms so with this chance, exactly.

        None where there is no inferior arm, and beyond 10**7 patients per arm.
        """
        target = _check.in_open_unit("power", power)
        if not self.inferior.any():
            return None
        closest = int(np.where(self.inferior, self.means, -1.0).argmax())
        return self._needed(self.power_all, target, closest)

    def formula(self, power: float) -> tuple[int | None, ...]:
        """Return the patients needed by the textbook's formula, each arm against the best.

        n = (z_a sqrt(2 p (1 - p)) + z_b sqrt(p1 (1 - p1) + p2 (1 - p2)))^2 / (p1 - p2)^2 per arm,
        p the average of p1 and p2, a = alpha / (K - 1), b the power.
        """
        target = _check.in_open_unit("power", power)
        pairs = zip(self._arms(), self.inferior, strict=True)
        return tuple(
            self.means.size * self._textbook(a, target) if worse else None for a, worse in pairs
        )

    def _arms(self) -> range:
        return range(self.means.size)

    @property
    def _z(self) -> float:
        from scipy.stats import norm

        return float(norm.isf(self.alpha / (self.means.size - 1)))

    def _textbook(self, a: int, power: float) -> int:
        from scipy.stats import norm

        p1, p2 = float(self.means.max()), float(self.means[a])
        p = (p1 + p2) / 2.0
        null, spread = math.sqrt(2.0 * p * (1.0 - p)), math.sqrt(p1 * (1 - p1) + p2 * (1 - p2))
        root = (self._z * null + float(norm.ppf(power)) * spread) / (p1 - p2)
        return max(1, math.ceil(max(root, 0.0) ** 2))

    def _needed(self, power_at: Callable[[int], float], target: float, a: int) -> int | None:
        """Step away from the textbook's n, then bisect: power(n - 1) < target <= power(n)."""
        if not self.inferior[a]:
            return None
        n, step = self._textbook(a, target), 1
        enough = n <= LARGEST_GROUP and power_at(n) >= target
        low, high = (0, n) if enough else (n, n)
        while enough and (n := n - step) > 0:
            if power_at(n) < target:
                low = n
                break
            high, step = n, 2 * step
        while not enough:
            low, high, step = high, high + step, 2 * step
            if high > LARGEST_GROUP:
                return None
            enough = power_at(high) >= target
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if power_at(middle) >= target else (middle, high)
        return self.means.size * high

    def _called(self, a: int, n: int) -> float:
        """Return P(max over j != a of S_j >= c(S_a))."""
        mine = np.arange(self.means.size) == a
        return self._beaten(~mine, mine, n)

    def _beaten(self, by: B1, whom: B1, n: int) -> float:
        """Return the chance that every arm of ``whom`` is beaten by the best of ``by``."""
        if not by.any():
            return 0.0
        most, mass = self._most(whom, n)
        reached = needed_successes(most, n, self._z)
        missed = np.ones(most.size)  # that no arm of ``by`` reaches it
        for p in self.means[by]:
            missed *= _binomial().cdf(reached - 1.0, n, p)
        return float(np.clip((mass * (1.0 - missed)).sum(), 0.0, 1.0))

    def power_all(self, n: int) -> float:
        """Return the chance that n patients per arm call every inferior arm inferior.

        That is P(S_a <= n - c(n - max of the best) for every inferior arm a).
        """
        if not self.inferior.any():
            return math.nan
        most, mass = self._most(~self.inferior, n)
        beaten = n - needed_successes(n - most, n, self._z)  # by exchange of good and bad
        chance = mass.copy()
        for p in self.means[self.inferior]:
            chance *= _binomial().cdf(beaten, n, p)
        return float(np.clip(chance.sum(), 0.0, 1.0))

    def _most(self, arms: B1, n: int) -> tuple[F64, F64]:
        """Return the values of the largest S of some arms that matter, and their chances."""
        law, means = _binomial(), self.means[arms]
        first = law.ppf(NEGLECTED, n, means.max())
        last = law.isf(NEGLECTED, n, means.max())
        values: F64 = np.arange(max(first, 0.0), last + 1.0)
        below: F64 = np.ones(values.size + 1)
        for p in means:
            below *= law.cdf(np.append(values[0] - 1.0, values), n, p)
        return values, np.diff(below)


def needed_successes(s: F64, n: int, z: float) -> F64:
    """Return c(s): with how many good outcomes of n an arm beats one that had s of n.

    The least whole S with (S - s) / n > z sqrt(2 p (1 - p) / n), p = (S + s) / (2 n): the root
    of a quadratic in d = S - s. It lies above n where no S does. For z < 0, d is still above 0.
    """
    q = z * abs(z) / (2.0 * n)
    if q <= 0.0:
        return np.floor(s) + 1.0
    b = q * (2.0 * n - 4.0 * s)
    d = (b + np.sqrt(b * b + 16.0 * (1.0 + q) * q * s * (n - s))) / (2.0 * (1.0 + q))
    return np.floor(s) + np.floor(d) + 1.0


def fixed_trial(problem: ArmBandit, patients: int, alpha: float = 0.05) -> FixedTrial:
    """Return the usual trial with equal groups on a problem with good and bad outcomes.

    Parameters
    ----------
    problem
        A BernoulliBandit with at least two arms.
    patients
        Of all arms; each gets ``patients // K`` of them, at most 10**7.
    alpha
        The chance allowed of calling the best arm inferior: each z test is one-sided at
        alpha / (K - 1).

    Returns
    -------
    FixedTrial
        Its power, and the patients that a wanted power needs, exactly.

    Examples
    --------
    >>> import uli_fast as uli
    >>> trial = uli.fixed_trial(uli.BernoulliBandit([0.72, 0.60]), patients=500)
    >>> round(trial.called_all, 3)  # its power
    0.884
    >>> trial.needed_all(0.9)  # patients for a power of 90 %
    530
    """
    checked_arms(problem)
    if not problem.binary:
        raise ArgumentError("problem", "needs two outcomes, good and bad: a BernoulliBandit")
    n = _check.horizon("patients", patients) // problem.n_arms
    if n < 1:
        raise ArgumentError("patients", f"must be at least {problem.n_arms}, one for each arm")
    if n > LARGEST_GROUP:
        raise ArgumentError("patients", f"are {n:,} for each arm; the limit is {LARGEST_GROUP:,}")
    return FixedTrial(np.array(problem.unit_means), n, _check.in_open_unit("alpha", alpha))


def checked_arms(problem: Any) -> ArmBandit:
    """Return a problem with at least two arms to choose from."""
    given = kinds.bandit("problem", problem)
    if given.n_arms < 2:
        raise ArgumentError("problem", "needs at least two arms to choose from")
    return given


def _binomial() -> Any:
    from scipy.stats import binom

    return binom
