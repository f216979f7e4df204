"""Balls and ellipsoids. A slice by equalities is again one, of a smaller dimension."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64
from uli_fast.arm_sets._bodies import RoundBody
from uli_fast.arm_sets._chain import Restricted
from uli_fast.arm_sets._rows import Chart, restrict_ball, standardise
from uli_fast.arm_sets._set import StandardSet, frozen, shown
from uli_fast.errors import ArgumentError


class BallMap(NamedTuple):
    """Arms as images of the unit ball in ``dimension`` dimensions: center + axes z, |z| <= 1."""

    center: F64  # (d,)
    axes: F64  # a number (), or a matrix (d, dimension) of full rank
    dimension: int

    @property
    def longest(self) -> float:
        """The longest half-axis."""
        if self.axes.ndim == 0:
            return float(self.axes)
        return float(np.linalg.norm(self.axes, 2))

    def arms(self, points: F64) -> F64:
        """Return the images of points, one per row."""
        scaled = points * self.axes if self.axes.ndim == 0 else points @ self.axes.T
        return self.center + scaled

    def reach(self, u: F64) -> float:
        """Return how far the arms go from the center along u, times its length."""
        return _reach(self.axes, u)

    def rounded(self) -> float:
        """Bound by how much rounding moves images, as points of the unit ball.

        A power of two, which every machine finds.
        """
        axes = self.axes * np.eye(self.dimension) if self.axes.ndim == 0 else self.axes
        moved = np.abs(self.center) + np.linalg.norm(axes, axis=1)
        inside = np.abs(np.linalg.pinv(axes, rcond=1e-16)) @ moved
        most = (self.dimension + 3) * 2.0**-53 * np.linalg.norm(inside)
        return float(2.0 ** np.ceil(np.log2(most)))


def _reach(axes: F64, u: F64) -> float:
    return float(np.linalg.norm(axes * u if axes.ndim == 0 else axes.T @ u))


class RoundSet(StandardSet):
    """The image of the unit ball under a chart."""

    backends: ClassVar[tuple[str, ...]] = ("closed", "kernel", "clarabel", "cvxpy")
    _chart: Chart
    _body: RoundBody

    def ball_map(self) -> BallMap:
        """Return the unit ball of which this is a one-to-one image, and the map.

        Directions that the map flattens, up to rounding, are left out: the image is the same. The
        map is one that every machine finds: players keep points of the ball.
        """
        scale = np.asarray(self._chart.scale)
        if scale.ndim == 0:
            return BallMap(self._chart.origin, scale, self.dimension)
        rank = int(np.linalg.matrix_rank(scale))
        if rank == scale.shape[1]:
            return BallMap(self._chart.origin, scale, rank)
        from scipy.linalg import qr

        # scale^T = Q T with the rows of T signed: {scale z} is {T^T w}, w = Q^T z.
        T, order = qr(scale.T, mode="r", pivoting=True)
        axes = np.zeros((self.dimension, rank))
        axes[order] = (T[:rank] * np.sign(np.diag(T)[:rank])[:, None]).T
        return BallMap(self._chart.origin, axes, rank)

    def reach(self, u: F64) -> float:
        """Return how far the set goes from its center along u, times its length."""
        return _reach(np.asarray(self._chart.scale), u)

    def _restricted(self, eq: tuple[F64, F64], le: tuple[F64, F64]) -> Restricted:
        rows = standardise(self._chart, self._body, eq, le)
        chart, rows = restrict_ball(self._chart, rows)
        n = chart.scale.shape[1] if chart.scale.ndim == 2 else self._body.n
        return self._chain(chart, RoundBody(n), rows)


class Ball(RoundSet):
    """The ball of a radius around a centre, ``{a: |a - center| <= radius}``.

    Parameters
    ----------
    d
        Dimension.
    radius
        Above 0.
    center
        (d,); the origin by default.
    backend
        "auto", "closed" (without inequality rows), "kernel", "clarabel" or "cvxpy".

    Examples
    --------
    >>> import uli_fast as uli
    >>> ball = uli.arm_sets.Ball(3)
    >>> point, bound = ball.maximize([3.0, 0.0, 4.0], le=([[0.0, 0.0, 1.0]], [0.0]))
    >>> print(point.round(6))
    [1. 0. 0.]
    """

    def __init__(
        self, d: int, radius: float = 1.0, center: Any = None, backend: str = "auto"
    ) -> None:
        super().__init__(_check.dimension("d", d), backend)
        d = self.dimension
        self.radius = _check.positive("radius", radius)
        self.center = np.zeros(d) if center is None else _check.vector("center", center)
        _check.same_length("center", self.center, d)
        self._chart = Chart(frozen(self.center), np.asarray(self.radius))
        self._body = RoundBody(d)

    def __repr__(self) -> str:
        parts = [str(self.dimension), f"radius={self.radius:g}"]
        return shown("Ball", parts + ["center=..."] * bool(self.center.any()), self.backend)

    def largest_norm(self) -> float:
        """Return ``|center|`` + radius."""
        return float(np.linalg.norm(self.center)) + self.radius

    def _contains(self, a: F64, tolerance: float) -> bool:
        return float(np.linalg.norm(a - self.center)) <= (1.0 + tolerance) * self.radius


class Ellipsoid(RoundSet):
    """The image of a ball, ``{center + shape z: |z| <= 1}``.

    Parameters
    ----------
    center
        (d,).
    shape
        A matrix (d, k), k >= 1, whose columns are where the unit vectors go; for
        orthogonal columns these are the half-axes. It may have any rank: with a rank
        below d the ellipsoid is flat. {a: (a - center)^T M (a - center) <= 1} with a
        positive definite M has shape = inverse of the transposed Cholesky factor of M.
    backend
        "auto", "closed" (without inequality rows), "kernel", "clarabel" or "cvxpy".

    Examples
    --------
    >>> import uli_fast as uli
    >>> flat = uli.arm_sets.Ellipsoid(center=[0.0, 0.0], shape=[[2.0, 0.0], [0.0, 0.5]])
    >>> point, bound = flat.maximize([1.0, 0.0])
    >>> print(point.round(6), round(bound, 6))
    [2. 0.] 2.0
    """

    def __init__(self, center: Any, shape: Any, backend: str = "auto") -> None:
        self.center = frozen(_check.vector("center", center))
        super().__init__(self.center.size, backend)
        self.shape = frozen(_check.matrix("shape", shape))
        if len(self.shape) != self.dimension:
            raise ArgumentError(
                "shape", f"must have {self.dimension} rows as center has, got {len(self.shape)}"
            )
        self._chart = Chart(self.center, self.shape)
        self._body = RoundBody(self.shape.shape[1])

    def __repr__(self) -> str:
        return shown("Ellipsoid", [f"d={self.dimension}, k={self.shape.shape[1]}"], self.backend)

    def largest_norm(self) -> float:
        """Return ``|center|`` plus the longest half-axis."""
        return float(np.linalg.norm(self.center) + np.linalg.norm(self.shape, 2))

    def _contains(self, a: F64, tolerance: float) -> bool:
        z = np.linalg.lstsq(self.shape, a - self.center, rcond=1e-12)[0]
        beside = np.linalg.norm(a - self.center - self.shape @ z)
        size = np.linalg.norm(self.shape, 2) + 1e-6 * np.linalg.norm(self.center)
        return bool(np.linalg.norm(z) <= 1.0 + tolerance and beside <= tolerance * size)
