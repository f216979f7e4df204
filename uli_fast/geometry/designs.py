"""Optimal designs: how to spread plays over arms so that every arm is estimated well.

A design nu puts weights on the arms a_1, ..., a_K. With G = sum_i nu_i a_i a_i^T
the leverage of an arm is v_i = a_i^T G^-1 a_i, taken in the span of the arms, whose
dimension is d. Always sum_i nu_i v_i = d, so the largest leverage is at least d; by
the Kiefer-Wolfowitz theorem it equals d exactly where det G is largest. A largest
leverage of at most tolerance * d is therefore a certificate, and it is what the
learners need.

The method is Frank-Wolfe with away steps (Wolfe-Atwood, also Todd-Yildirim) from a
pivoted start: weight moves to the arm with the largest leverage, or away from the
supporting arm with the smallest, whichever is further from d. A step of exact
length costs O(K d).

Designs do not depend on coordinates: the work is done in the left singular vectors
of the arms, where badly scaled arms are as good as any.

Long thin matrices are multiplied and factorised in pieces for which BLAS starts no
threads: at these sizes threads wait for each other longer than they work, and on busy
machines a hundred times longer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64, I64
from uli_fast.errors import ArgumentError, DesignError

# What is public; the rest serves the learners.
__all__ = ["Design", "d_optimal", "g_optimal", "rank", "span_coordinates"]

# Singular values below this fraction of the largest one count as zero.
RANK_TOLERANCE = 1e-10
# Thinner arms, in units of their largest difference, and not flat, are too thin to be told apart;
# and so are arms whose well-scaled coordinates rounding may move by more than this.
THINNEST, BLURRED = 1e-9, 2e-10
# Far more than a tolerance of 1.01 takes (hundreds, for K = 10^4 and d = 20).
LARGEST_ITERATIONS = 200_000
# More arms than this start from a sample of them.
MANY = 4000
# Rank-one updates between two fresh factorisations.
REFRESH = 100
# Arms whose leverages are computed at a time, in memory that stays in the cache.
PIECE = 1024
# OpenBLAS 0.3.31 uses one thread for this many multiplications, and to factorise this many entries.
PRODUCTS, ENTRIES = 1 << 18, 1 << 13


@dataclass(frozen=True, eq=False)
class Design:
    """Weights on the arms and the largest leverage that certifies them.

    Attributes
    ----------
    weights
        Of the arms, (K,); they sum to 1.
    max_leverage
        The largest leverage, at least ``rank``; equal for the best design.
    rank
        Dimension of the span of the arms.
    iterations
        Steps that were taken.

    Examples
    --------
    >>> import uli_fast as uli
    >>> uli.designs.d_optimal([[1.0, 0.0], [0.0, 1.0]]).rank
    2
    """

    weights: F64  # (K,) nonnegative, sum 1
    max_leverage: float  # max_i v_i, at least ``rank`` up to rounding
    rank: int  # dimension of the span of the arms
    iterations: int


def d_optimal(arms: Any, tolerance: float = 1.01) -> Design:
    """Return a design whose largest leverage is at most ``tolerance`` times the rank.

    Parameters
    ----------
    arms
        One arm per row, (K, d). They need not span R^d, and may repeat.
    tolerance
        In (1, 2]; 1 would be the exact D-optimal (and G-optimal) design.

    Returns
    -------
    Design
        Its largest leverage certifies it.

    Raises
    ------
    DesignError
        The tolerance was not reached; happens only very close to 1.

    Examples
    --------
    >>> import uli_fast as uli
    >>> design = uli.designs.d_optimal([[1.0, 0.0], [0.0, 1.0], [0.1, 0.1]])
    >>> print(design.weights.round(2))
    [0.5 0.5 0. ]
    >>> print(design.max_leverage <= 1.01 * design.rank)
    True
    """
    points = _check.matrix("arms", arms, copy=False)
    tolerance = _check.number("tolerance", tolerance)
    if not 1.0 < tolerance <= 2.0:
        raise ArgumentError("tolerance", f"must lie in (1, 2], got {tolerance!r}")
    if len(points) <= MANY:
        X, _ = _spanning(points)
        nu, d = _pivots(X), X.shape[1]
        largest, iterations = _improve(X, nu, tolerance)
    else:
        nu, coordinates, largest = _from_sample(points, tolerance)
        d, iterations = coordinates.shape[1], 0
        if largest > tolerance * d:
            largest, iterations = _improve(times(points, coordinates), nu, tolerance)
    nu.flags.writeable = False
    return Design(nu, largest, d, iterations)


def _improve(X: F64, nu: F64, tolerance: float) -> tuple[float, int]:
    """Improve the design nu in place; return its largest leverage and the steps taken."""
    d = X.shape[1]
    inverse, v = _factorise(X, nu)
    fresh = True  # only fresh leverages may certify
    for iteration in range(LARGEST_ITERATIONS):
        if not fresh and (v.max() <= tolerance * d or iteration % REFRESH == 0):
            inverse, v = _factorise(X, nu)
            fresh = True
        if fresh and v.max() <= tolerance * d:
            return float(v.max()), iteration
        inverse, v = _step(X, nu, inverse, v)
        fresh = False
    raise DesignError(
        f"no design with leverages within {tolerance!r} times the rank {d} was found "
        f"in {LARGEST_ITERATIONS} iterations; use a larger tolerance"
    )


def g_optimal(arms: Any, tolerance: float = 2.0) -> Design:
    """Return a near-G-optimal design with a small support.

    Largest leverages are within ``tolerance`` of the rank d, as in ``d_optimal`` (by
    Kiefer-Wolfowitz the two optima are one). With the default, which is what phased
    elimination asks for, at most 4 d loglog d + 16 arms have weight.

    Parameters
    ----------
    arms
        One arm per row, (K, d). They need not span R^d, and may repeat.
    tolerance
        In (1, 2].

    Returns
    -------
    Design
        With few positive weights.

    Examples
    --------
    >>> import numpy as np
    >>> import uli_fast as uli
    >>> arms = np.random.default_rng(1).standard_normal((500, 3))
    >>> design = uli.designs.g_optimal(arms)
    >>> print((design.weights > 0).sum() < 30, design.max_leverage <= 6)
    True True
    """
    return d_optimal(arms, tolerance)


def span_coordinates(arms: Any) -> F64:
    """Return the arms in an orthonormal basis of their span, (K, rank).

    Parameters
    ----------
    arms
        One arm per row, (K, d).

    Returns
    -------
    array
        The coordinates, (K, rank).

    Examples
    --------
    >>> import uli_fast as uli
    >>> uli.designs.span_coordinates([[1.0, 1.0], [2.0, 2.0]]).shape
    (2, 1)
    """
    X, singular = _spanning(_check.matrix("arms", arms))
    return X * singular


def rank(arms: Any) -> int:
    """Return the dimension of the span of the arms, 0 if all are zero.

    Parameters
    ----------
    arms
        One arm per row, (K, d).

    Returns
    -------
    int
        At most min(K, d).

    Examples
    --------
    >>> import uli_fast as uli
    >>> uli.designs.rank([[1.0, 1.0], [2.0, 2.0]])
    1
    """
    points = _check.matrix("arms", arms)
    return _spanning(points)[1].size if points.any() else 0


def affine_rank(arms: Any) -> int:
    """Return the dimension of the span of the arms' differences, 0 if all are equal."""
    return int(affine_coordinates(arms).coordinates.shape[1])


class Plane(NamedTuple):
    """Well-scaled coordinates of arms in their plane: of mean 0, second moments the identity."""

    coordinates: F64  # (K, k)
    origin: F64 | None  # (k,) coordinates of the origin; None: it may be outside, k < d
    blur: float  # rounding moves no arm by more, nor the origin by more than 1 + |origin| times it
    flat: bool  # the arms have fewer directions than they could: some may be flat but for rounding


def affine_coordinates(arms: Any) -> Plane:
    """Return well-scaled coordinates of the arms in the plane they span, and of the origin."""
    points = _check.matrix("arms", arms)
    K, d = points.shape
    apart = points - points[0]  # copies are 0 to the bit
    largest = np.abs(apart).max()
    if largest == 0.0:
        return Plane(np.zeros((K, 0)), None, 0.0, False)
    largest = 2.0 ** np.ceil(np.log2(largest))  # by which quotients are exact
    apart = apart / largest
    middle = apart.mean(axis=0)
    centred = apart - middle
    axes, singular = _axes(centred)
    stretch = axes.T / singular * np.sqrt(K)
    first = points[0] / largest
    point = first + middle
    origin = -(point @ stretch)
    # Two differences are rounded, and a sum of d products.
    moved = times(np.abs(apart) + (d + 1) * np.abs(centred), np.abs(stretch))
    from_origin = (np.abs(middle) + (d + 1) * np.abs(point)) @ np.abs(stretch)
    far = np.linalg.norm(from_origin) / (1.0 + np.linalg.norm(origin))
    blur = 2.0**-53 * float(max(np.linalg.norm(moved, axis=1).max(), far))
    flat = len(axes) < min(K - 1, d)
    return Plane(times(centred, stretch), origin if len(axes) == d else None, blur, flat)


def is_thin(arms: F64) -> bool:
    """Return whether differences of arms are tiny along some direction, and not just rounded.

    Differences as thin as 1e-8 of the largest are exact along an axis. Along another direction they
    stand in the last digits of all entries, and rounding one difference moves the arm by 1e-8.
    """
    apart = arms - arms[0]
    largest = np.abs(apart).max()
    if largest == 0.0:
        return False
    sizes = np.linalg.svd(apart / largest, compute_uv=False)
    rounded = 1e-14 * max(arms.shape) * max(sizes[0], 0.1 * np.abs(arms).max() / largest)
    if ((sizes > rounded) & (sizes < THINNEST * sizes[0])).any():
        return True
    return affine_coordinates(arms).blur > BLURRED


def _spanning(arms: F64) -> tuple[F64, F64]:
    """Return the left singular vectors (K, rank) and singular values of the arms."""
    if not arms.any():
        raise ArgumentError("arms", "must not all be zero")
    largest = np.abs(arms).max()
    scaled = arms / largest
    axes, singular = _axes(scaled)
    return times(scaled, axes.T / singular), singular * largest


def _axes(X: F64) -> tuple[F64, F64]:
    """Return the right singular vectors (rank, d) and singular values.

    Divide and conquer, which is what NumPy has, starts threads from d = 44 on.
    """
    from scipy.linalg import svd

    _, singular, axes = svd(
        _triangle(X), full_matrices=False, lapack_driver="gesvd", check_finite=False
    )
    keep = singular > RANK_TOLERANCE * singular[0]
    return axes[keep], singular[keep]


def _triangle(X: F64) -> F64:
    """Return R of a QR factorisation, which is also R of the pieces' R one below the other."""
    d = X.shape[1]
    rows = max(2 * d, ENTRIES // d)
    while len(X) > rows:
        whole = len(X) // rows * rows
        pieces = np.asarray(np.linalg.qr(X[:whole].reshape(-1, rows, d), mode="r"))
        X = np.concatenate([pieces.reshape(-1, d), X[whole:]])
    return np.asarray(np.linalg.qr(X, mode="r"))


def times(X: F64, B: F64) -> F64:
    """Return X B for a long X and a matrix or vector B."""
    rows = PRODUCTS // B.size
    if len(X) <= rows or rows < 32:  # no threads, or enough work for them
        return X @ B
    whole = len(X) // rows * rows
    pieces = X[:whole].reshape(-1, rows, len(B)) @ B
    return np.concatenate([pieces.reshape(whole, *B.shape[1:]), X[whole:] @ B])


def _from_sample(points: F64, tolerance: float) -> tuple[F64, F64, float]:
    """Return a sample's design for all arms, good coordinates and the largest leverage.

    Arms outside the span of the sample join it until there are none. The coordinates of
    all arms would be points @ coordinates, (K, rank).
    """
    if not points.any():
        raise ArgumentError("arms", "must not all be zero")
    K, d = points.shape
    size = max(points.max(), -points.min())
    squares = np.einsum("ij,ij->i", points, points)
    chosen = np.random.default_rng(0).choice(K, size=min(K, max(20 * d, K // 20)), replace=False)
    few = min(4 * d, K)
    far = np.argpartition(squares, K - few)[K - few :]
    sample = np.union1d(chosen, far)
    while True:
        axes, singular = _axes(points[sample] / size)
        outside = _outside(points, axes, size * singular[0])
        if not outside.size:
            break
        sample = np.union1d(sample, outside)
    coordinates = axes.T / (singular * size)
    X = times(points[sample], coordinates)
    weights = _pivots(X)
    _improve(X, weights, 1.0 + 0.5 * (tolerance - 1.0))
    root, v = whitened(X, weights)
    nu = np.zeros(K)
    nu[sample] = weights
    return nu, coordinates, _largest_leverage(points, squares, coordinates @ root, v.max())


def _largest_leverage(points: F64, squares: F64, whiten: F64, known: float) -> float:
    """Return the largest |a whiten|^2 of all arms a, of which one is known to exist.

    It is at most |a|^2 |whiten|^2, so that few arms have to be looked at if many are short.
    """
    bound = np.linalg.norm(whiten, 2) ** 2 * (1.0 + 1e-9)
    long = np.flatnonzero(squares * bound > known)
    for i in range(0, long.size, PIECE):
        images = times(points[long[i : i + PIECE]], whiten)
        known = max(known, np.einsum("ij,ij->i", images, images).max())
    return float(known)


def _outside(points: F64, axes: F64, size: float) -> I64:
    """Return up to a hundred arms that are furthest outside the span of orthonormal axes."""
    if len(axes) == points.shape[1]:
        return np.zeros(0, np.int64)
    off = points - times(times(points, axes.T), axes)
    squares = np.einsum("ij,ij->i", off, off)
    worst = np.argsort(-squares)[:100]
    return np.asarray(worst[squares[worst] > (RANK_TOLERANCE * size) ** 2], np.int64)


def _pivots(X: F64) -> F64:
    """Return equal weights on d arms, each the furthest from the span of those before."""
    K, d = X.shape
    nu, axes = np.zeros(K), np.zeros((d, d))
    squares = np.einsum("ij,ij->i", X, X)  # of what lies outside that span
    for j in range(d):
        i = int(squares.argmax())
        axis = X[i]
        for _ in range(2):  # once more, to remove the rounding of the first projection
            axis = axis - axes[:j].T @ (axes[:j] @ axis)
        axes[j] = axis / np.sqrt(axis @ axis)
        squares -= times(X, axes[j]) ** 2
        squares[i] = -1.0
        nu[i] = 1.0 / d
    return nu


def whitened(X: F64, nu: F64) -> tuple[F64, F64]:
    """Return a root of G(nu)^-1 = root root^T, and the leverages, by a QR of the support."""
    nu /= nu.sum()
    support = nu > 0.0
    triangle = _triangle(X[support] * np.sqrt(nu[support])[:, None])
    root = np.asarray(np.linalg.inv(triangle), np.float64)
    images = times(X, root)
    return root, np.einsum("ij,ij->i", images, images)


def _factorise(X: F64, nu: F64) -> tuple[F64, F64]:
    """Return G(nu)^-1 and the leverages."""
    root, v = whitened(X, nu)
    return root @ root.T, v


def _step(X: F64, nu: F64, inverse: F64, v: F64) -> tuple[F64, F64]:
    """Move weight to or from one arm; return the new inverse and leverages."""
    d = X.shape[1]
    most = int(v.argmax())
    least = int(np.where(nu > 0.0, v, np.inf).argmin())
    if v[most] - d >= d - v[least]:
        i, alpha = most, (v[most] / d - 1.0) / (v[most] - 1.0)
        weight = nu[i] * (1.0 - alpha) + alpha
    else:  # away: at most until the arm has no weight left
        i, alpha, weight = least, -nu[least] / (1.0 - nu[least]), 0.0
        exact = (v[i] / d - 1.0) / (v[i] - 1.0) if v[i] > 1.0 else -np.inf
        if exact > alpha:
            alpha, weight = exact, nu[i] * (1.0 - exact) + exact
    # G <- (1 - alpha) G + alpha a a^T, by Sherman and Morrison.
    direction = inverse @ X[i]
    beta = alpha / (1.0 - alpha + alpha * v[i])
    nu *= 1.0 - alpha
    nu[i] = weight
    v = (v - beta * times(X, direction) ** 2) / (1.0 - alpha)
    return (inverse - beta * np.outer(direction, direction)) / (1.0 - alpha), v
