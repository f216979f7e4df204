"""The four shapes that arm sets are linear images of: ball, cube, simplex, cross-polytope.

The support function of a body, max <r, x> over its x, turns any multipliers into an
upper bound: it is what makes an answer checkable without trusting its solver.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from uli_fast._typing import F64


def lengths(rows: F64) -> F64:
    """Return the length of each row."""
    squares: F64 = np.einsum("ij,ij->i", rows, rows)
    return np.sqrt(squares)


class LinearForm(NamedTuple):
    """A body with facets: {lift y: low <= y <= high, row_low <= rows y <= row_high}."""

    lift: F64 | None  # (n, N), None where x = y
    low: F64  # (N,)
    high: F64  # (N,)
    rows: F64  # (r, N)
    row_low: F64  # (r,)
    row_high: F64  # (r,)


@dataclass(frozen=True)
class Body:
    """A convex body in R^n within reach of the origin, with a closed linear oracle."""

    n: int

    def support(self, r: F64) -> float:
        """Return max <r, x> over the body."""
        return float(r @ self.argmax(r))

    def supports(self, W: F64) -> F64:
        """Return the support function for each row of W."""
        raise NotImplementedError

    def argmax(self, r: F64) -> F64:
        """Return a point where <r, x> is largest."""
        raise NotImplementedError

    def violation(self, x: F64) -> float:
        """Return how far x leaves the body, 0 inside."""
        raise NotImplementedError

    def cvxpy(self, x: Any) -> list[Any]:
        """Return the body as cvxpy constraints on x."""
        raise NotImplementedError


class RoundBody(Body):
    """The unit ball |x| <= 1."""

    def supports(self, W: F64) -> F64:
        """Return the length of each row."""
        return lengths(W)

    def argmax(self, r: F64) -> F64:
        """Return r / |r|; the centre for r = 0."""
        length = float(np.sqrt(r @ r))
        return r / length if length > 0.0 else np.zeros(self.n)

    def violation(self, x: F64) -> float:
        """Return |x| - 1, at least 0."""
        return max(float(np.sqrt(x @ x)) - 1.0, 0.0)

    def cvxpy(self, x: Any) -> list[Any]:
        """Return |x| <= 1."""
        import cvxpy as cp

        return [cp.norm(x, 2) <= 1]


class LinearBody(Body):
    """A body with facets or few vertices."""

    def linear_form(self) -> LinearForm:
        """Return the body by bounds and rows."""
        raise NotImplementedError


class Cube(LinearBody):
    """The cube [-1, 1]^n."""

    def supports(self, W: F64) -> F64:
        """Return the l1 norm of each row."""
        return np.asarray(np.abs(W).sum(axis=1))

    def argmax(self, r: F64) -> F64:
        """Return the corner of the signs; +1 where r is 0."""
        return np.where(r < 0.0, -1.0, 1.0)

    def violation(self, x: F64) -> float:
        """Return the largest |x_i| - 1, at least 0."""
        return max(float(np.abs(x).max(initial=0.0)) - 1.0, 0.0)

    def cvxpy(self, x: Any) -> list[Any]:
        """Return -1 <= x <= 1."""
        return [x >= -1, x <= 1]

    def linear_form(self) -> LinearForm:
        """Return the bounds."""
        one, none = np.ones(self.n), np.zeros(0)
        return LinearForm(None, -one, one, np.zeros((0, self.n)), none, none)


class UnitSimplex(LinearBody):
    """The probability simplex x >= 0, sum x = 1."""

    def supports(self, W: F64) -> F64:
        """Return the largest entry of each row."""
        return np.asarray(W.max(axis=1))

    def argmax(self, r: F64) -> F64:
        """Return the first best unit vector."""
        x = np.zeros(self.n)
        x[r.argmax()] = 1.0
        return x

    def violation(self, x: F64) -> float:
        """Return the larger of -min x and |sum x - 1|, at least 0."""
        return max(-float(x.min()), abs(float(x.sum()) - 1.0), 0.0)

    def cvxpy(self, x: Any) -> list[Any]:
        """Return x >= 0, sum x = 1."""
        import cvxpy as cp

        return [x >= 0, cp.sum(x) == 1]

    def linear_form(self) -> LinearForm:
        """Return the bounds and the sum."""
        n, one = self.n, np.ones(1)
        return LinearForm(None, np.zeros(n), np.ones(n), np.ones((1, n)), one, one)


class CrossPolytope(LinearBody):
    """The unit ball of the l1 norm."""

    def supports(self, W: F64) -> F64:
        """Return the largest absolute entry of each row."""
        return np.asarray(np.abs(W).max(axis=1))

    def argmax(self, r: F64) -> F64:
        """Return the first best of the 2n vertices."""
        x = np.zeros(self.n)
        i = int(np.abs(r).argmax())
        x[i] = -1.0 if r[i] < 0.0 else 1.0
        return x

    def violation(self, x: F64) -> float:
        """Return the l1 norm less 1, at least 0."""
        return max(float(np.abs(x).sum()) - 1.0, 0.0)

    def cvxpy(self, x: Any) -> list[Any]:
        """Return |x|_1 <= 1."""
        import cvxpy as cp

        return [cp.norm(x, 1) <= 1]

    def linear_form(self) -> LinearForm:
        """Return x = p - q with p, q >= 0 and sum p + q <= 1: it has too many facets."""
        n = self.n
        lift = np.hstack([np.eye(n), -np.eye(n)])
        return LinearForm(
            lift,
            np.zeros(2 * n),
            np.ones(2 * n),
            np.ones((1, 2 * n)),
            np.zeros(1),
            np.ones(1),
        )
