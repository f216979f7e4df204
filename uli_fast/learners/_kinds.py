"""The kinds of learners: which one a value is, and what is said where it is another.

This is the one place that asks, for whoever refuses a wrong kind: what a learner can do, it
says itself.
"""

from __future__ import annotations

from typing import Any, TypeGuard

from uli_fast import _check
from uli_fast.errors import ArgumentError
from uli_fast.learners._arms import ArmLearner
from uli_fast.learners._base import Learner
from uli_fast.learners._policies.runs import PolicyLearner


def is_learner(value: Any) -> TypeGuard[Learner]:
    """Return whether a value is a learner of any kind."""
    return isinstance(value, Learner)


def is_arm_learner(value: Any) -> TypeGuard[ArmLearner]:
    """Return whether a value is a learner on finitely many arms."""
    return isinstance(value, ArmLearner)


def arm_learner(name: str, value: Any) -> ArmLearner:
    """Return a learner on finitely many arms, refusing anything else."""
    if not is_arm_learner(value):
        raise ArgumentError(name, f"is not a learner for arms: {_check.called(value)}")
    return value


def policy_learner(name: str, value: Any) -> PolicyLearner:
    """Return a learner on tabular MDPs, refusing anything else."""
    if not isinstance(value, PolicyLearner):
        raise ArgumentError(name, f"is not a learner for MDPs: {_check.called(value)}")
    return value
