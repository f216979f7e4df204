"""What a guarantee needs to know about arms: their number, rewards' range and noise, span."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64
from uli_fast.errors import NoGuaranteeError
from uli_fast.geometry.designs import rank
from uli_fast.problems import kinds

# An R that is half a range but for rounding is half the range.
ROUNDING = 1.0 + 1e-12


class ArmsInfo(NamedTuple):
    """What a guarantee needs to know about a K-armed problem."""

    K: int
    largest_gap: float = 1.0  # on the learner's scale
    scale: float = 1.0  # reward units per unit of the learner's scale
    subgaussian: float = 0.0  # what the rewards are known to be
    d: int | None = None  # rank of the arms, if they are vectors
    low: float | None = 0.0  # range of the rewards, None if unbounded
    high: float | None = 1.0
    intercept: float = 0.0  # of linear rewards
    largest_mean: float = 1.0  # of linear rewards, from the intercept
    arm_norm: float = 1.0  # largest norm of an arm
    noise: float = 0.0  # R of the noise of linear rewards, in reward units
    theta_norm: float = 0.0  # of linear rewards, in reward units
    features: F64 | None = None  # the arms themselves, where they are known
    linear: bool = True  # False: the means are known not to be linear in the arms

    @property
    def bounded(self) -> bool:
        """Whether rewards stay in a known range."""
        return self.low is not None


def read_arms(about: Any) -> ArmsInfo:
    """Read a problem, a number of arms, (K, d), or an array of arms.

    Numbers say nothing about the rewards: they are taken to lie in [0, 1].
    """
    if isinstance(about, ArmsInfo):
        return about
    if isinstance(about, tuple) and len(about) == 2 and not isinstance(about[0], Sequence):
        return ArmsInfo(_check.whole("about", about[0]), d=_check.whole("about", about[1]))
    arms = _check.vectors("about", about)
    if arms.shape[1]:
        info = ArmsInfo(len(arms), d=max(1, rank(arms)), features=arms)
        return info._replace(arm_norm=_largest_norm(arms))
    if not kinds.is_bandit(about):
        return ArmsInfo(_check.whole("about", about))
    if not about.iid:
        raise NoGuaranteeError(
            "a table's rows need not be independent draws from one law; pass means= to claim it"
        )
    info = ArmsInfo(about.n_arms, about.largest_gap, about.scale, about.subgaussian)
    info = info._replace(low=about.low, high=about.high, features=about.features)
    if not about.features.shape[1]:
        return info
    largest = float(np.abs(about.means - about.intercept).max())
    return info._replace(
        d=max(1, rank(about.features)),
        intercept=about.intercept,
        largest_mean=largest,
        arm_norm=_largest_norm(about.features),
        noise=about.noise_subgaussian,
        theta_norm=about.slope_norm,
    )


def _largest_norm(arms: F64) -> float:
    return float(np.linalg.norm(arms, axis=1).max()) or 1.0


def describe_arms(about: Any, R: float | None) -> tuple[ArmsInfo, float]:
    """Read arms and R on their scale, refusing laws that are not R-subgaussian.

    A number of arms says nothing about the rewards: R is then taken at its word.
    """
    info = read_arms(about)
    own = info.subgaussian * info.scale
    unit = _check.unit_noise(R, (info.low, info.high), own or None)
    if info.subgaussian > unit * ROUNDING:
        raise NoGuaranteeError(
            f"rewards {'may be' if info.bounded else 'are'} {own:g}-subgaussian but the learner "
            f"assumes R = {R:g}; use R = {own:g} or more"
            + (", or no range (low=-inf, high=inf) if R is known" if info.bounded else "")
        )
    return info, unit
