"""Boxes of plausible transition laws, nested in time, and extremes of P V over them.

Row 0 is the law of the first state; row 1 + (h S + s) A + a leads from state s at stage h =
0..H-2 by action a to stage h + 1. Entries of a row belong to its possible successors, in
ascending order. An entry lies in [low, high], the intersection of all its intervals so far.

An interval holds the p with n kl(k / n, p) <= log(2 sqrt(n) M / delta): a Beta(1/2, 1/2) mixture
of likelihoods is at least 1 / (2 sqrt(n)) of the largest one, and Ville's inequality does the
rest, for all n at once.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from uli_fast._typing import F64, I64
from uli_fast.formulas.model_elimination import level_at
from uli_fast.kernels._jit import lean_kernel, lean_step
from uli_fast.kernels.arms.kl import rise

# Literal numbers are types of their own to Numba, and kernels would be compiled for each of them:
# np.int64(1) is not.
Number: TypeAlias = int | np.int64

# Boxes are refreshed when a count has grown by this factor. The 1.02 of the proof leaves room for
# rounding and for the dual gap of the value-constrained choice.
REFRESH = 1.0199
# Relative: a root of kl is known to a few units in the last place, and ends are moved outwards.
WIDER = 2.0**-49
# Sums of the ends of a box may miss 1 by this without it being empty.
EMPTY = 1e-12


class Boxes(NamedTuple):
    """What is known of R rows of at most w successors; all but ``home`` are used at home rows."""

    home: I64  # (R,) the row that a row shares its law with: itself, unless stages are pooled
    size: I64  # (R,) possible successors; 1: the row is known
    to: I64  # (R, w) which states they are
    n: I64  # (R,) visits
    seen: I64  # (R, w) of them to each successor
    at: I64  # (R,) visits when the box was refreshed
    low: F64  # (R, w)
    high: F64  # (R, w)
    rest: F64  # (R,) 1 - sum of low
    ends: F64  # (2, w) room for the ends of a row


@lean_kernel
def upper_end(k: int, n: int, y: float) -> float:
    """Return the largest p with kl(k / n, p) <= y, or a little more."""
    m = k / n
    return min(1.0, (m + rise(m, (n - k) / n, y, False)) * (1.0 + WIDER))


@lean_kernel
def lower_end(k: int, n: int, y: float) -> float:
    """Return the smallest p with kl(k / n, p) <= y, or a little less."""
    m = k / n
    return max(0.0, m - rise((n - k) / n, m, y, True) - WIDER * m)


@lean_step
def refresh_row(boxes: Boxes, i: int, log_term: float) -> bool:
    """Intersect a box with the intervals of today; say whether anything is left.

    A box that would be empty stays as it was: the event has failed, and the run goes on.
    """
    n, lows, highs, fits = boxes.n[i], 0.0, 0.0, True
    y = level_at(n, log_term) / n
    boxes.at[i] = n
    for j in range(boxes.size[i]):
        low = max(boxes.low[i, j], lower_end(boxes.seen[i, j], n, y))
        high = min(boxes.high[i, j], upper_end(boxes.seen[i, j], n, y))
        fits = fits and low <= high
        lows += low
        highs += high
        boxes.ends[0, j], boxes.ends[1, j] = low, high
    if not fits or lows > 1.0 + EMPTY or highs < 1.0 - EMPTY:
        return False
    for j in range(boxes.size[i]):
        boxes.low[i, j], boxes.high[i, j] = boxes.ends[0, j], boxes.ends[1, j]
    boxes.rest[i] = max(0.0, 1.0 - lows)
    return True


@lean_kernel
def refresh(boxes: Boxes, log_term: float) -> bool:
    """Refresh the boxes whose counts have grown; say whether none would be empty.

    ``log_term`` is log(2 M / delta).
    """
    fits = True
    for i in range(boxes.home.shape[0]):
        n = boxes.n[i]  # 0 off home rows
        if n > boxes.at[i] and n >= REFRESH * boxes.at[i] and boxes.size[i] > 1:
            fits = refresh_row(boxes, i, log_term) and fits
    return fits


@lean_kernel
def holds(boxes: Boxes, P: F64) -> bool:
    """Say whether the true rows, (R, w), lie in their boxes."""
    for i in range(boxes.home.shape[0]):
        if boxes.n[i] > 0:
            for j in range(boxes.size[i]):
                if not boxes.low[i, j] <= P[i, j] <= boxes.high[i, j]:
                    return False
    return True


@lean_step
def before(V: F64, a: int, b: int) -> bool:
    """Say whether state a comes before b: by falling V, then by number."""
    return bool(V[a] > V[b] or (V[a] == V[b] and a < b))


@lean_step
def sort_states(V: F64, order: I64) -> None:
    """Sort states by falling V, from whatever order they are in."""
    for i in range(1, order.shape[0]):
        s, j = order[i], i - 1
        while j >= 0 and before(V, s, order[j]):
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = s


@lean_step
def next_in_line(
    boxes: Boxes, i: int, V: F64, order: I64, last: Number, at: int, sign: Number
) -> int:
    """Return the entry of a row whose state comes after that of entry ``last`` (-1: the first).

    ``at`` is how many came before. Full rows read it off ``order``, others search; ``sign`` is
    1 for falling V, -1 for rising.
    """
    if boxes.size[i] == order.shape[0]:
        return int(order[at] if sign > 0 else order[order.shape[0] - 1 - at])
    found = -1
    for j in range(boxes.size[i]):
        s = boxes.to[i, j]
        if last >= 0:
            passed = boxes.to[i, last]
            if s == passed or before(V, passed, s) != (sign > 0):
                continue
        if found < 0 or before(V, s, boxes.to[i, found]) == (sign > 0):
            found = j
    return found


@lean_step
def extreme(boxes: Boxes, row: Number, V: F64, order: I64, sign: Number) -> float:
    """Return the largest (sign 1) or smallest (-1) P V over the box of a row.

    Begin with ``low``, hand out what is missing to 1 in the order of V. ``order`` is by falling
    V; it is needed where rows are full.
    """
    i = boxes.home[row]
    last: Number = np.int64(-1)
    rest, x = boxes.rest[i], 0.0
    for j in range(boxes.size[i]):
        x += boxes.low[i, j] * V[boxes.to[i, j]]
    for at in range(boxes.size[i]):
        if rest <= 0.0:
            break
        last = next_in_line(boxes, i, V, order, last, at, sign)
        add = min(rest, boxes.high[i, last] - boxes.low[i, last])
        x += add * V[boxes.to[i, last]]
        rest -= add
    return x


@lean_step
def most(boxes: Boxes, row: int, V: F64, order: I64) -> float:
    """Return the largest P V over the box of a row."""
    return extreme(boxes, np.int64(row), V, order, np.int64(1))


@lean_kernel
def push(boxes: Boxes, row: Number, V: F64, order: I64, mass: float, x: F64) -> None:
    """Add to x, (S,), the mass that the row with the largest P V sends to each state."""
    i = boxes.home[row]
    last: Number = np.int64(-1)
    rest = boxes.rest[i]
    for j in range(boxes.size[i]):
        x[boxes.to[i, j]] += mass * boxes.low[i, j]
    for at in range(boxes.size[i]):
        if rest <= 0.0:
            break
        last = next_in_line(boxes, i, V, order, last, at, np.int64(1))
        add = min(rest, boxes.high[i, last] - boxes.low[i, last])
        x[boxes.to[i, last]] += mass * add
        rest -= add


@lean_kernel
def spread(boxes: Boxes, row: Number, mid: F64, half: F64, order: I64) -> float:
    """Return min over c of the sum of (high - low) (|mid - c| + half): c is a weighted median.

    ``order`` is by falling mid.
    """
    i = boxes.home[row]
    last: Number = np.int64(-1)
    total, passed = 0.0, 0.0
    for j in range(boxes.size[i]):
        total += boxes.high[i, j] - boxes.low[i, j]
    for at in range(boxes.size[i]):
        last = next_in_line(boxes, i, mid, order, last, at, np.int64(1))
        passed += boxes.high[i, last] - boxes.low[i, last]
        if passed >= 0.5 * total:
            break
    c, x = mid[boxes.to[i, last]], 0.0
    for j in range(boxes.size[i]):
        s = boxes.to[i, j]
        x += (boxes.high[i, j] - boxes.low[i, j]) * (abs(mid[s] - c) + half[s])
    return x
