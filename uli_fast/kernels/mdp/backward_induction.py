"""The best policy while none is eliminated: one backward induction.

The maximum over all policies of the value at s1 is that of a backward induction, to the bit.
Among the policies that attain it the one of the smallest index is found digit by digit: an
action is taken if the best completion of the digits so far still attains the maximum. That
need not be a best action where it is taken: clipping and rounding may hide the loss at s1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uli_fast._typing import F64, I8, I64
from uli_fast.kernels._jit import lean_step
from uli_fast.kernels.mdp.episodes import Model, backup


class Induction(NamedTuple):
    """All policies, and room to choose among them."""

    width: I64  # (H, S) actions to choose from: all A, or 1 where there is nothing to decide
    Q: F64  # (H, S, A) the best values after each action
    V: F64  # (H + 1, S) the best values from each stage on
    first: I64  # (H, S) the smallest best action
    short: F64  # (H, S) how far the best of the actions before it falls short of it
    q: F64  # (S,) values at a stage, some of its actions being fixed
    x: F64  # (S,)
    y: F64  # (S,)
    # (2, S) whether a state can be reached from s1, and the probability of the paths to it on
    # which no value is clipped at H: of a loss there, this share at least arrives at s1
    reach: F64
    ahead: F64  # (2, S) the same for the next stage


@lean_step
def best_action(model: Model, room: Induction, h: int, s: int, S: int, A: int) -> None:
    """Fill in the best value at (h, s) and its smallest action.

    It is hard to predict which one that is, so nothing branches on it.
    """
    limit, width = float(room.width.shape[0]), room.width[h, s]
    best = before = -np.inf
    first = 0
    for a in range(A):
        x = 0.0
        for k in range(S):
            x += model.P[h, s, a, k] * room.V[h + 1, k]
        q = min(x + model.c[h, s, a], limit)
        room.Q[h, s, a] = q
        better = (q > best) & (a < width)
        before = best if better else before
        best, first = q if better else best, a if better else first
    room.V[h, s], room.first[h, s], room.short[h, s] = best, first, best - before


@lean_step
def best_values(model: Model, s1: int, room: Induction, S: int, A: int) -> None:
    """Fill in the best value of each state from each stage on, at the first of s1 alone."""
    for h in range(room.width.shape[0] - 1, 0, -1):
        for s in range(S):
            best_action(model, room, h, s, S, A)
    best_action(model, room, 0, s1, S, A)


@lean_step
def value_of_prefix(model: Model, pi: I8, h: int, s1: int, room: Induction) -> float:
    """Return the value at s1 of the stages before h, room.q being the values at stage h."""
    S = room.q.shape[0]
    limit = float(pi.shape[0])
    for s in range(S):
        room.x[s] = room.q[s]
    for g in range(h - 1, 0, -1):
        for s in range(S):
            room.y[s] = backup(model.P, model.c, g, s, pi[g, s], room.x, limit)
        for s in range(S):
            room.x[s] = room.y[s]
    return backup(model.P, model.c, 0, s1, pi[0, s1], room.x, limit)


@lean_step
def first_action(
    model: Model, pi: I8, h: int, s: int, s1: int, rounding: float, room: Induction
) -> int:
    """Return the smallest action at (h, s) with which the maximum is still attained."""
    action = room.first[h, s]
    for a in range(room.first[h, s]):
        if room.reach[1, s] * (room.V[h, s] - room.Q[h, s, a]) < rounding:
            room.q[s] = room.Q[h, s, a]
            if value_of_prefix(model, pi, h, s1, room) == room.V[0, s1]:
                action = a
                break
    room.q[s] = room.Q[h, s, action]
    return int(action)


@lean_step
def look_ahead(model: Model, pi: I8, h: int, room: Induction, S: int) -> None:
    """Work out which states stage h + 1 can be in, those of stage h being in room.reach."""
    H = pi.shape[0]
    reach, ahead = room.reach, room.ahead
    for k in range(S):
        ahead[0, k] = ahead[1, k] = 0.0
    for s in range(S):
        p, any_way = model.P[h, s, pi[h, s]], reach[0, s]
        open_way = reach[1, s] if room.q[s] < H else 0.0
        for k in range(S):
            ahead[0, k] += any_way * p[k]
            ahead[1, k] += open_way * p[k]
    for k in range(S):
        reach[0, k], reach[1, k] = 1.0 if ahead[0, k] > 0.0 else 0.0, ahead[1, k]


@lean_step
def smallest_best(model: Model, s1: int, pi: I8, room: Induction, S: int) -> None:
    """Write into pi the policy of the smallest index with the value room.V[0, s1] at s1."""
    H = pi.shape[0]
    rounding = 1e-14 * H * H * (S + 1)  # more than all backups of a value can lose
    first, share = room.first[0, s1], 1.0 if room.V[0, s1] < H else 0.0
    p = model.P[0, s1, first]
    for s in range(S):
        pi[0, s] = 0
        room.reach[0, s] = 1.0 if p[s] > 0.0 else 0.0
        room.reach[1, s] = share * p[s]
    pi[0, s1] = first
    for h in range(1, H):
        close = False  # rarely: whether an action before the best one might do as well
        for s in range(S):
            room.q[s] = room.V[h, s]
            here = room.reach[0, s] > 0.0  # values elsewhere are multiplied by zero
            pi[h, s] = room.first[h, s] if here else 0
            close = close | (here & (room.reach[1, s] * room.short[h, s] < rounding))
        if close:
            for s in range(S):
                if room.reach[0, s] > 0.0:
                    pi[h, s] = first_action(model, pi, h, s, s1, rounding, room)
        if h < H - 1:
            look_ahead(model, pi, h, room, S)


@lean_step
def best_of_all(room: Induction, model: Model, s1: int, pi: I8, S: int, A: int) -> None:
    """Write the best policy for s1 into pi."""
    best_values(model, s1, room, S, A)
    model.top[s1] = room.V[0, s1]
    smallest_best(model, s1, pi, room, S)


@lean_step
def unnamed(n: int) -> int:
    """Return n: Numba would compile a function again for each literal it is given."""
    return int(np.int64(n))


@lean_step
def choose_by_induction(room: Induction, model: Model, s1: int, pi: I8) -> None:
    """Write the best policy for s1 into pi.

    Where LLVM knows the sizes it unrolls the loops, and is a fifth faster.
    """
    _, S, A = model.c.shape
    if S == 2 and A == 2:
        best_of_all(room, model, s1, pi, unnamed(2), unnamed(2))
    elif S == 3 and A == 2:
        best_of_all(room, model, s1, pi, unnamed(3), unnamed(2))
    elif S == 4 and A == 2:
        best_of_all(room, model, s1, pi, unnamed(4), unnamed(2))
    else:
        best_of_all(room, model, s1, pi, S, A)
