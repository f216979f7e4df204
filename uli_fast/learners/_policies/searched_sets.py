"""Sets of policies that are too large to be listed: what closed phases leave (experimental)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from uli_fast._typing import B1, F64, I8, I64
from uli_fast.errors import PolicySearchError
from uli_fast.learners._policies.policy_sets import PolicySet, induction

if TYPE_CHECKING:
    from uli_fast.kernels.mdp.episodes import Model
    from uli_fast.kernels.mdp.search import Search
    from uli_fast.kernels.policy_elimination import Chooser

# Policies are listed once this few are left.
LISTED = 1 << 17
# Budgets for which bounds are kept: the whole one, doubled again and again, and no limit.
GRID = 12
# Room in a budget for rounding; what is in the set is decided exactly at the end.
ROUNDING = 1e-9


class Closed(NamedTuple):
    """A closed phase: its model, and the policies that it leaves."""

    P: F64  # (H, S, A, S)
    r: F64  # (H, S, A) the rewards
    start: F64  # (S,) episodes that began in each state
    best: float  # largest estimate
    slack: float  # 2^-m
    gap: F64  # (H, S, A) what an action loses against the best policy of the model
    budget: float


@dataclass(frozen=True, eq=False)
class SearchedSet:
    """All policies of a class that closed phases leave."""

    points: B1  # (H, S)
    n_actions: int
    node_cap: int
    closed: tuple[Closed, ...] = ()

    @property
    def count(self) -> float:
        """Number of policies: NaN, unknown, once some may be gone."""
        if self.closed:
            return math.nan
        policies = self.n_actions ** int(self.points.sum())
        return float(policies) if policies < 10**300 else math.inf

    def settled(self, initial: B1, leads: B1) -> I8 | None:
        """Return None: it is not known."""
        return None

    def worst_error(self, model: Model, truth: tuple[F64, F64, F64]) -> float:
        """Return NaN: it is not known."""
        return math.nan

    def chooser(self, method: str, initial: B1 | None = None) -> Chooser:
        """Return what a kernel needs to choose the best policy."""
        return self.search() if self.closed else induction(self.points, self.n_actions)

    def after(self, model: Model, r: F64, m: int) -> SearchedSet | PolicySet:
        """Return what phase m leaves, listed if that is possible."""
        from uli_fast.kernels.mdp.search import FOUND, largest_estimate

        start = model.starts.astype(np.float64)
        V, gap = best_values(model.P, r, self.points)
        everywhere = weighted(start, V[0])
        best = everywhere
        if self.closed:
            status, best = largest_estimate(self.search(), model)
            if status != FOUND:
                raise PolicySearchError(too_many(self.node_cap))
        slack = 2.0**-m
        budget = everywhere - (best - slack) + ROUNDING
        phase = Closed(model.P.copy(), r, start, best, slack, gap, budget)
        left = SearchedSet(self.points, self.n_actions, self.node_cap, (*self.closed, phase))
        return left.listed() or left

    def listed(self) -> PolicySet | None:
        """Return the set as a list, if it is short enough."""
        from uli_fast.kernels.mdp.search import list_members

        policies = np.empty((LISTED, *self.points.shape), np.int8)
        n = list_members(self.search(), policies)
        return PolicySet(self.points, self.n_actions, policies[:n].copy()) if n > 0 else None

    def search(self) -> Search:
        """Return the set as the kernels search it."""
        from uli_fast.kernels.mdp.search import Search

        (H, S), A, J = self.points.shape, self.n_actions, len(self.closed)
        tightest = self.closed[-1]
        grid = np.append(tightest.budget * 2.0 ** np.arange(GRID - 1), np.inf)
        return Search(
            width=np.where(self.points, A, 1).astype(np.int64),
            P=np.stack([c.P for c in self.closed]),
            r=tightest.r,
            start=np.stack([c.start for c in self.closed]),
            least=np.array([[c.start.sum(), c.best, c.slack] for c in self.closed]),
            gap=np.stack([c.gap for c in self.closed]),
            budget=np.array([c.budget for c in self.closed]),
            grid=grid,
            rest=rests(tightest, grid),
            U=np.zeros((H + 1, S, GRID)),
            Q=np.zeros((H, S, A, GRID)),
            weight=np.zeros(S + 1),
            pi=np.zeros((H, S), np.int8),
            best=np.zeros((H, S), np.int8),
            last=np.zeros((S, H, S), np.int8),
            known=np.zeros(S, np.int64),
            occupied=np.zeros((H + 1, J, S)),
            reached=np.zeros((H + 1, S), np.int64),
            left=np.zeros((H * S + 1, J)),
            bound=np.zeros(H * S + 1),
            nodes=np.array([0, self.node_cap]),
            x=np.zeros(S),
            y=np.zeros(S),
        )


def too_many(cap: int) -> str:
    """Say that a search was given up."""
    return (
        f"the search for the best policy would visit more than node_cap = {cap:,} nodes; "
        "raise it, or take a smaller problem"
    )


def weighted(start: F64, V: F64) -> float:
    """Return the mean of V over episodes, summed in the order of the states."""
    total = 0.0
    for weight, value in zip(start, V, strict=True):
        total += weight * value
    return float(total / start.sum())


def best_values(P: F64, r: F64, points: B1) -> tuple[F64, F64]:
    """Return the best values of a model, (H + 1, S), and what each action loses, (H, S, A).

    Sums run over next states in their order, as in the kernels: the best estimate of all
    policies comes out to the bit.
    """
    H, S, A = r.shape
    V, gap = np.zeros((H + 1, S)), np.zeros((H, S, A))
    for h in reversed(range(H)):
        expected = np.zeros((S, A))
        for k in range(S):
            expected = expected + P[h, :, :, k] * V[h + 1, k]
        Q = np.minimum(expected + r[h], H)
        V[h] = np.where(points[h], Q.max(axis=1), Q[:, 0])
        gap[h] = np.maximum(V[h][:, None] - Q, 0.0)
    return V, gap


def rests(closed: Closed, grid: F64) -> I64:
    """Return the grid point that each successor has left, (H, S, A, G, S); -1 if too little."""
    left = grid - closed.gap[..., None]  # (H, S, A, G)
    P = closed.P[:, :, :, None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(P > 0.0, left[..., None] / P, np.inf) * (1.0 - 1e-12)
    points = np.searchsorted(grid, share)
    points[left < 0.0] = -1
    return np.ascontiguousarray(points)
