"""lil'UCB: the bonus depends on the arm's own count only (Eq. lil_bonus)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from uli_fast.kernels import _optimism
from uli_fast.kernels._jit import by_type


class LilRule(NamedTuple):
    """The bonus 2R sqrt((log log max(N, e) + log(6 / delta)) / N)."""

    log_six_over_delta: float
    two_R: float


@by_type(_optimism.radius)
def _radius(rule: Any, t: Any, n: Any) -> Callable[..., float] | None:
    if rule.instance_class is not LilRule:
        return None

    def lil_radius(rule: Any, t: Any, n: Any) -> float:
        log_term = np.log(np.log(max(n, np.e))) + rule.log_six_over_delta
        return rule.two_R * np.sqrt(log_term / n)  # type: ignore[no-any-return]

    return lil_radius


@by_type(_optimism.refresh)
def _refresh(rule: Any, indices: Any, t: Any) -> Callable[..., None] | None:
    if rule.instance_class is not LilRule:
        return None

    def lil_refresh(rule: Any, indices: Any, t: Any) -> None:
        pass  # only the played arm's index changes, and update() has seen to it

    return lil_refresh
