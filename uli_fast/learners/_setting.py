"""A learner and what it plays, with all that follows from the two found once.

``learner.on(problem)`` makes it, or ``learner.on(5)`` where there is no problem yet. Simulations,
guarantees and schedules take it and resolve nothing again.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from uli_fast import _check
from uli_fast._check import Bounds
from uli_fast._typing import F64
from uli_fast.errors import GuaranteeWarning, NoGuaranteeError
from uli_fast.guarantees import ROUNDING, ArmsInfo, Guarantee


@dataclass(frozen=True, eq=False)
class LearnerSetting:
    """A learner, and the problem that it plays or what is known of one."""

    learner: Any
    about: Any

    @cached_property
    def _answer(self) -> Guarantee | str:
        """F, or why there is none."""
        try:
            return self.learner.guarantee(self)  # type: ignore[no-any-return]
        except NoGuaranteeError as reason:
            return str(reason)

    @property
    def guarantee(self) -> Guarantee | None:
        """F, None where nothing is proved."""
        if self.learner.baseline or isinstance(self._answer, str):
            return None
        return self._answer

    def guarantee_if_any(self) -> Guarantee | None:
        """Return F; where there is none, warn unless the learner is a baseline."""
        found = self.guarantee
        if found is None and not self.learner.baseline:
            warnings.warn(f"no guarantee: {self._answer}", GuaranteeWarning, stacklevel=3)
        return found


def about_of(about: Any) -> Any:
    """Return what a setting is about, which may be another learner's: its R is not this one's."""
    return about.about if isinstance(about, LearnerSetting) else about


@dataclass(frozen=True, eq=False)
class ArmSetting(LearnerSetting):
    """A learner on K arms."""

    arms: ArmsInfo

    @property
    def K(self) -> int:
        """Number of arms."""
        return self.arms.K

    @property
    def bounds(self) -> Bounds:
        """The declared range of the rewards."""
        return self.arms.low, self.arms.high

    @property
    def features(self) -> F64:
        """The arms, (K, d); d = 0 where they are not vectors."""
        features = self.arms.features
        return np.zeros((self.arms.K, 0)) if features is None else features

    @cached_property
    def R(self) -> float:
        """R on the learner's scale: rewards in a range are mapped to [0, 1]."""
        arms = self.arms
        own = arms.subgaussian * arms.scale
        return _check.unit_noise(self.learner.R, (arms.low, arms.high), own or None)

    @property
    def proved_arms(self) -> ArmsInfo:
        """The arms, where there are proofs for their rewards."""
        if not self.arms.iid:
            raise NoGuaranteeError(
                "a table's rows need not be independent draws from one law; pass means= to claim it"
            )
        return self.arms

    @property
    def subgaussian_arms(self) -> ArmsInfo:
        """The arms, where their rewards are R-subgaussian.

        A number of arms says nothing about the rewards: R is then taken at its word.
        """
        arms = self.proved_arms
        if arms.subgaussian > self.R * ROUNDING:
            own = arms.subgaussian * arms.scale
            raise NoGuaranteeError(
                f"rewards {'may be' if arms.bounded else 'are'} {own:g}-subgaussian but the "
                f"learner assumes R = {self.learner.R:g}; use R = {own:g} or more"
                + (", or no range (low=-inf, high=inf) if R is known" if arms.bounded else "")
            )
        return arms


class PolicySetting(LearnerSetting):
    """A learner on a tabular MDP; ``about`` is one, or its size (S, A, H)."""

    @cached_property
    def size(self) -> tuple[Any, float]:
        """What of the MDP is unknown, and its reward units."""
        return self.learner.read(self.about)  # type: ignore[no-any-return]
