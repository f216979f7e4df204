"""Blocks and looks of sharp PE-linear (docs/proofs_linear.md).

Arms are rows of coordinates in which a few of them, the pivots, are unit vectors: s holds the
weighted estimates of the pivots' values, H their variance. When a pivot is dropped, others take its
place, and s and H follow. Rewards are in units of R.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from uli_fast._typing import B1, F64, I64
from uli_fast.formulas.mixture import boundary
from uli_fast.kernels._jit import kernel
from uli_fast.kernels.arms.state import PHASE, ROUND, ArmState
from uli_fast.kernels.linear.designs import (
    NOTHING,
    factor,
    improve,
    inverse_of,
    largest_pair,
    moments,
    product,
    prune,
    span,
    whitened,
)

# Up to this many arms the largest leverage of a pair is that of the block itself, not its design's.
FEW = 64
# Tests are made outward by this factor, and by this part of the sums that are compared.
OUTWARD, ROOM = 1.0 + 1e-9, 1e-14
# A known intercept is used where the origin is not further from the arms in play than this many
# times their spread: beyond, differences of coordinates would lose half their digits.
FAR_AWAY = 1e3
# Positions in LinearState.counts and .facts.
RANK, LEADER, COPIES, OPEN, TIED, WITHDRAWN = 0, 1, 2, 3, 4, 5
INFORMATION, PAIR, LEVEL, RHO, LEVERAGE, PLANNED, AMPLIFIED = 0, 1, 2, 3, 4, 5, 6
BLUR, OFF, BIAS, WIDEST, ABSENT, ALLOWED, KNOWN, UNEVEN = 7, 8, 9, 10, 11, 12, 13, 14


class LinearState(NamedTuple):
    """What blocks leave, and what the next ones play."""

    affine: F64  # (K, k + 1) the arms as (1, z), z well scaled
    origin: F64  # (k + 1,) where means are known to be 0, or nothing
    C: F64  # (K, k + 1) coordinates of the active arms, which sum to 1
    tie: F64  # (k + 1,) the origin in them, where it lies in the plane of the active arms
    pivots: I64  # (k + 1,) the arms that have unit vectors
    s: F64  # (k + 1,) sum of w_l theta_l, by pivots
    H: F64  # (k + 1, k + 1) sum of w_l^2 V_l^+
    weights: F64  # (K,) the design pi
    warm: F64  # (2, K) D-optimal weights on (1, z) and on known intercepts, before pruning
    sizes: I64  # (blocks,) m_l
    least: F64  # (2, K) below this no arm is dropped by the leader, nor breaks the event
    error: F64  # (K,) what missing or rounded rewards may have moved <s, a> by
    # J; the design's largest leverage of a pair; L; rho; rbar; M_l; the largest m_l / w_l. What
    # coordinates leave out: by how much they are off at first, and are at most; what that makes of
    # differences, in units of the largest gap; no gap is larger; what directions without
    # coordinates hide; for which part of itself F allows, and for how much besides; how far true
    # means are from a plane over the arms, where they are known.
    facts: F64  # (15,)
    # Rank; leader; if only copies are left; if a block is open; the pivot whose value the origin
    # gives, or -1; the round from which on F is not claimed, 0 if it is.
    counts: I64  # (6,)


@kernel
def redesign(lin: LinearState, active: B1, tolerance: float, exact_pairs: int) -> bool:
    """Choose the design of the active arms, with coordinates for them; say if it was found."""
    arms = np.flatnonzero(active)
    _settle(lin, arms)
    m, r = arms.size, lin.counts[RANK]
    lin.weights[:] = 0.0
    lin.counts[COPIES] = r == 1
    if r == 1:
        lin.weights[arms[0]] = 1.0
        lin.facts[PAIR] = 0.0
        return True
    E, X = lin.C[arms, :r].copy(), regressors(lin, arms)
    pivots = np.searchsorted(arms, lin.pivots[:r])
    exact, best = m <= exact_pairs, np.inf
    tried = np.zeros((3, m))
    many = 1
    if not _warmed(E, pivots, lin.warm[0], arms, tolerance, tried[0]):
        return False
    prune(E, tried[0])
    if lin.counts[TIED] >= 0:
        own = pivots[np.arange(r) != lin.counts[TIED]]
        if _warmed(X, own, lin.warm[1], arms, tolerance, tried[1]):
            prune(X, tried[1])
            many = 2
    if m <= r * (r + 1) // 2 + 1:
        tried[many] = 1.0 / m
        many += 1
    for i in range(many):
        pair = largest_pair(whitened(X, factor(moments(X, tried[i]))), tried[i], exact)
        if pair < best:
            best = pair
            lin.weights[arms] = tried[i]
    lin.facts[PAIR] = best
    return best < np.inf


@kernel
def _warmed(C: F64, pivots: I64, warm: F64, arms: I64, tolerance: float, nu: F64) -> bool:
    """Fill in a D-optimal design: that of a larger set while no arm with weight is gone."""
    left = 0.0
    for i in range(arms.size):
        nu[i] = warm[arms[i]]
        left += nu[i]
    if left < 1.0 - 1e-9:  # an arm with weight is gone
        nu[:] = 0.0
        for i in pivots:
            nu[i] = 1.0 / pivots.size
    found = improve(C, nu, tolerance)
    warm[:] = 0.0
    for i in range(arms.size):
        warm[arms[i]] = nu[i]
    return found


@kernel
def _settle(lin: LinearState, arms: I64) -> None:
    """Give the arms coordinates of active pivots; s and H follow.

    This is the only place where ranks are decided: designs, least squares and certificates all
    take these coordinates. What they leave out of the arms is kept in ``facts``.
    """
    old, r = lin.counts[RANK], lin.affine.shape[1]
    kept = old > 0
    for i in range(old):
        at = np.searchsorted(arms, lin.pivots[i])
        kept = kept and at < arms.size and arms[at] == lin.pivots[i]
    if kept:
        return
    pivots, m = np.zeros(r, np.int64), arms.size
    rows = np.empty((m + 1, r))
    rows[:m] = lin.affine[arms]
    rows[m] = 0.0
    if lin.origin.size > 0:
        rows[m] = lin.origin
    C = span(rows, pivots, m)
    r = C.shape[1]
    off, sums = _left_out(rows[:m], C[:m], rows[pivots[:r]], lin.facts[BLUR])
    if old > 0:
        before = lin.C[arms, :old].copy()
        D = before[pivots[:r]]
        lin.s[:r] = product(D, lin.s[:old].reshape(old, 1))[:, 0]
        lin.H[:r, :r] = product(product(D, lin.H[:old, :old].copy()), D.T.copy())
        moved = np.abs(before - product(C[:m], D)).sum(axis=1).max()
        bias = max(lin.facts[BIAS], _first_bias(lin))
        lin.facts[BIAS] = min(bias + 2.0 * moved * (1.0 + bias), 2.0 * (sums * bias + off))
    lin.C[:] = 0.0
    for i in range(m):
        lin.C[arms[i], :r] = C[i]
    for i in range(r):
        lin.pivots[i] = arms[pivots[i]]
    lin.counts[RANK] = r
    lin.least[:] = 0.0  # other coordinates round otherwise
    off += _tie(lin, arms, rows[pivots[:r]], C[m])
    lin.facts[OFF] = max(lin.facts[OFF], off)


@kernel
def _left_out(rows: F64, C: F64, basis: F64, blur: float) -> tuple[float, float]:
    """Return how far rows are from what coordinates say at most, and the largest sum of sizes."""
    rest = np.abs(rows - product(C, basis)).sum(axis=1)
    sizes = np.abs(C).sum(axis=1)
    return float((rest + blur * (1.0 + sizes)).max()), float(sizes.max())


@kernel
def _tie(lin: LinearState, arms: I64, basis: F64, tie: F64) -> float:
    """Use a known intercept if the origin is in the plane of the arms; return what that is off by.

    It is no loss where it is not: off the plane, the value there tells nothing of differences.
    """
    lin.counts[TIED] = -1
    far = np.abs(tie).max()
    if lin.origin.size == 0 or tie.size == 1 or not far <= FAR_AWAY:
        return 0.0
    rest = np.abs(lin.origin - product(tie.reshape(1, tie.size), basis)[0]).sum()
    if rest > NOTHING and tie.size < lin.origin.size:
        return 0.0
    tied = np.abs(tie).argmax()
    lin.tie[: tie.size], lin.counts[TIED] = tie, tied
    size = np.abs(lin.origin).sum()
    off = rest * size + lin.facts[BLUR] * (size + np.abs(tie).sum())
    return float(off * np.abs(lin.C[arms, tied]).max() / far)


@kernel
def regressors(lin: LinearState, arms: I64) -> F64:
    """Return the rows that rewards are regressed on: coordinates, or those that a tie leaves."""
    C = lin.C[arms, : lin.counts[RANK]].copy()
    return C if lin.counts[TIED] < 0 else product(C, _untied(lin))


@kernel
def _first_bias(lin: LinearState) -> float:
    """Return what coordinates that are off make of a difference, in units of the largest gap.

    A slope in them is at most half of that gap, and least squares over blocks multiply by
    sqrt(1.5 m_l / w_l) at most.
    """
    return float(lin.facts[OFF] * (1.0 + 0.5 * math.sqrt(1.5 * lin.facts[AMPLIFIED])))


@kernel
def hidden(lin: LinearState) -> float:
    """Return what coordinates may hide of a gap, in units of R."""
    bias = max(lin.facts[BIAS], _first_bias(lin))
    return float(OUTWARD * bias * lin.facts[WIDEST] + lin.facts[ABSENT])


@kernel
def quotas(lin: LinearState, block: int, most: float, n: I64) -> None:
    """Fill in n_a = ceil(pi_a m_l), which 64-bit counters hold."""
    m = float(lin.sizes[min(block, lin.sizes.size) - 1])
    for a in range(n.size):
        n[a] = np.int64(np.ceil(min(lin.weights[a] * m, most)))


@kernel
def close(
    lin: LinearState, state: ArmState, n: I64, means: F64, gaps: F64, missed: F64, best: int
) -> int:
    """Close a block in which arm a was played n times with this mean reward; return the drops.

    ``gaps`` and a best arm are given where the truth is known, ``missed`` where rewards are
    missing or rounded: what that may have moved the sum of an arm by. Else they are empty.
    """
    arms = np.flatnonzero(state.active)
    dropped = 0
    if lin.counts[COPIES] == 0:
        block = min(state.clock[PHASE], lin.sizes.size)
        _add(lin, arms, n, means, missed, float(lin.sizes[block - 1]))
        if arms.size == n.size and lin.facts[INFORMATION] > 0.0:
            _measure(lin, arms)
        if gaps.size > 0 and state.active[best]:
            _watch(lin, state, arms, gaps, best)
        dropped = _look(lin, state, arms)
        if gaps.size > 0 and not state.active[best]:
            state.broken[0] = True
        if lin.counts[WITHDRAWN] == 0 and not _as_planned(lin):
            lin.counts[WITHDRAWN] = state.clock[ROUND] + 1
    state.clock[PHASE] += 1
    return dropped


@kernel
def _as_planned(lin: LinearState) -> bool:
    """Return whether looks so far are worth what F counts on, and hide no more than it allows."""
    J = lin.facts[INFORMATION]
    if not OUTWARD * J * lin.facts[LEVERAGE] >= lin.facts[PLANNED]:
        return False
    bound = 2.0 * boundary(J, lin.facts[LEVEL], lin.facts[RHO]) / J
    return bool(2.0 * hidden(lin) <= lin.facts[ALLOWED] * bound + lin.facts[KNOWN])


@kernel
def _measure(lin: LinearState, arms: I64) -> None:
    """Bound the largest gap on the event, while all arms are in play."""
    J, top, low, error = lin.facts[INFORMATION], -np.inf, np.inf, 0.0
    for a in arms:
        x, size = value(lin, a)
        top, low, error = max(top, x), min(low, x), max(error, lin.error[a] + ROOM * size)
    noise = boundary(OUTWARD * J, lin.facts[LEVEL], lin.facts[RHO])
    widest = OUTWARD * (top - low + noise + 4.0 * error) / J
    if lin.facts[WIDEST] == 0.0 or widest < lin.facts[WIDEST]:
        lin.facts[WIDEST] = widest


@kernel
def _add(lin: LinearState, arms: I64, n: I64, means: F64, missed: F64, m: float) -> None:
    """Add a block's least squares to J, s and H, with weight 1 / (largest leverage of a pair)."""
    X, r = regressors(lin, arms), lin.counts[RANK]
    plays, room = np.empty(arms.size), np.inf
    b = np.zeros((X.shape[1], 1))
    for i in range(arms.size):
        a = arms[i]
        plays[i] = n[a]
        if n[a] > 0:
            room = min(room, n[a] / lin.weights[a])
            for j in range(X.shape[1]):
                b[j, 0] += plays[i] * means[a] * X[i, j]
    L = factor(moments(X, plays))
    if arms.size <= FEW:
        pair = largest_pair(whitened(X, L), plays, True)
    else:  # n >= room pi, so V_l >= room V(pi)
        pair = lin.facts[PAIR] / room
    lin.facts[PLANNED] += m
    if not 0.0 < pair < np.inf:  # a block that tells nothing
        return
    inverse, w = inverse_of(L), 1.0 / pair
    lin.facts[INFORMATION] += w
    lin.facts[AMPLIFIED] = max(lin.facts[AMPLIFIED], m * pair)
    theta, cover = product(inverse, b), inverse
    if lin.counts[TIED] >= 0:
        out = _untied(lin)
        theta, cover = product(out, theta), product(product(out, inverse), out.T.copy())
    for i in range(r):
        lin.s[i] += w * theta[i, 0]
        for j in range(r):
            lin.H[i, j] += w * w * cover[i, j]
    if missed.size > 0:
        _allow(lin, arms, X, inverse, missed, w)


@kernel
def _untied(lin: LinearState) -> F64:
    """Return the map from the values that a tie leaves to those of all pivots."""
    r, tied = lin.counts[RANK], lin.counts[TIED]
    out = np.zeros((r, r - 1))
    for j in range(r - 1):
        i = j if j < tied else j + 1
        out[i, j] = 1.0
        out[tied, j] = -lin.tie[i] / lin.tie[tied]
    return out


@kernel
def _allow(lin: LinearState, arms: I64, C: F64, inverse: F64, missed: F64, w: float) -> None:
    """Add what missing or rounded rewards may have moved every <s, a> by."""
    r = C.shape[1]
    for p in range(arms.size):
        if missed[arms[p]] > 0.0:
            along = np.zeros(r)
            for i in range(r):
                for j in range(r):
                    along[i] += inverse[i, j] * C[p, j]
            for i in range(arms.size):
                x = 0.0
                for j in range(r):
                    x += C[i, j] * along[j]
                lin.error[arms[i]] += w * abs(x) * missed[arms[p]]


@kernel
def value(lin: LinearState, a: int) -> tuple[float, float]:
    """Return <s, a>, and the sum of its parts' sizes."""
    x, size = 0.0, 0.0
    for i in range(lin.counts[RANK]):
        part = lin.C[a, i] * lin.s[i]
        x += part
        size += abs(part)
    return x, size


@kernel
def variance(lin: LinearState, a: int, b: int) -> float:
    """Return (a - b)^T H (a - b), with all that rounding may have taken from it.

    Of two near-copies that are pivots it is the difference of numbers of the size of J.
    """
    r, v, size = lin.counts[RANK], 0.0, 0.0
    for i in range(r):
        x, sizes = 0.0, 0.0
        for j in range(r):
            part = lin.H[i, j] * (lin.C[a, j] - lin.C[b, j])
            x += part
            sizes += abs(part)
        v += x * (lin.C[a, i] - lin.C[b, i])
        size += sizes * abs(lin.C[a, i] - lin.C[b, i])
    return max(v, 0.0) + ROOM * size


@kernel
def _look(lin: LinearState, state: ArmState, arms: I64) -> int:
    """Drop every arm against which the leader's mixture has reached (K - 1) / delta.

    The boundary of a pair never falls, so that one from before is looked at first.
    """
    most, leader, span_of = -np.inf, -1, 0.0
    slack = hidden(lin) * lin.facts[INFORMATION]
    values, sizes = np.empty(arms.size), np.empty(arms.size)
    for i in range(arms.size):
        values[i], sizes[i] = value(lin, arms[i])
        if values[i] > most:
            most, leader, span_of = values[i], arms[i], sizes[i]
    if leader != lin.counts[LEADER]:
        lin.counts[LEADER] = leader
        lin.least[0, :] = 0.0
    dropped = 0
    for i in range(arms.size):
        a = arms[i]
        ahead = most - values[i] - ROOM * (span_of + sizes[i])
        ahead -= lin.error[leader] + lin.error[a] + slack
        if ahead > lin.least[0, a] and a != leader:
            v = OUTWARD * variance(lin, leader, a)
            lin.least[0, a] = boundary(v, lin.facts[LEVEL], lin.facts[RHO])
            if ahead >= lin.least[0, a]:
                state.active[a] = False
                state.eliminated[a] = state.clock[ROUND]
                dropped += 1
    return dropped


@kernel
def _watch(lin: LinearState, state: ArmState, arms: I64, gaps: F64, best: int) -> None:
    """Note where the event of the proof fails: N(a - a*) >= c(v(a - a*)) for an active a.

    By more than rounding: where means are far above R, their last digits are.
    """
    top, span_of = value(lin, best)
    uneven = 2.0 + math.sqrt(1.5 * lin.facts[AMPLIFIED])
    slack = (hidden(lin) + uneven * lin.facts[UNEVEN]) * lin.facts[INFORMATION]
    for i in range(arms.size):
        a = arms[i]
        x, size = value(lin, a)
        noise = x - top + lin.facts[INFORMATION] * gaps[a] - slack - ROOM * (span_of + size)
        if noise > lin.least[1, a] and a != best:
            v = variance(lin, a, best)
            lin.least[1, a] = boundary(v, lin.facts[LEVEL], lin.facts[RHO])
            if noise >= lin.least[1, a]:
                state.broken[0] = True


@kernel
def realised(lin: LinearState, active: B1) -> float:
    """Return max over active a, b of (<s, b - a> + c(v(b - a))) / J: no active arm has more gap.

    What coordinates hide is in it, but for the last arm: no test could drop a best one for that.
    """
    arms, J = np.flatnonzero(active), lin.facts[INFORMATION]
    if arms.size == 1 or lin.affine.shape[1] == 1:
        return 0.0
    if J == 0.0:
        return np.inf
    if lin.counts[COPIES] > 0:
        return hidden(lin)
    values, errors = np.empty(arms.size), lin.error[arms]
    for i in range(arms.size):
        values[i], size = value(lin, arms[i])
        errors[i] += ROOM * size
    order, found = np.argsort(values), 0.0
    largest = boundary(OUTWARD * J, lin.facts[LEVEL], lin.facts[RHO])
    slack = errors.max() * 2.0
    for i in range(arms.size):
        a = order[i]
        for j in range(arms.size - 1, -1, -1):
            b = order[j]
            ahead = values[b] - values[a]
            if ahead + largest + slack <= found:
                break
            if a != b:
                v = OUTWARD * variance(lin, arms[a], arms[b])
                c = boundary(v, lin.facts[LEVEL], lin.facts[RHO])
                found = max(found, ahead + c + errors[a] + errors[b])
    return float(OUTWARD * found / J + hidden(lin))
