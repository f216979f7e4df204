"""Backward inductions over boxes: what holds for every plausible model, and for the best of them.

Stages are numbered from 0 to H - 1; before them stands the start, a node with one action and no
reward. Values are on rewards in [0, 1].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uli_fast._typing import B1, F64, I8, I64
from uli_fast.kernels._jit import lean_kernel, lean_step
from uli_fast.kernels.mdp.boxes import Boxes, extreme, most, push, sort_states, spread

# Relative: actions whose values differ by less are equal, and the smallest is taken.
TIE = 1e-12
# Per stage: what rounding may do to a value.
ROUNDING = 1e-12
# A dual is solved up to this times H, where rounding allows no more; F counts twice that.
UNRESOLVED = 5e-10
# Relative: how far the value-constrained choice may stay below the largest.
DUAL_GAP = 1e-9
# Occupancies on both sides of the constraint that are closer than this meet it both.
CLOSE = 1e-13
# Inductions for a dual: by secants, and then by halving, which takes 84 + log2 H at most.
SECANTS, HALVINGS = 20, 100


class View(NamedTuple):
    """What one backward pass finds at a look."""

    r: F64  # (H, S, A) rewards
    left: B1  # (H, S, A) actions left
    dropped: I64  # (H, S, A) the first episode without each, 0 if it is left or never was there
    b: F64  # (H, S, A) by how much a row's doubt may move the value of any policy
    g: F64  # (H, S, A) by how much an action may be worse than the best one
    wide: F64  # (H, S, A) largest minus smallest value after an action
    lag: F64  # (H, S, A) largest value of the state minus smallest after an action
    Q: F64  # (2, A) largest and lowest values of the actions of a state
    V: F64  # (3, H + 1, S) largest, surely attainable and smallest values
    start: F64  # (4,) those at the start, and b there
    mid: F64  # (2, S) middle and half width of [smallest, largest]
    order: I64  # (5, S) states in the order of values


class Choice(NamedTuple):
    """A policy: action ``one`` with probability ``mix``, else ``two``; and room to find it."""

    one: I8  # (H, S) the smaller of the two
    two: I8  # (H, S)
    mix: F64  # (H, S)
    V: F64  # (H + 1, S) of the last induction
    x: F64  # (3, H, S) occupancies; one bound of visits per state
    pi: I8  # (3, H, S) the policies of these occupancies
    R: F64  # (H, S, A) b + lambda r
    free: F64  # (H, S, A) infinite: no cap


@lean_step
def row_of(h: int, s: int, a: int, S: int, A: int) -> int:
    """Return the number of a row."""
    return 1 + (h * S + s) * A + a


@lean_step
def look_ahead(boxes: Boxes, look: View, h: int) -> None:
    """Prepare the orders and the middles of stage h."""
    if boxes.to.shape[1] == look.mid.shape[1]:
        for i in range(3):
            sort_states(look.V[i, h], look.order[i])
    for s in range(look.mid.shape[1]):
        look.mid[0, s] = 0.5 * (look.V[0, h, s] + look.V[2, h, s])
        look.mid[1, s] = 0.5 * (look.V[0, h, s] - look.V[2, h, s])
    if boxes.to.shape[1] == look.mid.shape[1]:
        sort_states(look.mid[0], look.order[3])


@lean_step
def weigh(boxes: Boxes, look: View, h: int, row: int, i: int) -> float:
    """Return the largest (i = 0), surely attainable (1) or smallest (2) P V of stage h."""
    return extreme(boxes, np.int64(row), look.V[i, h], look.order[i], np.int64(1 if i == 0 else -1))


@lean_step
def doubt(boxes: Boxes, look: View, row: int, most: float) -> float:
    """Return b of a row: (P' - P'') V for P', P'' in the box, V between smallest and largest."""
    return min(spread(boxes, np.int64(row), look.mid[0], look.mid[1], look.order[3]), most)


@lean_step
def weigh_state(boxes: Boxes, look: View, h: int, s: int, t: int) -> None:
    """Do the pass at one state: values, actions dropped, b and g."""
    H, S, A = look.r.shape
    sure = -1.0
    for a in range(A):
        if look.left[h, s, a]:
            up = down = look.r[h, s, a]
            if h < H - 1:
                row = row_of(h, s, a, S, A)
                up += weigh(boxes, look, h + 1, row, 0)
                down += weigh(boxes, look, h + 1, row, 1)
            look.Q[0, a], look.Q[1, a] = up, down
            sure = max(sure, down)
    high, second, low = -1.0, -1.0, float(H)
    for a in range(A):
        if not look.left[h, s, a]:
            continue
        if look.Q[0, a] < sure - ROUNDING * H:
            look.left[h, s, a] = False
            look.dropped[h, s, a] = t + 1
            continue
        least = look.r[h, s, a]
        look.b[h, s, a] = 0.0
        if h < H - 1:
            row = row_of(h, s, a, S, A)
            least += weigh(boxes, look, h + 1, row, 2)
            look.b[h, s, a] = doubt(boxes, look, row, look.Q[0, a] - least)
        look.wide[h, s, a] = look.Q[0, a] - least
        look.lag[h, s, a] = -least
        low = min(low, least)
        if look.Q[0, a] > high:
            high, second = look.Q[0, a], high
        else:
            second = max(second, look.Q[0, a])
    for a in range(A):
        if look.left[h, s, a]:
            other = second if look.Q[0, a] == high else high
            look.g[h, s, a] = max(0.0, other - look.Q[1, a])
            look.lag[h, s, a] += high
    look.V[0, h, s], look.V[1, h, s], look.V[2, h, s] = high, sure, low


@lean_kernel
def survey(boxes: Boxes, look: View, t: int) -> None:
    """Go through all stages once, after t episodes: section 3 of the page."""
    H, S, _ = look.r.shape
    for h in range(H - 1, -1, -1):
        if h < H - 1:
            look_ahead(boxes, look, h + 1)
        for s in range(S):
            weigh_state(boxes, look, h, s, t)
    look_ahead(boxes, look, 0)
    for i in range(3):
        look.start[i] = weigh(boxes, look, 0, 0, i)
    look.start[3] = doubt(boxes, look, 0, look.start[0] - look.start[2])


@lean_kernel
def surest(boxes: Boxes, look: View, pi: I8) -> None:
    """Fill in the policy that is worth the surely attainable value of the last pass, (H, S)."""
    H, S, A = look.r.shape
    for h in range(H):
        if h < H - 1 and boxes.to.shape[1] == S:
            sort_states(look.V[1, h + 1], look.order[1])
        for s in range(S):
            mark, chosen = -1.0, -1
            for a in range(A):
                if look.left[h, s, a]:
                    q = look.r[h, s, a]
                    if h < H - 1:
                        q += weigh(boxes, look, h + 1, row_of(h, s, a, S, A), 1)
                    if q * (1.0 - TIE) > mark:
                        mark, chosen = q, a
            pi[h, s] = chosen


@lean_kernel
def induct(
    boxes: Boxes, R: F64, first: float, cap: F64, left: B1, V: F64, pi: I8, order: I64
) -> float:
    """Return the largest sum of R over policies and models, capped row by row.

    ``first`` is earned at the start, where the caller caps. V, (H + 1, S), receives the values,
    pi the policy.
    """
    H, S, A = R.shape
    for h in range(H - 1, -1, -1):
        if h < H - 1 and boxes.to.shape[1] == S:
            sort_states(V[h + 1], order)
        for s in range(S):
            best, mark, chosen = -1.0, -1.0, -1
            for a in range(A):
                if left[h, s, a]:
                    q = R[h, s, a]
                    if h < H - 1:
                        q += most(boxes, row_of(h, s, a, S, A), V[h + 1], order)
                    q = min(q, cap[h, s, a])
                    best = max(best, q)
                    if q * (1.0 - TIE) > mark:
                        mark, chosen = q, a
            V[h, s], pi[h, s] = best, chosen
    if boxes.to.shape[1] == S:
        sort_states(V[0], order)
    return first + most(boxes, 0, V[0], order)


@lean_kernel
def occupy(boxes: Boxes, V: F64, pi: I8, x: F64, A: int, order: I64) -> None:
    """Fill in how often each state is passed through in the model of an induction."""
    H, S = pi.shape
    for h in range(H):
        for s in range(S):
            x[h, s] = 0.0
    for h in range(-1, H - 1):
        if boxes.to.shape[1] == S:
            sort_states(V[h + 1], order)
        if h < 0:
            push(boxes, np.int64(0), V[0], order, 1.0, x[0])
            continue
        for s in range(S):
            if x[h, s] > 0.0:
                row = row_of(h, s, pi[h, s], S, A)
                push(boxes, row, V[h + 1], order, x[h, s], x[h + 1])


@lean_kernel
def inner(x: F64, pi: I8, R: F64) -> float:
    """Return the sum of R along an occupancy."""
    total = 0.0
    for h in range(pi.shape[0]):
        for s in range(pi.shape[1]):
            total += x[h, s] * R[h, s, pi[h, s]]
    return total


@lean_step
def take_over(choice: Choice, i: int, k: int) -> None:
    """Let occupancy k replace occupancy i."""
    for h in range(choice.one.shape[0]):
        for s in range(choice.one.shape[1]):
            choice.x[i, h, s], choice.pi[i, h, s] = choice.x[k, h, s], choice.pi[k, h, s]


@lean_step
def blend(choice: Choice, alpha: float) -> None:
    """Choose the policy of alpha times occupancy 0 and 1 - alpha times occupancy 1."""
    for h in range(choice.one.shape[0]):
        for s in range(choice.one.shape[1]):
            a, c = choice.pi[0, h, s], choice.pi[1, h, s]
            m, k = alpha * choice.x[0, h, s], (1.0 - alpha) * choice.x[1, h, s]
            share = m / (m + k) if m + k > 0.0 else 1.0
            if a == c or share >= 1.0:
                choice.one[h, s], choice.two[h, s], choice.mix[h, s] = a, a, 1.0
            elif share <= 0.0:
                choice.one[h, s], choice.two[h, s], choice.mix[h, s] = c, c, 1.0
            elif a < c:
                choice.one[h, s], choice.two[h, s], choice.mix[h, s] = a, c, share
            else:
                choice.one[h, s], choice.two[h, s], choice.mix[h, s] = c, a, 1.0 - share


@lean_step
def choose_widest(boxes: Boxes, look: View, choice: Choice) -> float:
    """Choose a deterministic policy with the largest capped sum of b; return that sum."""
    W = induct(
        boxes, look.b, look.start[3], look.wide, look.left, choice.V, choice.one, look.order[4]
    )
    for h in range(choice.one.shape[0]):
        for s in range(choice.one.shape[1]):
            choice.two[h, s], choice.mix[h, s] = choice.one[h, s], 1.0
    return float(min(W, look.start[0] - look.start[2]))


@lean_step
def attain(boxes: Boxes, look: View, choice: Choice, lam: float, bonus: float, i: int) -> float:
    """Put into occupancy i what attains the largest sum of bonus b + lam r; return that sum."""
    H, S, A = look.r.shape
    for h in range(H):
        for s in range(S):
            for a in range(A):
                choice.R[h, s, a] = bonus * look.b[h, s, a] + lam * look.r[h, s, a]
    order, V, pi = look.order[4], choice.V, choice.pi[i]
    top = induct(boxes, choice.R, bonus * look.start[3], choice.free, look.left, V, pi, order)
    occupy(boxes, V, pi, choice.x[i], A, order)
    return top


@lean_step
def choose_within(boxes: Boxes, look: View, choice: Choice, least: float) -> float:
    """Choose the policy of the q with the largest <q, b> among those with <q, r> >= least.

    Return an upper bound of that <q, b>: for any lam >= 0, max <q, b + lam r> - lam least is one.
    The least of them over lam is attained; occupancies 0 and 1 lie on either side of the
    constraint, and the next lam makes them equal, or halves the interval that the best one is in.
    """
    H, start = look.r.shape[0], look.start[3]
    W = attain(boxes, look, choice, 0.0, 1.0, 1)
    r1, b1 = inner(choice.x[1], choice.pi[1], look.r), W
    if r1 >= least:
        take_over(choice, 0, 1)
        blend(choice, 1.0)
        return W
    attain(boxes, look, choice, 1.0, 0.0, 0)
    r0 = inner(choice.x[0], choice.pi[0], look.r)
    b0 = start + inner(choice.x[0], choice.pi[0], look.b)
    low, high = 0.0, (b1 - b0) / max(r0 - least, ROUNDING * H)  # lam lies between
    for i in range(SECANTS + HALVINGS):
        if r0 - r1 <= CLOSE or b1 <= b0:
            break
        lam = (b1 - b0) / (r0 - r1)
        value = b0 + lam * (r0 - least)  # of the mixture
        if i >= SECANTS:
            lam = 0.5 * (low + high)
        top = attain(boxes, look, choice, lam, 1.0, 2) - lam * least
        W = min(W, top)
        said = top if i < SECANTS else W
        if said <= value + DUAL_GAP * value + min(1e-13 * (1.0 + lam), UNRESOLVED) * H:
            break
        r2 = inner(choice.x[2], choice.pi[2], look.r)
        b2 = start + inner(choice.x[2], choice.pi[2], look.b)
        if r2 >= least:
            r0, b0, high = r2, b2, lam
            take_over(choice, 0, 2)
        else:
            r1, b1, low = r2, b2, lam
            take_over(choice, 1, 2)
    alpha = 0.0
    if r0 - r1 > CLOSE:
        alpha = min(1.0, max(0.0, (least - r1) / (r0 - r1)))
    blend(choice, alpha)
    return W
