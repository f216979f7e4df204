"""Where the Kullback-Leibler divergence of two coins reaches a level.

kl(m, q) = m log(m / q) + (1 - m) log((1 - m) / (1 - q)). Both roots are found by Newton's method
on sqrt(2 kl), which is nearly straight, with a bracket as safeguard. What is solved for is the
distance from the centre: its terms cancel only up to 1e-16 of it. A root is a function of its
arguments alone, whatever was solved before, so that equal arms have equal indices.
"""

from __future__ import annotations

import math

from uli_fast.kernels._jit import lean_kernel

# More steps than bisection needs; about three are taken.
MOST_STEPS = 128


@lean_kernel
def _done(step: float, room: float, where: float) -> bool:
    """Say whether Newton's next step would be below rounding: its error is squared."""
    return abs(step) <= 1e-9 * room + 1.2e-16 * where


@lean_kernel
def log_of(m: float, w: float) -> float:
    """Return log m, given w = 1 - m: m alone has lost the digits of a small w."""
    return math.log1p(-w) if w < 0.5 else math.log(m)


@lean_kernel
def rise(m: float, w: float, y: float, fine: bool) -> float:
    """Return d >= 0 with kl(m, m + d) = y; m + d is the largest q with kl(m, q) <= y.

    w is 1 - m: where m is close to 1, m alone would lose digits. Steps end where they would not
    change m + d or, if fine, 1 - m - d.
    """
    if w <= 0.0 or y <= 0.0:
        return 0.0
    if m <= 0.0:
        return -math.expm1(-y)
    # kl(m, q) >= w log(w / (1 - q)) + m log m
    low, high = 0.0, -w * math.expm1(-(y - m * log_of(m, w)) / w)
    target = math.sqrt(2.0 * y)
    d = target * math.sqrt(m * w) + 2.0 / 3.0 * (w - m) * y  # the first terms for small y
    if not 0.0 < d < high:
        d = high if high < w else 0.5 * w
    for _ in range(MOST_STEPS):
        k = max(-m * math.log1p(d / m) - w * math.log1p(-d / w), 0.0)
        if k < y:
            low = d
        else:
            high = d
        root = math.sqrt(2.0 * k)
        step = (target - root) * root * ((m + d) * (w - d) / d)
        if _done(step, min(d, w - d), w if fine else m + d):
            return d + step
        d += step
        if not low < d < high:
            d = 0.5 * (low + high)
    return d


@lean_kernel
def shrinkage(m: float, w: float, y: float, d: float) -> float:
    """Return log(w / p) where q = 1 - p is the root of ``rise``, with all its digits.

    m + d would not have them where p is tiny; d, which is near the root, is where to begin. kl is
    convex in log(w / p), so that Newton's method falls to the root once it is above.
    """
    if m <= 0.0:
        return y
    z = -math.log1p(-d / w) if d < 0.9 * w else (y - m * log_of(m, w)) / w
    for _ in range(MOST_STEPS):
        e = -w * math.expm1(-z)
        step = (y + m * math.log1p(e / m) - w * z) * ((m + e) / e)
        z += step
        if abs(step) <= 1e-9 * z + 1e-15:
            break
    return z


@lean_kernel
def fall(q: float, p: float, y: float) -> float:
    """Return e >= 0 with kl(q - e, q) = y, or q where even kl(0, q) is less; p is 1 - q."""
    if q <= 0.0 or p <= 0.0 or y <= 0.0:
        return 0.0
    if -log_of(p, q) <= y:
        return q
    low, high = 0.0, q
    target = math.sqrt(2.0 * y)
    e = target * math.sqrt(q * p)
    if y > 16.0 * p:  # far from straight: kl is near e log(e / p)
        e = y / (math.log(y / p) - 1.0)
    if not e < q:
        e = 0.5 * q
    for _ in range(MOST_STEPS):
        left, right = math.log1p(-e / q), math.log1p(e / p)
        k = max((q - e) * left + (p + e) * right, 0.0)
        if k < y:
            low = e
        else:
            high = e
        root = math.sqrt(2.0 * k)
        step = (target - root) * root / (right - left)
        if _done(step, min(e, q - e), q):
            return e + step
        e += step
        if not low < e < high:
            e = 0.5 * (low + high)
    return e
