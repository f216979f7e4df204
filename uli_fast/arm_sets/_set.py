"""What all arm sets have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64
from uli_fast.arm_sets._bodies import Body, LinearBody, RoundBody, Surrounding
from uli_fast.arm_sets._chain import Backend, Chain, Restricted
from uli_fast.arm_sets._clarabel import Clarabel
from uli_fast.arm_sets._compiled import BallKernel, CutKernel, VertexKernel
from uli_fast.arm_sets._cvxpy import Cvxpy
from uli_fast.arm_sets._highs import Highs
from uli_fast.arm_sets._rows import Chart, Constraint, Rows, checked
from uli_fast.arm_sets._vertices import MOST_VERTICES
from uli_fast.errors import ArgumentError, UnsupportedError


class ArmSet:
    """A compact set of arms in R^d with a linear optimisation oracle.

    The base of all sets here. A set of your own needs ``dimension`` and ``maximize``: see
    docs/arm_sets.md.

    Examples
    --------
    >>> import uli_fast as uli
    >>> point, bound = uli.arm_sets.Ball(3).maximize([3.0, 0.0, 4.0])
    >>> print(point.round(3), round(bound, 3))
    [0.6 0.  0.8] 5.0
    """

    # The back ends by name, in the order in which "auto" tries them.
    backends: ClassVar[tuple[str, ...]] = ("closed",)
    finite: ClassVar[bool] = False  # whether it is a list of points
    proves: ClassVar[bool] = False  # whether it proves its upper bounds
    own: ClassVar[bool] = True  # whether it is a user's, and its size a claim

    def __init__(self, dimension: int, backend: str = "auto") -> None:
        self.dimension = dimension
        self.backend = _check.one_of("backend", backend, ("auto", *self.backends))

    def maximize(self, u: Any, eq: Constraint = None, le: Constraint = None) -> tuple[F64, float]:
        """Return a point where <u, a> is largest, and an upper bound on the maximum.

        Parameters
        ----------
        u
            The direction, (d,).
        eq, le
            Constraints (U, b1) for U a = b1 and (V, b2) for V a <= b2.

        Raises
        ------
        InfeasibleError
            The constraints leave nothing of the set.
        OracleError
            No back end gave an answer that passed the checks.
        """
        return self.restrict(eq, le).maximize(u)

    def restrict(self, eq: Constraint = None, le: Constraint = None) -> Restricted:
        """Return the set under constraints, prepared for many directions."""
        d = self.dimension
        return self._restricted(checked("eq", eq, d), checked("le", le, d))

    def _restricted(self, eq: tuple[F64, F64], le: tuple[F64, F64]) -> Restricted:
        raise NotImplementedError

    def largest_norm(self) -> float:
        """Return an upper bound on the length of an arm."""
        raise NotImplementedError

    def vertices(self, limit: int = MOST_VERTICES) -> F64:
        """Return the vertices, one per row: a linear function is largest at one of them.

        Sets of finitely many points return these as they are.

        Parameters
        ----------
        limit
            The most that are listed.

        Raises
        ------
        UnsupportedError
            The set is not described by finitely many vertices.
        ArgumentError
            It has more vertices than ``limit``.
        """
        return self._vertices(_check.whole("limit", limit))

    def _vertices(self, limit: int) -> F64:
        raise UnsupportedError(f"{self!r} has no list of vertices")

    def contains(self, a: Any, tolerance: float = 1e-9) -> bool:
        """Say whether ``a`` is in the set, up to ``tolerance`` times the set's size."""
        point = _check.vector("a", a)
        _check.same_length("a", point, self.dimension)
        return self._contains(point, _check.number("tolerance", tolerance))

    def _contains(self, a: F64, tolerance: float) -> bool:
        raise NotImplementedError


class StandardSet(ArmSet):
    """An arm set that is the image of a standard body."""

    proves: ClassVar[bool] = True
    own: ClassVar[bool] = False

    def _chain(self, chart: Chart, body: Body, rows: Rows) -> Restricted:
        """Return the restricted set with the back ends that apply."""
        makers = self._makers(body, rows)
        if self.backend == "auto" or not body.n:
            chosen = list(makers.items())
        elif self.backend in makers:
            chosen = [(self.backend, makers[self.backend])]
        else:
            raise ArgumentError(
                "backend",
                f"{self.backend!r} cannot handle {rows.b.size} rows "
                f"and {rows.e.size} equalities; use 'auto'",
            )
        return Chain(chart, body, rows, chosen, repr(self))

    def _makers(self, body: Body, rows: Rows) -> dict[str, Callable[[], Backend]]:
        makers: dict[str, Callable[[], Backend]] = {}
        few = rows.b.size == 0 or (rows.b.size == 1 and isinstance(body, LinearBody))
        if few and not rows.e.size and not isinstance(body, Surrounding):
            makers["closed"] = lambda: CutKernel(body, rows)
        if isinstance(body, LinearBody):
            makers["kernel"] = lambda: VertexKernel(body, rows)
            makers["highs"] = lambda: Highs(body, rows)
        elif body.n:
            makers["kernel"] = lambda: BallKernel(body, rows)
            makers["clarabel"] = lambda: Clarabel(body, rows)
        if body.n:
            makers["cvxpy"] = lambda: Cvxpy(
                body.n,
                rows,
                body.cvxpy,
                np.zeros(body.n),
                is_round=isinstance(body, RoundBody),
            )
        return makers


def shown(name: str, parts: Sequence[str], backend: str) -> str:
    """Return how a set prints; the back end only where it was named."""
    extra = [] if backend == "auto" else [f"backend={backend!r}"]
    return f"{name}({', '.join([*parts, *extra])})"


def frozen(array: F64) -> F64:
    """Return the array, read-only."""
    array.flags.writeable = False
    return array
