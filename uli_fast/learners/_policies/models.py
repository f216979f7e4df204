"""Boxes of plausible models before the first episode: rows, successors, and the truth in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from uli_fast._typing import B1, F64, I64

if TYPE_CHECKING:
    from uli_fast.kernels.mdp.boxes import Boxes
    from uli_fast.kernels.mdp.robust import Choice, View
    from uli_fast.problems.tabular_mdp import TabularMDP


class KnownModel(NamedTuple):
    """What is known of an MDP before the first episode."""

    rewards: F64  # (H, S, A)
    initial_support: B1  # (S,) where episodes may begin
    decision_points: B1  # (H, S)
    successors: B1 | None  # (H, S, A, S) which states may follow; None: all


class RowTable(NamedTuple):
    """The rows of a model, R of them with w successors at most; see kernels/mdp/boxes.py."""

    home: I64  # (R,)
    size: I64  # (R,)
    to: I64  # (R, w)

    def flat(self, first: F64, table: F64) -> F64:
        """Return what a law says of the rows, (R, w), given its first row and (H, S, A, S)."""
        S, w = len(first), self.to.shape[1]
        rows = np.concatenate([first[None], table[:-1].reshape(-1, S)])
        taken = np.take_along_axis(rows, self.to, axis=1)
        return np.where(np.arange(w) < self.size[:, None], taken, 0.0)


def row_table(allowed: B1, successors: B1 | None, support: B1 | None, pooled: bool) -> RowTable:
    """Return the rows of a model: ``allowed``, (H, S, A), are the actions that may be chosen.

    Pooled rows have the same law at every stage, so that only what is possible at all of them is.
    """
    H, S, A = allowed.shape
    inner = (H - 1) * S * A
    mask = np.ones((1 + inner, S), np.bool_)
    if support is not None:
        mask[0] = support
    if successors is not None:
        each = successors[:-1]
        if pooled and H > 1:
            each = np.broadcast_to(each.all(axis=0), each.shape)
        mask[1:] = each.reshape(inner, S)
    home, used = np.arange(1 + inner), np.append(True, allowed[:-1].ravel())
    if pooled and H > 1:
        home[1:] = 1 + np.arange(inner) % (S * A)
        used[1 : 1 + S * A] = allowed[:-1].any(axis=0).ravel()
        used[1 + S * A :] = False
    size = mask.sum(axis=1)
    size[~used] = 1
    to = np.argsort(~mask, axis=1, kind="stable")[:, : int(size.max())].copy()
    to[np.arange(to.shape[1]) >= size[:, None]] = 0
    return RowTable(home, size, to)


def allowed_actions(points: B1, A: int) -> B1:
    """Return which actions may be chosen, (H, S, A): where nothing is decided, action 0."""
    allowed: B1 = points[:, :, None] | (np.arange(A) == 0)
    return allowed


def new_boxes(rows: RowTable) -> Boxes:
    """Return boxes in which everything possible is plausible."""
    from uli_fast.kernels.mdp.boxes import Boxes

    entry = np.arange(rows.to.shape[1]) < rows.size[:, None]
    known = rows.size == 1
    return Boxes(
        home=rows.home,
        size=rows.size,
        to=rows.to,
        n=np.zeros_like(rows.size),
        seen=np.zeros_like(rows.to),
        at=np.zeros_like(rows.size),
        low=np.where(entry & known[:, None], 1.0, 0.0),
        high=np.where(entry, 1.0, 0.0),
        rest=np.where(known, 0.0, 1.0),
        ends=np.zeros((2, rows.to.shape[1])),
    )


def new_view(rewards: F64, allowed: B1) -> View:
    """Return room for what a look finds, with all actions left."""
    from uli_fast.kernels.mdp.robust import View

    H, S, A = rewards.shape
    b, g, wide, lag = np.zeros((4, H, S, A))
    return View(
        r=np.array(rewards),
        left=allowed.copy(),
        dropped=np.zeros((H, S, A), np.int64),
        b=b,
        g=g,
        wide=wide,
        lag=lag,
        Q=np.zeros((2, A)),
        V=np.zeros((3, H + 1, S)),
        start=np.zeros(4),
        mid=np.zeros((2, S)),
        order=np.tile(np.arange(S), (5, 1)),
    )


def new_choice(problem_shape: tuple[int, int, int]) -> Choice:
    """Return room for a policy, and for what it takes to find it."""
    from uli_fast.kernels.mdp.robust import Choice

    H, S, A = problem_shape
    return Choice(
        one=np.zeros((H, S), np.int8),
        two=np.zeros((H, S), np.int8),
        mix=np.ones((H, S)),
        V=np.zeros((H + 1, S)),
        x=np.zeros((3, H, S)),
        pi=np.zeros((3, H, S), np.int8),
        R=np.zeros((H, S, A)),
        free=np.full((H, S, A), np.inf),
    )


def rows_of(problem: TabularMDP, pooled: bool) -> RowTable:
    """Return the rows of a problem's model, as far as the learner is told."""
    allowed = allowed_actions(problem.decision_points, problem.n_actions)
    return row_table(allowed, problem.successors, problem.initial_support, pooled)
