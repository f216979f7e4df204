"""lil'UCB: the bonus depends on the arm's own count only (Eq. lil_bonus)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from uli_fast.kernels._jit import lean_by_type
from uli_fast.kernels.arms import optimism


class LilRule(NamedTuple):
    """The bonus 2R sqrt((log log max(N, e) + log(6 / delta)) / N)."""

    log_six_over_delta: float
    factor: float  # 2R


@lean_by_type(optimism.confidence)
def _confidence(rule: Any, t: Any) -> Callable[..., float] | None:
    def lil_ucb_confidence(rule: Any, t: Any) -> float:
        return rule.log_six_over_delta  # type: ignore[no-any-return]

    return lil_ucb_confidence if rule.instance_class is LilRule else None


@lean_by_type(optimism.radius)
def _radius(rule: Any, level: Any, n: Any) -> Callable[..., float] | None:
    def lil_ucb_radius(rule: Any, level: Any, n: Any) -> float:
        return rule.factor * np.sqrt((np.log(np.log(max(n, np.e))) + level) / n)  # type: ignore[no-any-return]

    return lil_ucb_radius if rule.instance_class is LilRule else None


@lean_by_type(optimism.moves)
def _moves(rule: Any) -> Callable[..., bool] | None:
    return (lambda rule: False) if rule.instance_class is LilRule else None
