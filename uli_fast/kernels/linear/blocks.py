"""Blocks and looks of sharp PE-linear (docs/proofs_linear.md).

Arms are rows of coordinates in which a few of them, the pivots, are unit vectors: s holds the
weighted estimates of the pivots' values, H their variance. When a pivot is dropped, others take its
place, and s and H follow. Rewards are in units of R.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uli_fast._typing import B1, F64, I64
from uli_fast.kernels._jit import kernel
from uli_fast.kernels.arms.state import PHASE, ROUND, ArmState
from uli_fast.kernels.linear.designs import (
    factor,
    improve,
    inverse_of,
    largest_pair,
    moments,
    prune,
    span,
    whitened,
)
from uli_fast.kernels.linear.mixture import boundary

# Up to this many arms the largest leverage of a pair is that of the block itself, not its design's.
FEW = 64
# Tests are made outward by this factor, and by this part of the sums that are compared.
OUTWARD, ROOM = 1.0 + 1e-9, 1e-14
# Positions in LinearState.counts and .facts.
RANK, LEADER, COPIES, OPEN = 0, 1, 2, 3
INFORMATION, PAIR, LEVEL, RHO = 0, 1, 2, 3


class LinearState(NamedTuple):
    """What blocks leave, and what the next ones play."""

    affine: F64  # (K, k + 1) the arms as (1, z), z well scaled
    rows: F64  # (K, r) what rewards are regressed on: the same, or z of known intercept
    C: F64  # (K, r) coordinates of the active arms
    pivots: I64  # (r,) the arms that have unit vectors
    s: F64  # (r,) sum of w_l theta_l, by pivots
    H: F64  # (r, r) sum of w_l^2 V_l^+
    weights: F64  # (K,) the design pi
    warm: F64  # (2, K) D-optimal weights on (1, z) and on the rows, before pruning
    sizes: I64  # (blocks,) m_l
    least: F64  # (2, K) below this no arm is dropped by the leader, nor breaks the event
    error: F64  # (K,) what missing or rounded rewards may have moved <s, a> by
    facts: F64  # (4,) J; the design's largest leverage of a pair; L; rho
    counts: I64  # (4,) rank; leader; if only copies are left; if a block is open


@kernel
def redesign(lin: LinearState, active: B1, tolerance: float, exact_pairs: int) -> bool:
    """Choose the design of the active arms, with coordinates for them; say if it was found."""
    arms = np.flatnonzero(active)
    _settle(lin, arms)
    m, known = arms.size, lin.rows.shape[1] < lin.affine.shape[1]
    C, pivots = lin.C[arms, : lin.counts[RANK]].copy(), np.zeros(lin.affine.shape[1], np.int64)
    E = span(lin.affine[arms], pivots)
    r = E.shape[1]
    lin.weights[:] = 0.0
    lin.counts[COPIES] = r == 1
    if r == 1:
        lin.weights[arms[0]] = 1.0
        lin.facts[PAIR] = 0.0
        return True
    exact, best = m <= exact_pairs, np.inf
    tried = np.zeros((3, m))
    many = 1
    if not _warmed(E, pivots[:r], lin.warm[0], arms, tolerance, tried[0]):
        return False
    prune(E, tried[0])
    if known and C.shape[1] < r:
        own = np.zeros(C.shape[1], np.int64)
        for i in range(own.size):
            own[i] = np.searchsorted(arms, lin.pivots[i])
        if _warmed(C, own, lin.warm[1], arms, tolerance, tried[1]):
            prune(E, tried[1])
            many = 2
    if m <= r * (r + 1) // 2 + 1:
        tried[many] = 1.0 / m
        many += 1
    for i in range(many):
        pair = largest_pair(whitened(C, factor(moments(C, tried[i]))), tried[i], exact)
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
    """Give the arms coordinates of active pivots; s and H follow."""
    old = lin.counts[RANK]
    kept = old > 0
    for i in range(old):
        at = np.searchsorted(arms, lin.pivots[i])
        kept = kept and at < arms.size and arms[at] == lin.pivots[i]
    if kept:
        return
    pivots = np.zeros(lin.rows.shape[1], np.int64)
    C = span(lin.rows[arms], pivots)
    r = C.shape[1]
    if old > 0:
        D = np.zeros((r, old))
        for i in range(r):
            D[i] = lin.C[arms[pivots[i]], :old]
        s, H = np.zeros(r), np.zeros((r, r))
        for i in range(r):
            for p in range(old):
                s[i] += D[i, p] * lin.s[p]
                x = 0.0
                for q in range(old):
                    x += lin.H[p, q] * D[i, q]
                for j in range(r):
                    H[j, i] += D[j, p] * x
        lin.s[:r], lin.H[:r, :r] = s, H
    lin.C[:] = 0.0
    for i in range(arms.size):
        lin.C[arms[i], :r] = C[i]
    for i in range(r):
        lin.pivots[i] = arms[pivots[i]]
    lin.counts[RANK] = r
    lin.least[:] = 0.0  # other coordinates round otherwise


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
        _add(lin, arms, n, means, missed)
        if gaps.size > 0 and state.active[best]:
            _watch(lin, state, arms, gaps, best)
        dropped = _look(lin, state, arms)
        if gaps.size > 0 and not state.active[best]:
            state.broken[0] = True
    state.clock[PHASE] += 1
    return dropped


@kernel
def _add(lin: LinearState, arms: I64, n: I64, means: F64, missed: F64) -> None:
    """Add a block's least squares to J, s and H, with weight 1 / (largest leverage of a pair)."""
    r = lin.counts[RANK]
    C, plays = np.empty((arms.size, r)), np.empty(arms.size)
    b, room = np.zeros(r), np.inf
    for i in range(arms.size):
        a = arms[i]
        plays[i] = n[a]
        C[i] = lin.C[a, :r]
        if n[a] > 0:
            room = min(room, n[a] / lin.weights[a])
            for j in range(r):
                b[j] += plays[i] * means[a] * C[i, j]
    L = factor(moments(C, plays))
    if arms.size <= FEW:
        pair = largest_pair(whitened(C, L), plays, True)
    else:  # n >= room pi, so V_l >= room V(pi)
        pair = lin.facts[PAIR] / room
    inverse, w = inverse_of(L), 1.0 / pair
    lin.facts[INFORMATION] += w
    for i in range(r):
        x = 0.0
        for j in range(r):
            x += inverse[i, j] * b[j]
            lin.H[i, j] += w * w * inverse[i, j]
        lin.s[i] += w * x
    if missed.size > 0:
        _allow(lin, arms, C, inverse, missed, w)


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
    """Return (a - b)^T H (a - b)."""
    r, v = lin.counts[RANK], 0.0
    for i in range(r):
        x = 0.0
        for j in range(r):
            x += lin.H[i, j] * (lin.C[a, j] - lin.C[b, j])
        v += x * (lin.C[a, i] - lin.C[b, i])
    return max(v, 0.0)


@kernel
def _look(lin: LinearState, state: ArmState, arms: I64) -> int:
    """Drop every arm against which the leader's mixture has reached (K - 1) / delta.

    The boundary of a pair never falls, so that one from before is looked at first.
    """
    most, leader, span_of = -np.inf, -1, 0.0
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
        ahead -= lin.error[leader] + lin.error[a]
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
    """Note where the event of the proof fails: N(a - a*) >= c(v(a - a*)) for an active a."""
    top = value(lin, best)[0]
    for i in range(arms.size):
        a = arms[i]
        noise = value(lin, a)[0] - top + lin.facts[INFORMATION] * gaps[a]
        if noise > lin.least[1, a] and a != best:
            v = variance(lin, a, best)
            lin.least[1, a] = boundary(v, lin.facts[LEVEL], lin.facts[RHO])
            if noise >= lin.least[1, a]:
                state.broken[0] = True


@kernel
def realised(lin: LinearState, active: B1) -> float:
    """Return max over active a, b of (<s, b - a> + c(v(b - a))) / J: no active arm has more gap."""
    arms, J = np.flatnonzero(active), lin.facts[INFORMATION]
    if arms.size == 1 or lin.counts[COPIES] > 0:
        return 0.0
    if J == 0.0:
        return np.inf
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
    return float(OUTWARD * found / J)
