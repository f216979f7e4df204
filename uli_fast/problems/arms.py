"""Bandits with finitely many arms.

Bounded problems declare their range: a reward x in [low, high] reaches a
learner as (x - low) / (high - low), and gaps and bounds come back in the
caller's units. Gaussian rewards are unbounded and reach it as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64, I64, U64
from uli_fast.errors import ArgumentError, RewardsExhaustedError
from uli_fast.geometry.designs import rank
from uli_fast.problems.arms_info import ArmsInfo, largest_norm

if TYPE_CHECKING:
    from uli_fast.kernels.rewards.laws import Law


class ArmBandit:
    """K arms with known means: what all finite-armed problems share."""

    # Whether k rewards of an arm can be drawn as one sum.
    has_block_law: bool = True
    # Whether rewards are ``low`` or ``high`` and nothing else.
    binary: bool = False
    # The expected reward of an arm with features 0, where rewards are linear in them.
    intercept: float = 0.0
    # Of linear rewards: R of the noise and the norm of their slope, in reward units.
    noise_subgaussian: float = 0.0
    slope_norm: float = 0.0
    # Whether rewards of an arm are independent draws from one law, as every proof needs.
    iid: bool = True

    runs_out: ClassVar[bool] = False  # whether the rewards of an arm may come to an end

    def __init__(
        self,
        means: F64,
        names: Sequence[str] | None,
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        self.means = means
        self.names = tuple(map(str, range(means.size)))
        if names is not None:
            self.names = _check.arm_names("names", names, means.size)
        self.low, self.high = low, high
        self.gaps: F64 = means.max() - means
        self.means.flags.writeable = self.gaps.flags.writeable = False

    @property
    def n_arms(self) -> int:
        """Number of arms K."""
        return self.means.size

    @property
    def features(self) -> F64:
        """Arms as vectors, (K, d); d = 0 where they are not vectors."""
        return np.zeros((self.means.size, 0))

    @property
    def scale(self) -> float:
        """Reward units per unit of the learner's scale."""
        return 1.0 if self.low is None or self.high is None else self.high - self.low

    def arms_info(self) -> ArmsInfo:
        """Return what learners and guarantees need to know."""
        features = self.features
        info = ArmsInfo(
            self.means.size,
            self.largest_gap,
            self.scale,
            self.subgaussian,
            low=self.low,
            high=self.high,
            features=features,
            iid=self.iid,
        )
        if not features.shape[1]:
            return info
        return info._replace(
            d=max(1, rank(features)),
            intercept=self.intercept,
            largest_mean=float(np.abs(self.means - self.intercept).max()),
            arm_norm=largest_norm(features),
            noise=self.noise_subgaussian,
            theta_norm=self.slope_norm,
        )

    @property
    def unit_means(self) -> F64:
        """Means on the learner's scale."""
        return self.means if self.low is None else (self.means - self.low) / self.scale

    @property
    def subgaussian(self) -> float:
        """The R for which centred rewards are R-subgaussian on the learner's scale."""
        return 0.5

    @property
    def largest_gap(self) -> float:
        """What is known about the gaps on the learner's scale: at most 1 where bounded."""
        return 1.0 if self.low is not None else float(self.gaps.max())

    def law(self, words: U64, engine: str = "rounds") -> Law:
        """Return the rewards as the kernels of an engine draw them.

        ``words`` is a stream (4,), or one for each replication of a batch (M, 4).
        """
        raise TypeError(f"{type(self).__name__} has no reward law")

    def check_horizon(self, horizon: int) -> None:
        """Refuse a horizon for which the rewards cannot last."""

    def check_supply(self, pulls: I64) -> None:
        """Refuse a run that used more rewards than there are."""

    def _real_law(self, kind: int, words: U64, **arrays: F64) -> Law:
        from uli_fast.kernels.rewards.laws import RealLaw

        none = np.zeros((2, 0))
        mu = np.array(self.unit_means)  # writable, as the kernels are compiled for
        return RealLaw(kind, mu, arrays.get("scale", none), arrays.get("prefix", none), words)

    def _parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {"means": short(self.means)}
        if self.low is not None and (self.low, self.high) != (0.0, 1.0):
            parameters |= {"low": self.low, "high": self.high}
        return parameters

    def __repr__(self) -> str:
        inside = ", ".join([f"{key}={value}" for key, value in self._parameters().items()])
        return f"{type(self).__name__}({inside})"


class BernoulliBandit(ArmBandit):
    """Each reward is ``high`` or ``low`` (1 or 0), with the given mean.

    The problem of success and failure: patients, clicks, right and wrong answers.

    Parameters
    ----------
    means
        The arms' expected rewards, in [low, high].
    low, high
        The two rewards; 0 and 1 by default.
    names
        Names of the arms; by default "0", "1", ...

    Examples
    --------
    >>> import uli_fast as uli
    >>> problem = uli.BernoulliBandit([0.62, 0.60, 0.50], names=["new", "standard", "placebo"])
    >>> problem.n_arms, problem.names
    (3, ('new', 'standard', 'placebo'))
    >>> print(problem.gaps.round(2))
    [0.   0.02 0.12]
    """

    binary = True

    def __init__(
        self,
        means: Any,
        low: float = 0.0,
        high: float = 1.0,
        names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(*_bounded("means", means, low, high, names))

    def law(self, words: U64, engine: str = "rounds") -> Law:
        """Return the rewards as the kernels of an engine draw them."""
        return bernoulli_law(np.array(self.unit_means), words, engine)


class DeterministicBandit(ArmBandit):
    """Each reward is its arm's mean: the paper's lower-bound instances.

    Parameters
    ----------
    means
        The arms' rewards, in [low, high].
    low, high
        The range that learners are told.
    names
        Names of the arms; by default "0", "1", ...

    Examples
    --------
    >>> import uli_fast as uli
    >>> two = uli.DeterministicBandit([0.5, 0.4])
    >>> runs = uli.simulate(uli.UCB(), two, horizon=10**6, seed=1)
    >>> print(runs.plays[0, -1].sum())
    1000000
    """

    def __init__(
        self,
        means: Any,
        low: float = 0.0,
        high: float = 1.0,
        names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(*_bounded("means", means, low, high, names))

    @property
    def subgaussian(self) -> float:
        """No noise."""
        return 0.0

    def law(self, words: U64, engine: str = "rounds") -> Law:
        """Return the rewards as the kernels of an engine draw them."""
        from uli_fast.kernels.rewards.laws import DETERMINISTIC

        return self._real_law(DETERMINISTIC, words)


class BetaBandit(ArmBandit):
    """Rewards ``low + (high - low) * Beta(alpha, beta)``.

    Rewards between two ends, such as scores. A sum of them has no simple law, so that every round
    is played.

    Parameters
    ----------
    alpha, beta
        Parameters of each arm's law, above 0; its mean is alpha / (alpha + beta) of the range.
    low, high
        The range of the rewards.
    names
        Names of the arms; by default "0", "1", ...

    Examples
    --------
    >>> import uli_fast as uli
    >>> problem = uli.BetaBandit([8, 2], [2, 8])
    >>> print(problem.gaps)
    [0.  0.6]
    """

    has_block_law = False

    def __init__(
        self,
        alpha: Any,
        beta: Any,
        low: float = 0.0,
        high: float = 1.0,
        names: Sequence[str] | None = None,
    ) -> None:
        self.alpha, self.beta = _check.vector("alpha", alpha), _check.vector("beta", beta)
        _check.same_length("beta", self.beta, self.alpha.size)
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            _check.positive(name, float(value.min()))
        low, high = _check.interval(low, high)
        means = low + (high - low) * self.alpha / (self.alpha + self.beta)
        super().__init__(means, names, low, high)

    def law(self, words: U64, engine: str = "rounds") -> Law:
        """Return the rewards as the kernels of an engine draw them."""
        from uli_fast.kernels.rewards.laws import BETA

        return self._real_law(BETA, words, scale=np.stack([self.alpha, self.beta]))

    def _parameters(self) -> dict[str, Any]:
        rest = super()._parameters()
        del rest["means"]
        return {"alpha": short(self.alpha), "beta": short(self.beta)} | rest


class GaussianBandit(ArmBandit):
    """Rewards N(mean, sigma^2), unbounded; R-subgaussian for R >= sigma.

    Learners need ``R=sigma`` (or more) here: nothing is certified without it.

    Parameters
    ----------
    means
        The arms' expected rewards, any numbers.
    sigma
        Standard deviation of a reward, the same for all arms.
    names
        Names of the arms; by default "0", "1", ...

    Examples
    --------
    >>> import uli_fast as uli
    >>> problem = uli.GaussianBandit([1.0, 0.2], sigma=2.0)
    >>> runs = uli.simulate(uli.BettingElimination(R=2.0), problem, 10**6, seed=1)
    >>> print(runs.holds[0], runs.tv_bound < 1e-9)  # skipping is exact to this much
    True True
    """

    def __init__(self, means: Any, sigma: float = 1.0, names: Sequence[str] | None = None) -> None:
        self.sigma = _check.positive("sigma", sigma)
        super().__init__(_check.vector("means", means), names)

    @property
    def subgaussian(self) -> float:
        """The standard deviation."""
        return self.sigma

    def law(self, words: U64, engine: str = "rounds") -> Law:
        """Return the rewards as the kernels of an engine draw them."""
        from uli_fast.kernels.rewards.laws import GAUSSIAN

        return self._real_law(GAUSSIAN, words, scale=np.full((2, self.n_arms), self.sigma))

    def _parameters(self) -> dict[str, Any]:
        return super()._parameters() | {"sigma": self.sigma}


CUT = "every arm needs the same number of rewards: cut the rows to the length of the shortest"


class TableBandit(ArmBandit):
    """The i-th pull of arm a gives ``rewards[a, i]``: coupling and replay.

    Gaps come from ``means``, by default the averages of the rows. Passing means
    also claims that each row is a sample of independent draws: without it no
    guarantee is attached. A run that needs more columns than there are raises
    RewardsExhaustedError.

    Parameters
    ----------
    rewards
        One row per arm, (K, n), in [low, high].
    means
        The true means, (K,), if the rows are independent draws with these means.
    low, high
        The range of the rewards.
    names
        Names of the arms; by default "0", "1", ...

    Examples
    --------
    >>> import numpy as np
    >>> import uli_fast as uli
    >>> rewards = np.random.default_rng(0).random((2, 1000)) < [[0.8], [0.3]]
    >>> table = uli.TableBandit(rewards.astype(float), means=[0.8, 0.3])
    >>> runs = uli.simulate(uli.KLUCB(), table, horizon=500, seed=1)
    >>> print(runs.plays[0, -1].argmax())
    0
    """

    runs_out: ClassVar[bool] = True

    def __init__(
        self,
        rewards: Any,
        means: Any = None,
        low: float = 0.0,
        high: float = 1.0,
        names: Sequence[str] | None = None,
    ) -> None:
        table = _check.matrix("rewards", rewards, if_ragged=CUT)
        low, high = _check.interval(low, high)
        _check.within("rewards", table, low, high)
        self.iid = means is not None
        if means is None:
            means = np.clip(table.mean(axis=1), low, high)
        super().__init__(*_bounded("means", means, low, high, names))
        if len(table) != self.n_arms:
            raise ArgumentError("rewards", f"has {len(table)} rows for {self.n_arms} means")
        self.columns = table.shape[1]
        self._prefix = np.zeros((self.n_arms, self.columns + 1))
        np.cumsum((table - low) / (high - low), axis=1, out=self._prefix[:, 1:])

    def law(self, words: U64, engine: str = "rounds") -> Law:
        """Return the rewards as the kernels of an engine draw them."""
        from uli_fast.kernels.rewards.laws import TABLE

        return self._real_law(TABLE, words, prefix=self._prefix)

    def check_horizon(self, horizon: int) -> None:
        """Refuse a horizon beyond all rewards of the table."""
        if horizon > self.n_arms * self.columns:
            raise RewardsExhaustedError(
                f"horizon: {horizon} rounds need more rewards than the table has "
                f"({self.n_arms} arms with {self.columns} columns)"
            )

    def check_supply(self, pulls: I64) -> None:
        """Refuse a run that used more rewards than the table has."""
        if pulls.max() > self.columns:
            arm = self.names[int(pulls.argmax())]
            raise RewardsExhaustedError(
                f"arm {arm} was pulled {pulls.max()} times but the table has {self.columns} columns"
            )

    def _parameters(self) -> dict[str, Any]:
        return super()._parameters() | {"columns": self.columns}


def _bounded(
    name: str, value: Any, low: Any, high: Any, names: Sequence[str] | None
) -> tuple[F64, Sequence[str] | None, float, float]:
    means = _check.vector(name, value)
    low, high = _check.interval(low, high)
    _check.within(name, means, low, high)
    return means, names, low, high


def bernoulli_law(p: F64, words: U64, engine: str) -> Law:
    """Return coins with these probabilities; those of "skip" have room for blocks."""
    from uli_fast.kernels.rewards.laws import BernoulliBlocks, BernoulliLaw

    if engine == "rounds":
        return BernoulliLaw(p, words)
    urn = np.zeros((*words.shape[:-1], 2, p.size), np.int64)
    return BernoulliBlocks(p, words, 1.0, urn, np.zeros((p.size, 1), np.int32))


def short(values: F64, what: str = "arms") -> str:
    """Return the first few values as text, and how many there are."""
    shown = map("{:.6g}".format, values[:8])
    return "[" + ", ".join(shown) + (f", ... {values.size} {what}]" if values.size > 8 else "]")
