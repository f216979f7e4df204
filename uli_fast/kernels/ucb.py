"""UCB with the anytime bonus sqrt(log(2 t^2 / delta) / N) (Eq. select_arm_opt_alg)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from uli_fast.formulas.ucb import level_at
from uli_fast.kernels._jit import lean_by_type
from uli_fast.kernels.arms import optimism


class UcbRule(NamedTuple):
    """The bonus 2R sqrt(log(2 t^2 / delta) / N)."""

    log_two_over_delta: float
    factor: float  # 2R


@lean_by_type(optimism.confidence)
def _confidence(rule: Any, t: Any) -> Callable[..., float] | None:
    def ucb_confidence(rule: Any, t: Any) -> float:
        return level_at(t, rule.log_two_over_delta)  # type: ignore[no-any-return]

    return ucb_confidence if rule.instance_class is UcbRule else None


@lean_by_type(optimism.radius)
def _radius(rule: Any, level: Any, n: Any) -> Callable[..., float] | None:
    def ucb_radius(rule: Any, level: Any, n: Any) -> float:
        return rule.factor * np.sqrt(level / n)  # type: ignore[no-any-return]

    return ucb_radius if rule.instance_class is UcbRule else None


@lean_by_type(optimism.moves)
def _moves(rule: Any) -> Callable[..., bool] | None:
    return (lambda rule: True) if rule.instance_class is UcbRule else None
