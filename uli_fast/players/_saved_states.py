"""Saved states are believed if their own decisions and outcomes lead to them.

A state holds every decision and outcome besides what was learned from them. So a fresh player is
told the same, and must come to the same: whoever changes a total, a mask or a phase is found out.
Counts and masks must be equal. Numbers that are computed may differ in their last digits, as
processors round in different ways; the restored player keeps the saved ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from uli_fast.errors import StateError

ROUNDING = 1e-9  # relative to the largest number beside it


def check_numbers(saved: Mapping[str, Any]) -> None:
    """Refuse a state with a number that is not finite."""
    if not _finite(saved):
        raise StateError("state", "holds a number that is not finite")


def _finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        return all(map(_finite, value.values()))
    return not isinstance(value, list | tuple) or all(map(_finite, value))


def within_counts(total: Any, came: Any) -> bool:
    """Return whether sums of rewards from 0 to 1 can be what they are."""
    room = ROUNDING * (1.0 + came)
    return bool((total >= -room).all() and (total <= came + room).all())


def verify(player: Any, saved: Mapping[str, Any], start: Callable[[], Any]) -> None:
    """Refuse a state that its own decisions and outcomes do not lead to.

    ``start`` gives a fresh player of the same kind.
    """
    fresh = player.retraced(start)
    if fresh is not None:
        _compare(player, fresh, saved)
        player.adopt(fresh, saved)


def _compare(player: Any, fresh: Any, saved: Mapping[str, Any]) -> None:
    """Compare all that was saved."""
    here, there = player.state(), fresh.state()
    for name in here:
        if name not in saved or name in player.ahead:
            continue
        # Loading narrows what is known by the intervals of the moment, and so hides a wider one.
        old, new = saved[name] if name == "known" else here[name], there[name]
        if isinstance(old, dict) and isinstance(saved[name], Mapping):
            old, new = ({k: x[k] for k in x if k in saved[name]} for x in (old, new))
        if not same(old, new):
            raise StateError(
                "state",
                f"contradicts itself: {name} is not what its decisions and outcomes lead to",
            )


def same(a: Any, b: Any) -> bool:
    """Compare plain values; floats up to rounding."""
    if a == b:
        return True
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if not isinstance(a, list) or not isinstance(b, list):
        a, b = [a], [b]
    if len(a) != len(b):
        return False
    if any(isinstance(x, list | dict) for x in (*a, *b)):
        return all(map(same, a, b))
    if not all(type(x) is float for x in (*a, *b)):
        return all(
            x == y or (type(x) is type(y) is float and same(x, y))
            for x, y in zip(a, b, strict=True)
        )
    room = ROUNDING * max(map(abs, a))
    return all(abs(x - y) <= room for x, y in zip(a, b, strict=True))
