"""GeometricHedge.P with John's exploration, on K arms in R^d.

Arms are whitened by the exploration design nu: sum nu(a) a a^T = I. With
p = (1 - gamma) q + gamma nu and Sigma = sum p(a) a a^T, the loss y of arm A
estimates every arm's loss by l_hat(a) = a^T Sigma^-1 A y, with variance proxy
v(a) = a^T Sigma^-1 a.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from uli_fast._typing import F64, I64
from uli_fast.kernels._jit import lean_kernel, lean_step
from uli_fast.kernels.arms.state import ROUND, ArmState
from uli_fast.kernels.draws.stream import uniform
from uli_fast.kernels.rewards.laws import Law, draw_reward


class HedgeState(NamedTuple):
    """One phase on k arms of rank d."""

    x: F64  # (d, k) whitened arms, side by side for SIMD
    squares: F64  # (k, d (d + 1) / 2) lower triangles of a a^T
    z: F64  # (d, k) C^-1 a for every arm, Sigma = C C^T
    S: F64  # (d (d + 1) / 2,) lower triangle of Sigma
    C: F64  # (d, d) Cholesky factor of Sigma
    nu: F64  # (k,) exploration design
    lw: F64  # (k,) log weights
    p: F64  # (k,) probabilities of the last draw
    v: F64  # (k,) a^T Sigma^-1 a at the last update
    L: F64  # (k,) sums of l_hat
    eta: float
    beta: float
    gamma: float


@lean_step
def choose(state: HedgeState, u: float) -> int:
    """Compute p and return the arm that the uniform u falls on."""
    lw, p, nu = state.lw, state.p, state.nu
    k = lw.shape[0]
    top = lw[0]
    for a in range(k):
        top = max(top, lw[a])
    total = 0.0
    for a in range(k):
        p[a] = math.exp(lw[a] - top)
        total += p[a]
    share = (1.0 - state.gamma) / total
    arm, cum = -1, 0.0
    for a in range(k):
        p[a] = share * p[a] + state.gamma * nu[a]
        if u >= cum and p[a] > 0.0:
            arm = a
        cum += p[a]
    return arm


@lean_step
def mix(state: HedgeState) -> None:
    """Write Sigma = sum p(a) a a^T into S, four arms at a time: SIMD over its entries."""
    squares, p, S = state.squares, state.p, state.S
    k, m = squares.shape
    S[:] = 0.0
    for a in range(0, k - 3, 4):
        p0, p1, p2, p3 = p[a], p[a + 1], p[a + 2], p[a + 3]
        for e in range(m):
            first = p0 * squares[a, e] + p1 * squares[a + 1, e]
            S[e] += first + (p2 * squares[a + 2, e] + p3 * squares[a + 3, e])
    for a in range(k - k % 4, k):
        for e in range(m):
            S[e] += p[a] * squares[a, e]


@lean_step
def factor(state: HedgeState) -> None:
    """Write the Cholesky factor of Sigma into C."""
    C, S = state.C, state.S
    mix(state)
    e = 0
    for i in range(C.shape[0]):
        for j in range(i + 1):
            rest = S[e]
            e += 1
            for m in range(j):
                rest -= C[i, m] * C[j, m]
            C[i, j] = math.sqrt(rest) if i == j else rest / C[j, j]


@lean_step
def solve(state: HedgeState) -> None:
    """Write C^-1 a of all arms into z and their squared lengths into v."""
    x, z, C, v = state.x, state.z, state.C, state.v
    d, k = x.shape
    for a in range(k):
        v[a] = 0.0
    for i in range(d):
        for a in range(k):
            z[i, a] = x[i, a]
        for j in range(i):
            for a in range(k):
                z[i, a] -= C[i, j] * z[j, a]
        inverse = 1.0 / C[i, i]
        for a in range(k):
            z[i, a] *= inverse
            v[a] += z[i, a] * z[i, a]


@lean_step
def update(state: HedgeState, arm: int, loss: float) -> None:
    """Take in the loss of the arm drawn: l_tilde = l_hat - 2 beta v, for all arms."""
    factor(state)
    solve(state)
    z, v, lw, L = state.z, state.v, state.lw, state.L
    d, k = z.shape
    bonus = 2.0 * state.eta * state.beta
    for a in range(k):
        lw[a] += bonus * v[a]
    for i in range(d):
        scaled = loss * z[i, arm]
        for a in range(k):
            estimate = z[i, a] * scaled
            L[a] += estimate
            lw[a] -= state.eta * estimate


@lean_kernel
def choose_once(state: HedgeState, u: float) -> int:
    """Choose for a live decision; unlike a step it is kept on disk once compiled."""
    return choose(state, u)


@lean_kernel
def update_once(state: HedgeState, arm: int, loss: float) -> None:
    """Update after a live decision."""
    update(state, arm, loss)


@lean_kernel
def play_rounds(
    base: HedgeState, law: Law, arms: I64, run: ArmState, offset: float, slope: float, rounds: int
) -> None:
    """Play this many rounds; arms[i] is the i-th arm of the phase, losses are offset - slope X."""
    t = run.clock[ROUND]
    for _ in range(rounds):
        i = choose(base, uniform(law.words))
        a = arms[i]
        x = draw_reward(law, a, run.n[a])
        update(base, i, offset - slope * x)
        t += 1
        run.n[a] += 1
        run.last[a] = t
    run.clock[ROUND] = t
