"""What counts as a problem, and how to show one that was passed in a learner's place."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeGuard

from uli_fast import _check
from uli_fast.errors import ArgumentError
from uli_fast.problems.arms import ArmBandit
from uli_fast.problems.linear import LinearBandit
from uli_fast.problems.tabular_mdp import TabularMDP

Problem: TypeAlias = ArmBandit | LinearBandit | TabularMDP


def is_problem(value: Any) -> bool:
    """Return whether a value is something to play against."""
    return isinstance(value, Problem)


def called(value: Any, usage: str) -> str:
    """Return how a value is shown where ``usage`` says that something else comes first."""
    if is_problem(value):
        return f"{value!r}, which is a problem; did you mean {usage}?"
    return _check.called(value)


def is_bandit(value: Any) -> TypeGuard[ArmBandit]:
    """Return whether a value is a bandit with finitely many arms."""
    return isinstance(value, ArmBandit)


def is_linear(value: Any) -> TypeGuard[LinearBandit]:
    """Return whether a value is a linear bandit, on finitely many arms or on an arm set."""
    return isinstance(value, LinearBandit)


def is_mdp(value: Any) -> TypeGuard[TabularMDP]:
    """Return whether a value is a tabular MDP."""
    return isinstance(value, TabularMDP)


def bandit(name: str, value: Any) -> ArmBandit:
    """Return a bandit with finitely many arms, refusing anything else."""
    if not is_bandit(value):
        raise ArgumentError(name, f"is not a bandit with finitely many arms: {value!r}")
    return value
