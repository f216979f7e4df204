"""A restricted set: back ends tried in turn, and the certificate every answer must pass."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64
from uli_fast.arm_sets._bodies import Body
from uli_fast.arm_sets._rows import Chart, Rows
from uli_fast.errors import InfeasibleError, OracleError

# The bound may exceed the value by this much, relative to |u| and the size of the set.
GAP = 1e-7
# Lengths whose squares are ordinary numbers.
SHORTEST, LONGEST = 1e-140, 1e140
FLOAT = np.dtype(np.float64)


class Answer(NamedTuple):
    """What a back end claims, in standard coordinates."""

    x: F64  # (n,) the point; the back end may use the array again
    le: F64  # (m,) multipliers of W x <= b
    eq: F64  # (k,) multipliers of E x = e
    # Only where the body's support function is not known:
    bound: float = math.nan  # a bound from the solver's own dual point
    outside: float = 0.0  # how far x leaves the set


class Infeasible(Exception):  # noqa: N818
    """A back end finds that the constraints leave nothing."""


class Failed(Exception):  # noqa: N818
    """A back end has no answer."""


class Backend(Protocol):
    """Maximises <g, x> for one body and one set of rows, again and again."""

    def solve(self, g: F64) -> Answer:
        """Return a claim for the direction g, |g| = 1; raise Infeasible or Failed."""
        ...


class Restricted:
    """An arm set under fixed constraints, prepared once and warm for many directions.

    Attributes
    ----------
    calls
        Directions asked for.
    answers
        Answers used, by back end.
    rejected
        Answers that failed the checks, and failures, by back end.
    number
        Of the arm that was answered last, where they are finitely many; else -1.

    Examples
    --------
    >>> import uli_fast as uli
    >>> half = uli.arm_sets.Ball(2).restrict(le=([[1.0, 0.0]], [0.0]))  # the left half of a disc
    >>> print(half.maximize([0.0, 1.0])[0].round(6), half.calls)
    [0. 1.] 1
    """

    number: int = -1  # row of the last answer, where the arms are a list

    def __init__(self) -> None:
        self.calls = 0
        self.answers: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()

    def maximize(self, u: Any) -> tuple[F64, float]:
        """Return a point where <u, a> is largest, and an upper bound on the maximum.

        Raises
        ------
        InfeasibleError
            The constraints leave nothing of the set.
        OracleError
            No back end gave an answer that passed the checks.
        """
        raise NotImplementedError


class Chain(Restricted):
    """A set in standard coordinates with its back ends in order of preference."""

    def __init__(
        self,
        chart: Chart,
        body: Body | None,
        rows: Rows,
        backends: Sequence[tuple[str, Callable[[], Backend]]],
        name: str,
    ) -> None:
        super().__init__()
        self._chart, self._body, self._rows, self._name = chart, body, rows, name
        self._shape = chart.origin.shape
        self._makers = backends
        self._made: list[Backend | Exception | None] = [None] * len(backends)
        self._possible = rows.possible
        self._fixed = tuple(np.ascontiguousarray(part) for part in rows[:4])
        if body is not None:
            from uli_fast.kernels.oracles import body as body_oracle

            self._kind, self._certify = getattr(body_oracle, body.kind), body_oracle.certify

    def maximize(self, u: Any) -> tuple[F64, float]:
        """Return a point where <u, a> is largest, and an upper bound on the maximum."""
        if type(u) is not np.ndarray or u.dtype is not FLOAT or u.shape != self._shape:
            u = checked_direction(u, self._shape[0])
        g = self._chart.direction(u)
        length = math.sqrt(g.dot(g))
        if not SHORTEST < length < LONGEST:  # NaN and infinity come here too
            u = checked_direction(u, self._shape[0])
            length = _length(g)
        self.calls += 1
        x, bound = self._solve(g / length if length > 0.0 else np.eye(1, g.size)[0])
        point = self._chart.point(x)
        bound = self._chart.offset(u) + length * bound
        value = float(u.dot(point))
        return point, (bound if bound > value else value)

    def _solve(self, g: F64) -> tuple[F64, float]:
        """Return the first verified answer."""
        troubles: list[str] = []
        verdicts = 0
        for i, (name, _) in enumerate(self._makers):
            if not self._possible:
                break
            try:
                answer = self._backend(i).solve(g)
            except Infeasible:
                verdicts += 1
                # Two solvers must agree, where there are two.
                self._possible = verdicts < 2 and i + 1 < len(self._makers)
                continue
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as problem:  # even a Rust panic: the next one may answer
                self.rejected[name] += 1
                troubles.append(f"{name}: {problem}")
                continue
            missed, bound, value = self._certificate(g, answer)
            if missed <= self._rows.tolerance and bound - value <= GAP:
                self.answers[name] += 1
                return answer.x, bound
            self.rejected[name] += 1
            self._made[i] = None  # whatever it has kept is prepared again
            troubles.append(
                f"{name}: misses a row by {missed:.1e}, its bound by {bound - value:.1e}"
            )
        where = f"{self._name} with {self._rows.e.size} equalities and {self._rows.b.size} rows"
        if verdicts or not self._possible:
            self._possible = False
            raise InfeasibleError(f"the constraints leave nothing of {where}")
        raise OracleError(f"no verified maximum on {where} ({'; '.join(troubles)})")

    def _backend(self, i: int) -> Backend:
        made = self._made[i]
        if made is None:
            try:
                made = self._makers[i][1]()
            except (Infeasible, Failed) as problem:
                made = problem
            self._made[i] = made
        if isinstance(made, Exception):
            raise made
        return made

    def _certificate(self, g: F64, answer: Answer) -> tuple[float, float, float]:
        """Return by how much the point misses a constraint, an upper bound, and its value."""
        W, b, E, e = self._fixed
        x = answer.x
        if self._body is not None:
            found: tuple[float, float, float] = self._certify(
                self._kind, g, x, W, b, answer.le, E, e, answer.eq
            )
            return found
        over = (answer.outside, (W @ x - b).max(initial=0.0), np.abs(E @ x - e).max(initial=0.0))
        if not (np.isfinite(x).all() and math.isfinite(answer.bound)):
            return math.inf, math.inf, 0.0
        return float(max(over)), answer.bound, float(g @ x)


def checked_direction(u: Any, d: int) -> F64:
    """Return a direction as a finite array of length d."""
    direction = _check.vector("u", u)
    _check.same_length("u", direction, d)
    return direction


def _length(g: F64) -> float:
    """Return the length of a very short or very long vector."""
    largest = float(np.abs(g).max(initial=0.0))
    return float(np.linalg.norm(g / largest)) * largest if largest > 0.0 else 0.0
