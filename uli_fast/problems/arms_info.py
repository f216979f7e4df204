"""What learners and guarantees need to know about arms: their number, rewards, and span."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64
from uli_fast.geometry.designs import rank

# An R that is half a range but for rounding is half the range.
ROUNDING = 1.0 + 1e-12


class ArmsInfo(NamedTuple):
    """What learners and guarantees need to know about a K-armed problem."""

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
    iid: bool = True  # whether rewards of an arm are independent draws from one law

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
    if hasattr(about, "arms_info"):
        info: ArmsInfo = about.arms_info()
        return info
    if isinstance(about, tuple) and len(about) == 2 and not isinstance(about[0], Sequence):
        return ArmsInfo(_check.whole("about", about[0]), d=_check.whole("about", about[1]))
    arms = _check.vectors("about", about)
    if not arms.shape[1]:
        return ArmsInfo(_check.whole("about", about))
    return ArmsInfo(len(arms), d=max(1, rank(arms)), features=arms, arm_norm=largest_norm(arms))


def largest_norm(arms: F64) -> float:
    """Return the largest norm of an arm, 1 if all are 0."""
    return float(np.linalg.norm(arms, axis=1).max()) or 1.0
