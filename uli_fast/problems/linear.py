"""Linear bandits: arms are vectors, and expected rewards are linear in them.

The noise decides the range. Gaussian rewards are unbounded; the others stay in a
declared range, because clipping a reward would make its mean non-linear.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64, U64
from uli_fast.errors import ArgumentError
from uli_fast.geometry import designs
from uli_fast.problems.arms import ArmBandit, bernoulli_law, short

if TYPE_CHECKING:
    from uli_fast.kernels.rewards.laws import Law

NOISES = ("gaussian", "bernoulli", "uniform")
# Single rewards are drawn this many at a time, so that Ctrl-C is heard.
AT_ONCE = 1 << 24
# Arms of a larger dimension are not called by their coordinates.
MOST_COORDINATES = 16


class LinearBandit:
    """Arms a with expected rewards linear in <theta, a>, finitely many or a whole set.

    Parameters
    ----------
    theta
        The unknown parameter, (d,).
    arms
        One arm per row, (K, d).
    sigma
        Standard deviation of the noise; not used by "bernoulli".
    noise
        "gaussian": <theta, a> + N(0, sigma^2), unbounded. "bernoulli": 1 with
        probability (1 + <theta, a>) / 2, else 0; reward gaps are half those of
        <theta, a>. "uniform": <theta, a> plus noise uniform on [-h, h] with
        h = sqrt(3) sigma, in the range [-(S + h), S + h] with
        ``S = max(1, max |<theta, a>|)``.
    names
        Names of the arms; by default "0", "1", ...
    arm_set
        In place of ``arms``: a set of ``uli.arm_sets``, or any object with its oracle.

    Attributes
    ----------
    intercept
        The expected reward where <theta, a> = 0: 1/2 if "bernoulli", else 0.
    slope
        The expected reward is intercept + <slope, a>: theta, or half of it if "bernoulli".

    Examples
    --------
    >>> import uli_fast as uli
    >>> finite = uli.LinearBandit([0.6, 0.3], arms=[[1, 0], [0, 1], [0.7, 0.7]], sigma=0.5)
    >>> finite.n_arms, finite.dimension
    (3, 2)
    >>> print(finite.gaps.round(2))
    [0.03 0.33 0.  ]
    >>> ball = uli.LinearBandit([0.6, 0.3], arm_set=uli.arm_sets.Ball(2))
    >>> ball.dimension
    2
    """

    theta: F64
    slope: F64
    slope_norm: float
    noise: str
    sigma: float
    intercept: float
    noise_subgaussian: float

    def __new__(cls, theta: Any = None, arms: Any = None, *args: Any, **more: Any) -> LinearBandit:
        """Choose the kind by what is given: a K-armed bandit, or one on an arm set."""
        if cls is not LinearBandit:  # a copy, whose kind is known
            return object.__new__(cls)
        if (arms is None) == (more.get("arm_set") is None):
            problem = "must be given, or arm_set= in their place"
            raise ArgumentError("arms", problem if arms is None else f"{problem}: not both")
        kind = FiniteLinearBandit if arms is not None else ArmSetBandit
        return object.__new__(kind)

    def _set_truth(self, theta: Any, sigma: float, noise: str) -> None:
        self.noise = _check.one_of("noise", noise, NOISES)
        self.sigma = _check.positive("sigma", sigma)
        self.theta = _check.vector("theta", theta)
        halved = 0.5 if noise == "bernoulli" else 1.0
        self.slope = halved * self.theta
        self.slope_norm = float(np.linalg.norm(self.slope))
        self.theta.flags.writeable = self.slope.flags.writeable = False
        self.intercept = 0.5 if noise == "bernoulli" else 0.0
        # Uniform noise is as subgaussian as its standard deviation says.
        self.noise_subgaussian = 0.5 if noise == "bernoulli" else self.sigma

    @property
    def dimension(self) -> int:
        """Length d of an arm."""
        return self.theta.size

    def on_vertices(self) -> FiniteLinearBandit:
        """Return the same problem with the vertices of its arm set as arms.

        A linear function is largest at a vertex: the best expected reward stays the same, and so
        do the gaps. Arms are called by their coordinates.
        """
        raise NotImplementedError

    @property
    def _half_width(self) -> float:
        return self.sigma * math.sqrt(3.0)

    def _law(self, mu: F64, scale: float, words: U64, engine: str) -> Law:
        """Return the rewards of arms with these means, in units of ``scale``."""
        from uli_fast.kernels.rewards import laws

        if self.noise == "bernoulli":
            return bernoulli_law(mu, words, engine)
        if self.noise == "gaussian":
            kind, width = laws.GAUSSIAN, self.sigma
        else:
            kind, width = laws.UNIFORM, self._half_width / scale
        spread = np.full((2, mu.size), width)
        return laws.RealLaw(kind, mu, spread, np.zeros((2, 0)), words)

    def _spread(self) -> dict[str, Any]:
        spread = {} if self.noise == "bernoulli" else {"sigma": self.sigma}
        return spread | {"noise": repr(self.noise)}


class FiniteLinearBandit(LinearBandit, ArmBandit):
    """A linear bandit with finitely many arms: a K-armed bandit for other learners."""

    def __init__(
        self,
        theta: Any,
        arms: Any,
        sigma: float = 1.0,
        noise: str = "gaussian",
        names: Sequence[str] | None = None,
        arm_set: None = None,
    ) -> None:
        self._set_truth(theta, sigma, noise)
        self.arms = _check.matrix("arms", arms)
        self.arms.flags.writeable = False
        if noise == "bernoulli":
            inner = _check.inner_products("theta", self.theta, self.arms, largest=1.0)
            self.binary = True
            ArmBandit.__init__(self, (1.0 + inner) / 2.0, names, 0.0, 1.0)
            return
        inner = _check.inner_products("theta", self.theta, self.arms)
        if noise == "gaussian":
            ArmBandit.__init__(self, inner, names)
            return
        reach = max(1.0, float(np.abs(inner).max())) + self._half_width
        self.has_block_law = False
        ArmBandit.__init__(self, inner, names, -reach, reach)

    @property
    def features(self) -> F64:
        """The arms, (K, d)."""
        return self.arms

    def on_vertices(self) -> FiniteLinearBandit:
        """Return the problem itself: its arms are listed."""
        return self

    @cached_property
    def rank(self) -> int:
        """Dimension of the span of the arms."""
        return designs.rank(self.arms)

    @property
    def subgaussian(self) -> float:
        """The standard deviation if Gaussian; 1/2 on the learner's scale where bounded."""
        return self.sigma if self.noise == "gaussian" else 0.5

    def law(self, words: U64, engine: str = "rounds") -> Law:
        """Return the rewards as the kernels of an engine draw them."""
        return self._law(np.array(self.unit_means), self.scale, words, engine)

    def place_in(self, law: Law, arm: F64, number: int) -> int:
        """Return where a law has an arm: its number."""
        if number < 0:
            raise ArgumentError("arm_set", "does not say which of the arms its answer is")
        return number

    def _parameters(self) -> dict[str, Any]:
        return {"theta": short(self.theta, "entries"), "n_arms": self.n_arms} | self._spread()

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}={value}" for key, value in self._parameters().items())
        return f"LinearBandit({inside})"


class ArmSetBandit(LinearBandit):
    """A linear bandit on an arm set, mostly an infinite one."""

    def __init__(
        self,
        theta: Any,
        arms: None = None,
        sigma: float = 1.0,
        noise: str = "gaussian",
        names: None = None,
        *,
        arm_set: Any,
    ) -> None:
        from uli_fast.arm_sets import as_arm_set

        self._set_truth(theta, sigma, noise)
        if names is not None:
            raise ArgumentError("names", "are for finitely many arms")
        self.arm_set = as_arm_set(arm_set)
        if self.dimension != self.arm_set.dimension:
            raise ArgumentError(
                "theta", f"has {self.dimension} entries, the arms have {self.arm_set.dimension}"
            )
        self.has_block_law = noise != "uniform"
        top = self.arm_set.maximize(self.theta)[1]
        low = -self.arm_set.maximize(-self.theta)[1]
        reach = max(abs(low), abs(top))
        self.low: float | None = None
        self.high: float | None = None
        if noise == "bernoulli":
            if reach > 1.0 + 1e-9:
                raise ArgumentError(
                    "theta", f"<theta, a> must lie in [-1, 1], it reaches {reach!r}"
                )
            self.low, self.high = 0.0, 1.0
        elif noise == "uniform":
            self.high = max(1.0, reach) + self._half_width
            self.low = -self.high
        # What no arm can exceed: gaps are never reported too small.
        self.optimal_value = self.intercept + top * (0.5 if noise == "bernoulli" else 1.0)

    @property
    def scale(self) -> float:
        """Reward units per unit of the scale on which rewards are drawn."""
        return 1.0 if self.low is None or self.high is None else self.high - self.low

    def law(self, words: U64, engine: str = "rounds") -> Law:
        """Return the rewards of one arm, which ``place_in`` puts there: there is no list of all."""
        return self._law(np.zeros(1), self.scale, words, engine)

    def place_in(self, law: Law, arm: F64, number: int) -> int:
        """Give a law the mean of an arm; return where it is."""
        mean = self.intercept + float(arm @ self.slope)
        if self.low is not None:
            mean = min(max((mean - self.low) / self.scale, 0.0), 1.0)
        law.mu[0] = mean
        return 0

    def on_vertices(self) -> FiniteLinearBandit:
        """Return the same problem with the vertices of its arm set as arms."""
        return self._on_vertices

    @cached_property
    def _on_vertices(self) -> FiniteLinearBandit:
        arms = self.arm_set.vertices()
        return FiniteLinearBandit(self.theta, arms, self.sigma, self.noise, coordinates(arms))

    def gaps_of(self, arms: F64) -> F64:
        """Return the distance of arms, one per row, from the best expected reward."""
        return np.maximum(self.optimal_value - self.intercept - arms @ self.slope, 0.0)

    def __repr__(self) -> str:
        shown = {"theta": short(self.theta, "entries"), "arm_set": self.arm_set} | self._spread()
        return "LinearBandit(" + ", ".join(f"{k}={v}" for k, v in shown.items()) + ")"


def coordinates(arms: F64) -> list[str] | None:
    """Return names of arms: their coordinates, None if that is too long or does not tell them."""
    if arms.shape[1] > MOST_COORDINATES:
        return None
    for digits in (6, 17):
        names = [f"({', '.join(f'{x:.{digits}g}' for x in row)})" for row in arms.tolist()]
        if len(set(names)) == len(names):
            return names
    return None


def draw_mean(problem: Any, law: Law, arm: F64, number: int, n: int, engine: str) -> float:
    """Return the mean of n rewards of an arm, less the intercept; "skip" draws it at once.

    ``number`` is that of the arm, where they are finitely many.
    """
    from uli_fast.kernels.rewards.laws import draw_sum, sum_one_by_one

    a, total, left = problem.place_in(law, arm, number), 0.0, n
    if engine == "skip":
        total = draw_sum(law, a, n)
    else:
        while left > 0:
            total += sum_one_by_one(law, a, min(left, AT_ONCE))
            left -= AT_ONCE
    return float((problem.low or 0.0) + problem.scale * (total / n) - problem.intercept)
