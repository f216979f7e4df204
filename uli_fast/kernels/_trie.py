"""The best policy of an explicit set through the suffixes that its policies share.

The values of stage h on depend on the actions from stage h on alone, and a set of policies
has far fewer such suffixes than policies. Q[(s, a), j] is the value of action a in state s
when suffix j follows. At the first stage only the action in s1 matters: a row is an action
there with the actions of the second stage, its columns are the suffixes from the third stage
on. Of long or many rows the most promising is looked at first, and those whose upper bound is
too low are passed over.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uli_fast._typing import F64, I8, I64, U64
from uli_fast.kernels._jit import step
from uli_fast.kernels._mdp import Model, backup, copied

# Suffixes come in multiples of this, copies of the first filling up: what is left over by a
# loop in SIMD registers is computed one by one.
LANES = 16
# Values that are computed faster than their rows are bounded.
MANY = 1500


class Trie(NamedTuple):
    """The suffixes of a set of policies, and room for their values."""

    policies: I8  # (n, H, S) in the order of their index
    level: I64  # (H + 1,) where the suffixes from stage h on begin, h = 2 .. H - 1
    # (S, suffixes) where Q, flat, has the value of a suffix in each state; unsigned, because an
    # index that could be negative is looked at twice
    origin: U64
    row_of: I64  # (S + 1,) where the rows of each initial state begin
    first: I64  # (rows,) action in s1
    head: I64  # (rows,) actions of the second stage
    part: I64  # (heads, S) the rows of Q that those take
    absent: F64  # (rows, columns) 0, or -inf where the set has no such policy
    policy: I64  # (rows, columns) the smallest policy
    Q: F64  # (2, S A, widest level)
    V: F64  # (S, widest level)
    each: I64  # (S,) 0, 1, ...
    top: F64  # (S A,) the largest entry of each row of Q
    bound: F64  # (rows,)
    x: F64  # (widest level,)
    y: F64  # (S,)


@step
def combine(out: F64, V: F64, rows: I64, p: F64, c: float, limit: float, n: int) -> None:
    """Set out to min(sum over k of p[k] V[rows[k]] + c, limit), the sum in the order of k.

    Small MDPs take one pass over ``out``, others one for every two states.
    """
    S = p.shape[0]
    if S == 2:
        p0, p1, v0, v1 = p[0], p[1], V[rows[0]], V[rows[1]]
        for j in range(n):
            out[j] = min((p0 * v0[j] + p1 * v1[j]) + c, limit)
    elif S == 3:
        p0, p1, p2, v0, v1, v2 = p[0], p[1], p[2], V[rows[0]], V[rows[1]], V[rows[2]]
        for j in range(n):
            out[j] = min(((p0 * v0[j] + p1 * v1[j]) + p2 * v2[j]) + c, limit)
    elif S == 4:
        p0, p1, p2, p3 = p[0], p[1], p[2], p[3]
        v0, v1, v2, v3 = V[rows[0]], V[rows[1]], V[rows[2]], V[rows[3]]
        for j in range(n):
            x = ((p0 * v0[j] + p1 * v1[j]) + p2 * v2[j]) + p3 * v3[j]
            out[j] = min(x + c, limit)
    else:
        q, v = p[0], V[rows[0]]
        for j in range(n):
            out[j] = q * v[j]
        for k in range(1, S - 1, 2):
            q, r, v, w = p[k], p[k + 1], V[rows[k]], V[rows[k + 1]]
            for j in range(n):
                out[j] = (out[j] + q * v[j]) + r * w[j]
        q, v = p[S - 1] if S % 2 == 0 else 0.0, V[rows[S - 1]]
        for j in range(n):
            out[j] = min((out[j] + q * v[j]) + c, limit)


@step
def second_stage(trie: Trie, model: Model) -> tuple[int, int]:
    """Work back from the last stage to the second; return which half of Q holds it, and n."""
    H, S, A = model.c.shape
    limit, wide = float(H), trie.Q.shape[2]
    for s in range(S):
        for a in range(A):
            trie.Q[0, s * A + a, 0] = min(0.0 + model.c[H - 1, s, a], limit)
    now, n = 0, 1
    for h in range(H - 2, 0, -1):
        first, n = trie.level[h + 1], trie.level[h + 2] - trie.level[h + 1]
        flat = trie.Q[now].reshape(S * A * wide)
        for k in range(S):
            for j in range(n):
                trie.V[k, j] = flat[trie.origin[k, first + j]]
        now = 1 - now
        for s in range(S):
            for a in range(A):
                out, p, c = trie.Q[now, s * A + a], model.P[h, s, a], model.c[h, s, a]
                combine(out, trie.V, trie.each, p, c, limit, n)
    return now, n


@step
def bound_rows(trie: Trie, model: Model, s1: int) -> int:
    """Fill in upper bounds on the rows of s1 and return where the largest is.

    From the second stage on, any actions are allowed. Backups are monotone to the last bit, so
    that no slack is needed.
    """
    H, S, A = model.c.shape
    limit, V, top = float(H), trie.y, trie.top
    for s in range(S):
        V[s] = 0.0
    for h in range(H - 1, 0, -1):
        for s in range(S):
            for a in range(A):
                top[s * A + a] = backup(model.P, model.c, h, s, a, V, limit)
        for s in range(S):
            V[s] = top[s * A]
            for a in range(1, A):
                V[s] = max(V[s], top[s * A + a])
    most, where = -1.0, trie.row_of[s1]
    for g in range(trie.row_of[s1], trie.row_of[s1 + 1]):
        a, part = trie.first[g], trie.part[trie.head[g]]
        value = 0.0
        for k in range(S):
            value += model.P[0, s1, a, k] * top[part[k]]
        value = min(value + model.c[0, s1, a], limit)
        trie.bound[g] = value
        most, where = (value, g) if value > most else (most, where)
    return int(where)


@step
def largest(x: F64, n: int) -> float:
    """Return the largest of n values; four running maxima do not wait for each other."""
    a = b = c = d = x[0]
    for j in range(0, n - 3, 4):
        a, b = max(a, x[j]), max(b, x[j + 1])
        c, d = max(c, x[j + 2]), max(d, x[j + 3])
    for j in range(n - n % 4, n):
        a = max(a, x[j])
    return float(max(max(a, b), max(c, d)))


@step
def row_values(trie: Trie, model: Model, s1: int, g: int, now: int, n: int, best: float) -> int:
    """Fill in the values of row g at s1, -inf where the set has no such policy.

    Return how many are at least ``best``: rarely any, and a count needs no branches.
    """
    S, limit, a = model.c.shape[1], float(model.c.shape[0]), trie.first[g]
    x, absent, Q, part = trie.x, trie.absent[g], trie.Q[now], trie.part[trie.head[g]]
    p, c, hits = model.P[0, s1, a], model.c[0, s1, a], 0
    if S == 2:
        p0, p1, v0, v1 = p[0], p[1], Q[part[0]], Q[part[1]]
        for j in range(n):
            x[j] = min((p0 * v0[j] + p1 * v1[j]) + c, limit) + absent[j]
            hits += x[j] >= best
    elif S == 3:
        p0, p1, p2, v0, v1, v2 = p[0], p[1], p[2], Q[part[0]], Q[part[1]], Q[part[2]]
        for j in range(n):
            x[j] = min(((p0 * v0[j] + p1 * v1[j]) + p2 * v2[j]) + c, limit) + absent[j]
            hits += x[j] >= best
    else:
        q, v = p[0], Q[part[0]]
        for j in range(n):
            x[j] = q * v[j]
        for k in range(1, S - 1):
            q, v = p[k], Q[part[k]]
            for j in range(n):
                x[j] += q * v[j]
        q, v = p[S - 1] if S > 1 else 0.0, Q[part[S - 1]]
        for j in range(n):
            x[j] = min((x[j] + q * v[j]) + c, limit) + absent[j]
            hits += x[j] >= best
    return hits


@step
def best_row(trie: Trie, model: Model, s1: int) -> tuple[float, int]:
    """Return the largest value at s1 and its smallest policy.

    Three laps: the most promising row, the others, and those that attain the largest value. One
    loop for all, because it is compiled into every caller.
    """
    now, n = second_stage(trie, model)
    begin, end, bound = trie.row_of[s1], trie.row_of[s1 + 1], trie.bound
    promising, best, held, winner = -1, -1.0, -1, trie.policies.shape[0]
    if (end - begin) * n < MANY:
        for g in range(begin, end):
            bound[g] = np.inf
    else:
        promising = bound_rows(trie, model, s1)
    for lap in range(0 if promising >= 0 else 1, 3):
        for g in range(begin, end):
            if lap == 0:
                wanted = g == promising
            elif lap == 1:
                wanted = g != promising and bound[g] >= best
            else:
                wanted = bound[g] == best
            if not wanted:
                continue
            hits = 1 if lap == 2 and g == held else row_values(trie, model, s1, g, now, n, best)
            held = g
            if lap < 2:
                bound[g] = -np.inf
                if hits > 0:
                    bound[g] = best = largest(trie.x, n)
            else:
                for j in range(n):
                    winner = min(winner, trie.policy[g, j]) if trie.x[j] == best else winner
    return best, winner


@step
def choose_by_trie(trie: Trie, model: Model, s1: int, pi: I8) -> None:
    """Write the first policy with the largest value at s1 into pi."""
    if model.c.shape[0] == 1:
        best, winner = -1.0, -1
        for g in range(trie.row_of[s1], trie.row_of[s1 + 1]):
            value = min(0.0 + model.c[0, s1, trie.first[g]], 1.0)
            if value > best or (value == best and trie.policy[g, 0] < winner):
                best, winner = value, trie.policy[g, 0]
    else:
        best, winner = best_row(trie, model, s1)
    model.top[s1] = best
    copied(trie.policies[winner], pi)
