"""The best policy of an explicit set through the suffixes that its policies share.

The values of stage h on depend on the actions from stage h on alone, and a set of policies
has far fewer such suffixes than policies. Q[(s, a), j] is the value of action a in state s
when suffix j follows. At the first stage only the action in s1 matters: a row is an action
there with the actions of the second stage, its columns are the suffixes from the third stage
on. Where there is much to compute, rows whose upper bound is too low are passed over.

Sums over the next states are written out for two, three and four of them, in several places:
always in the order of the states, as in a backup, so that all values are the same to the bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uli_fast._typing import F64, I8, I64, U64
from uli_fast.kernels._jit import lean_step
from uli_fast.kernels.mdp.episodes import Model, backup, copied

# Suffixes come in multiples of this, copies of the first filling up: what is left over by a
# loop in SIMD registers is computed one by one.
LANES = 16
# Fewer values are computed faster than their rows are bounded.
MANY = 2000


class Trie(NamedTuple):
    """The suffixes of a set of policies, and room for their values."""

    policies: I8  # (n, H, S) in the order of their index
    level: I64  # (H + 1,) where the suffixes from stage h on begin, h = 2 .. H - 1
    # (S, suffixes) where Q, flat, has the value of a suffix in each state; unsigned, because an
    # index that could be negative is checked twice
    origin: U64
    row_of: I64  # (S, A + 1) where the rows of each initial state and first action begin
    end: I64  # (rows,) the columns of a row: further right it has no policies
    part: U64  # (rows, S) the rows of Q that the actions of the second stage take
    absent: F64  # (rows, columns) 0, or -inf where the set has no such policy
    policy: I64  # (rows, columns) the smallest policy
    Q: F64  # (2, S A, widest level)
    V: F64  # (S, widest level)
    top: F64  # (S A,) bounds of the rows of Q
    bound: F64  # (rows,) of their values; inf where rows are too few to be bounded
    likely: I64  # (S,) the row that is looked at first
    x: F64  # (2, more than the widest level) values of the best row so far, and of another
    y: F64  # (S,)


@lean_step
def combine(out: F64, V: F64, p: F64, c: float, limit: float, n: int) -> None:
    """Set out to min(sum over k of p[k] V[k] + c, limit), the sum in the order of k.

    Small MDPs take one pass over ``out``, others one for every two states.
    """
    S = p.shape[0]
    if S == 2:
        p0, p1, v0, v1 = p[0], p[1], V[0], V[1]
        for j in range(n):
            out[j] = min((p0 * v0[j] + p1 * v1[j]) + c, limit)
    elif S == 3:
        p0, p1, p2, v0, v1, v2 = p[0], p[1], p[2], V[0], V[1], V[2]
        for j in range(n):
            out[j] = min(((p0 * v0[j] + p1 * v1[j]) + p2 * v2[j]) + c, limit)
    elif S == 4:
        p0, p1, p2, p3 = p[0], p[1], p[2], p[3]
        v0, v1, v2, v3 = V[0], V[1], V[2], V[3]
        for j in range(n):
            x = ((p0 * v0[j] + p1 * v1[j]) + p2 * v2[j]) + p3 * v3[j]
            out[j] = min(x + c, limit)
    else:
        q, v = p[0], V[0]
        for j in range(n):
            out[j] = q * v[j]
        for k in range(1, S - 1, 2):
            q, r, v, w = p[k], p[k + 1], V[k], V[k + 1]
            for j in range(n):
                out[j] = (out[j] + q * v[j]) + r * w[j]
        q, v = p[S - 1] if S % 2 == 0 else 0.0, V[S - 1]
        for j in range(n):
            out[j] = min((out[j] + q * v[j]) + c, limit)


@lean_step
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
            v, origin = trie.V[k], trie.origin[k, first:]
            for j in range(n):
                v[j] = flat[origin[j]]
        now = 1 - now
        for s in range(S):
            for a in range(A):
                out, p, c = trie.Q[now, s * A + a], model.P[h, s, a], model.c[h, s, a]
                combine(out, trie.V, p, c, limit, n)
    return now, n


@lean_step
def bound_rows(trie: Trie, model: Model, s1: int) -> None:
    """Fill in upper bounds on the rows of s1, and which is the largest.

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
    most = -1.0
    for a in range(A):
        for g in range(trie.row_of[s1, a], trie.row_of[s1, a + 1]):
            value = 0.0
            for k in range(S):
                value += model.P[0, s1, a, k] * top[trie.part[g, k]]
            value = min(value + model.c[0, s1, a], limit)
            trie.bound[g] = value
            if value > most:
                most, trie.likely[s1] = value, g


@lean_step
def largest(bits: I64, n: int) -> int:
    """Return the largest of n values by their bits, whose order is that of values >= 0 or -inf.

    Integers, because a maximum of floats is not computed in SIMD registers.
    """
    most = bits[0]
    for j in range(n):
        most = max(most, bits[j])
    return int(most)


@lean_step
def smallest(policy: I64, bits: I64, least: int, n: int, none: int) -> int:
    """Return the smallest policy of at least a given value."""
    found = none
    for j in range(n):
        candidate = policy[j]
        candidate = candidate if bits[j] >= least else none
        found = candidate if candidate < found else found
    return int(found)


@lean_step
def reaching(Q: F64, rows: U64, p: F64, c: float, absent: F64, best: float, n: int) -> int:
    """Return how many values of a row are at least ``best``, or a bound if S is not 2, 3 or 4.

    Rarely any is, and a count needs neither branches nor stores.
    """
    S, hits = p.shape[0], 0
    if S == 2:
        p0, p1, v0, v1 = p[0], p[1], Q[rows[0]], Q[rows[1]]
        for j in range(n):
            hits += ((p0 * v0[j] + p1 * v1[j]) + c) + absent[j] >= best
    elif S == 3:
        p0, p1, p2, v0, v1, v2 = p[0], p[1], p[2], Q[rows[0]], Q[rows[1]], Q[rows[2]]
        for j in range(n):
            hits += (((p0 * v0[j] + p1 * v1[j]) + p2 * v2[j]) + c) + absent[j] >= best
    elif S == 4:
        p0, p1, p2, p3 = p[0], p[1], p[2], p[3]
        v0, v1, v2, v3 = Q[rows[0]], Q[rows[1]], Q[rows[2]], Q[rows[3]]
        for j in range(n):
            x = ((p0 * v0[j] + p1 * v1[j]) + p2 * v2[j]) + p3 * v3[j]
            hits += (x + c) + absent[j] >= best
    else:
        hits = n
    return hits


@lean_step
def row_values(x: F64, Q: F64, rows: U64, p: F64, c: float, absent: F64, n: int) -> None:
    """Fill in the values of a row, not yet clipped, -inf where the set has no such policy.

    Few rows come here: small MDPs alone take one pass.
    """
    S = p.shape[0]
    if S == 2:
        p0, p1, v0, v1 = p[0], p[1], Q[rows[0]], Q[rows[1]]
        for j in range(n):
            x[j] = ((p0 * v0[j] + p1 * v1[j]) + c) + absent[j]
    elif S == 3:
        p0, p1, p2, v0, v1, v2 = p[0], p[1], p[2], Q[rows[0]], Q[rows[1]], Q[rows[2]]
        for j in range(n):
            x[j] = (((p0 * v0[j] + p1 * v1[j]) + p2 * v2[j]) + c) + absent[j]
    else:
        q, v = p[0], Q[rows[0]]
        for j in range(n):
            x[j] = q * v[j]
        for k in range(1, S - 1):
            q, v = p[k], Q[rows[k]]
            for j in range(n):
                x[j] += q * v[j]
        q, v = p[S - 1] if S > 1 else 0.0, Q[rows[S - 1]]
        for j in range(n):
            x[j] = ((x[j] + q * v[j]) + c) + absent[j]


@lean_step
def best_row(trie: Trie, model: Model, s1: int) -> tuple[float, int]:
    """Return the largest value at s1 and its smallest policy.

    The likely row comes first, and few others reach its best value: the one with the largest
    bound where rows are bounded, else the one that had the largest value last time.
    """
    now, columns = second_stage(trie, model)
    A, limit, none = model.c.shape[2], float(model.c.shape[0]), trie.policies.shape[0]
    row_of = trie.row_of[s1]
    if (row_of[A] - row_of[0]) * columns >= MANY:
        bound_rows(trie, model, s1)
    best, most, winner, held = -1.0, -1, none, 0
    likely = chosen = trie.likely[s1]
    bound, Q = trie.bound, trie.Q[now]
    pattern = trie.x.view(np.int64)  # of both rows; not kept, or a copy of the trie would lose it
    for i in range(-1, A):  # the likely row, then the rows of each first action
        a = max(i, 0)
        while i < 0 and a < A - 1 and row_of[a + 1] <= likely:
            a += 1
        begin, end = (row_of[a], row_of[a + 1]) if i >= 0 else (likely, likely + 1)
        p, c = model.P[0, s1, a], model.c[0, s1, a]
        for g in range(begin, end):
            if (i >= 0 and g == likely) or bound[g] < best:
                continue
            rows, absent, n = trie.part[g], trie.absent[g], trie.end[g]
            if i >= 0 and reaching(Q, rows, p, c, absent, best, n) == 0:
                continue
            x, bits = trie.x[1 - held], pattern[1 - held]
            row_values(x, Q, rows, p, c, absent, n)
            x[n] = limit
            top = min(largest(bits, n), bits[n])
            if top > most:
                bits[n] = most = top
                best, winner, chosen, held = x[n], none, g, 1 - held
            elif top == most:
                winner = min(winner, smallest(trie.policy[g], bits, most, n, none))
    trie.likely[s1] = chosen
    n = trie.end[chosen]
    return best, min(winner, smallest(trie.policy[chosen], pattern[held], most, n, none))


@lean_step
def choose_by_trie(trie: Trie, model: Model, s1: int, pi: I8) -> None:
    """Write the first policy with the largest value at s1, an initial state, into pi."""
    if model.c.shape[0] == 1:
        best, winner = -1.0, -1
        for a in range(model.c.shape[2]):
            value = min(0.0 + model.c[0, s1, a], 1.0)
            for g in range(trie.row_of[s1, a], trie.row_of[s1, a + 1]):
                if value > best or (value == best and trie.policy[g, 0] < winner):
                    best, winner = value, trie.policy[g, 0]
    else:
        best, winner = best_row(trie, model, s1)
    model.top[s1] = best
    copied(trie.policies[winner], pi)
