"""What learners on linear arms share: units, and least squares in the span of the arms."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from uli_fast import _check
from uli_fast._check import Bounds, Labels
from uli_fast._registry import learners
from uli_fast._typing import F64
from uli_fast.arm_sets import as_arm_set
from uli_fast.errors import ArgumentError, NoGuaranteeError, UnsupportedError
from uli_fast.geometry.designs import RANK_TOLERANCE
from uli_fast.guarantees import ROUNDING, ArmsInfo, read_arms
from uli_fast.learners._setting import ArmSetting, about_of
from uli_fast.problems import kinds


def on_vertices(name: str, about: Any) -> Any:
    """Return finitely many arms in the place of an arm set, or of a problem on one: its vertices.

    Anything else is returned as it is; ``name`` is that of the argument.
    """
    try:
        if kinds.is_linear(about):
            return about.on_vertices()
        return as_arm_set(about).vertices() if hasattr(about, "maximize") else about
    except (ArgumentError, UnsupportedError) as reason:
        others = " and ".join(learners(kind="set"))
        raise ArgumentError(
            name,
            "must be listed arms, or a set with few vertices: "
            f"{getattr(reason, 'problem', reason)}. For other sets there is {others}",
        ) from None


def started(
    arms: Any, unused: tuple[Any, Any], bounds: tuple[float, float], at: float
) -> tuple[Labels, float, float, F64, float]:
    """Return what a player on vectors starts with: labels, range, arms, and the mean at 0.

    ``unused`` are the seed and the horizon, which are checked and change nothing.
    """
    _check.unused(*unused)
    features = _check.matrix("arms", on_vertices("arms", arms))
    low, high = _check.reward_range(*bounds)
    intercept = _check.number("intercept", at)
    return tuple(range(len(features))), low, high, features, intercept


class Units(NamedTuple):
    """The proofs' scale: arms and theta of norm at most 1, rewards centred and divided.

    A reward X = intercept + <theta, a> + noise becomes (X - intercept) / scale with
    scale = (largest norm of an arm) x (bound on the norm of theta); the noise is then
    R / scale-subgaussian. Gaps and bounds are multiplied by scale on the way back.
    """

    scale: float  # reward units per unit of the proofs
    R: float  # of the noise, in units of the proofs
    offset: float  # (X_unit * slope - offset) is a reward in units of the proofs,
    slope: float  # X_unit being what kernels draw


def units_of(
    features: F64,
    theta_norm: float,
    R: float | None,
    bounds: Bounds,
    intercept: float,
) -> Units:
    """Return the scale for these arms; rewards in [low, high] are drawn mapped to [0, 1]."""
    largest = float(np.linalg.norm(features, axis=1).max()) or 1.0
    scale = largest * theta_norm
    unit_R = _check.noise(R, bounds) / scale
    low, high = bounds
    if low is None or high is None:
        return Units(scale, unit_R, intercept / scale, 1.0 / scale)
    return Units(scale, unit_R, (intercept - low) / scale, (high - low) / scale)


def noise_units(R: float | None, bounds: Bounds, intercept: float | None) -> Units:
    """Return units in which the noise is 1-subgaussian, and arms are as they are.

    Nothing is taken off where the intercept is not known.
    """
    scale = _check.noise(R, bounds)
    low, high = bounds
    if low is None or high is None:
        return Units(scale, 1.0, (intercept or 0.0) / scale, 1.0 / scale)
    offset = 0.0 if intercept is None else (intercept - low) / scale
    return Units(scale, 1.0, offset, (high - low) / scale)


class LinearSetting(ArmSetting):
    """A learner on arms that are vectors, R in reward units."""

    @cached_property
    def R(self) -> float:
        """R of the noise, in reward units."""
        return _check.noise(self.learner.R, self.bounds, self.arms.noise or None)

    @cached_property
    def units(self) -> Units:
        """The scale of the proofs for these arms."""
        units: Units = self.learner.units(self.features, self.bounds, self.arms.intercept)
        return units


def on_vectors(learner: Any, about: Any) -> LinearSetting:
    """Return a learner on vectors; arms alone say nothing about the range of their rewards."""
    if isinstance(about, LinearSetting) and about.learner is learner:
        return about
    about = on_vertices("about", about_of(about))
    arms = read_arms(about)
    if not (arms is about or kinds.is_bandit(about)):
        arms = arms._replace(low=None, high=None)
    return LinearSetting(learner, about, arms)


def noise_of(about: Any, R: float | None) -> float:
    """Return R in reward units, for rewards of a problem or of a live player's arms.

    Arms alone say nothing about their rewards: R must then be given.
    """
    if hasattr(about, "noise_subgaussian"):
        return _check.noise(R, (about.low, about.high), about.noise_subgaussian or None)
    return _check.noise(R, (None, None))


def check_linear(info: ArmsInfo, R: float, theta_norm: float) -> int:
    """Return the rank of the arms, refusing what the proofs do not cover."""
    if info.d is None:
        raise ArgumentError("about", "must give the arms' rank: a problem, (K, d), or arms")
    if not info.linear:
        raise NoGuaranteeError("the means are not linear in the arms")
    refuse_beyond(info.noise, R, info.theta_norm, theta_norm)
    return info.d


def refuse_beyond(noise: float, R: float, slope_norm: float, theta_norm: float) -> None:
    """Refuse noise beyond R and a theta beyond its bound, both in reward units."""
    if noise > R * ROUNDING:
        raise NoGuaranteeError(
            f"the noise is {noise:g}-subgaussian but the learner assumes R = {R:g}; "
            f"use R = {noise:g} or more"
        )
    if slope_norm > theta_norm * ROUNDING:
        raise NoGuaranteeError(
            f"theta has norm {slope_norm:g}; say so with theta_norm = {slope_norm:g} or more"
        )


def told_by_means(info: ArmsInfo, features: F64, above: F64) -> ArmsInfo:
    """Add what true means, less the intercept, show: linear or not, their size, theta's norm."""
    theta = np.linalg.lstsq(features, above, rcond=RANK_TOLERANCE)[0]
    largest = float(np.abs(above).max())
    linear = bool(np.abs(features @ theta - above).max() <= 1e-9 * max(1.0, largest))
    length = float(np.linalg.norm(theta))
    return info._replace(largest_mean=largest, linear=linear, theta_norm=length)
