"""The four shapes that arm sets are linear images of: ball, cube, simplex, cross-polytope.

The support function of a body, max <r, x> over its x, turns any multipliers into an
upper bound: it is what makes an answer checkable without trusting its solver.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

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
    kind: ClassVar[str]  # its name in kernels/oracles/body.py

    def supports(self, W: F64) -> F64:
        """Return the support function for each row of W."""
        raise NotImplementedError

    def cvxpy(self, x: Any) -> list[Any]:
        """Return the body as cvxpy constraints on x."""
        raise NotImplementedError


class RoundBody(Body):
    """The unit ball |x| <= 1."""

    kind: ClassVar[str] = "BALL"

    def supports(self, W: F64) -> F64:
        """Return the length of each row."""
        return lengths(W)

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

    kind: ClassVar[str] = "CUBE"

    def supports(self, W: F64) -> F64:
        """Return the l1 norm of each row."""
        return np.asarray(np.abs(W).sum(axis=1))

    def cvxpy(self, x: Any) -> list[Any]:
        """Return -1 <= x <= 1."""
        return [x >= -1, x <= 1]

    def linear_form(self) -> LinearForm:
        """Return the bounds."""
        one, none = np.ones(self.n), np.zeros(0)
        return LinearForm(None, -one, one, np.zeros((0, self.n)), none, none)


class Surrounding(Cube):
    """The cube around a set whose own rows bound it already."""

    def linear_form(self) -> LinearForm:
        """Return no bounds: the rows imply them."""
        free, none = np.full(self.n, np.inf), np.zeros(0)
        return LinearForm(None, -free, free, np.zeros((0, self.n)), none, none)


class UnitSimplex(LinearBody):
    """The probability simplex x >= 0, sum x = 1."""

    kind: ClassVar[str] = "SIMPLEX"

    def supports(self, W: F64) -> F64:
        """Return the largest entry of each row."""
        return np.asarray(W.max(axis=1))

    def cvxpy(self, x: Any) -> list[Any]:
        """Return x >= 0, sum x = 1."""
        import cvxpy as cp

        return [x >= 0, cp.sum(x) == 1]

    def linear_form(self) -> LinearForm:
        """Return the bounds and the sum."""
        n, one = self.n, np.ones(1)
        return LinearForm(None, np.zeros(n), np.full(n, np.inf), np.ones((1, n)), one, one)


class CrossPolytope(LinearBody):
    """The unit ball of the l1 norm."""

    kind: ClassVar[str] = "CROSS"

    def supports(self, W: F64) -> F64:
        """Return the largest absolute entry of each row."""
        return np.asarray(np.abs(W).max(axis=1))

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
            np.full(2 * n, np.inf),
            np.ones((1, 2 * n)),
            np.full(1, -np.inf),
            np.ones(1),
        )
