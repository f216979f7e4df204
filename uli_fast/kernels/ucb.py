"""UCB with the anytime bonus sqrt(log(2 t^2 / delta) / N) (Eq. select_arm_opt_alg)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from uli_fast.kernels import _optimism
from uli_fast.kernels._jit import by_type


class UcbRule(NamedTuple):
    """The bonus 2R sqrt(log(2 t^2 / delta) / N)."""

    log_two_over_delta: float
    two_R: float


@by_type(_optimism.radius)
def _radius(rule: Any, t: Any, n: Any) -> Callable[..., float] | None:
    if rule.instance_class is not UcbRule:
        return None

    def ucb_radius(rule: Any, t: Any, n: Any) -> float:
        # log(2 t^2 / delta), split because t^2 overflows
        log_term = rule.log_two_over_delta + 2.0 * np.log(float(t))
        return rule.two_R * np.sqrt(log_term / n)  # type: ignore[no-any-return]

    return ucb_radius


@by_type(_optimism.refresh)
def _refresh(rule: Any, indices: Any, t: Any) -> Callable[..., None] | None:
    if rule.instance_class is not UcbRule:
        return None

    def ucb_refresh(rule: Any, indices: Any, t: Any) -> None:
        mean, n, index = indices.mean, indices.n, indices.index
        log_term = rule.log_two_over_delta + 2.0 * np.log(float(t))
        for a in range(index.shape[0]):
            index[a] = mean[a] + rule.two_R * np.sqrt(log_term / n[a])

    return ucb_refresh
