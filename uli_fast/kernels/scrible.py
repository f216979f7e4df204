"""SCRiBLe with a slowly increasing learning rate, on the convex hull of K arms.

Mirror descent with the barrier c psi, psi(w) = -sum_f log(b_f - n_f.w), over the
polytope of the arms. A round draws an end point of an axis of the Dikin ellipsoid
around w, writes it as a mean of at most d+1 vertices, and plays one of these.
Coordinates are those of the arms' affine hull, so losses may be affine.

Deviation: axes are drawn instead of points of the sphere, which makes the law of
the arm explicit; c, the first learning rate and the pull towards the analytic
centre are chosen so that the algorithm learns at usable horizons. No guarantee.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uli_fast._typing import B1, F64, I64
from uli_fast.kernels._jit import lean_kernel, lean_step
from uli_fast.kernels.arms.state import ArmState
from uli_fast.kernels.draws.stream import uniform
from uli_fast.kernels.rewards.laws import Law, draw_reward

# Positions in ScribleState.clock.
ROUND, CLIPS = 0, 1
# Newton's method stops after a step from this decrement, or after this many steps.
SMALL_DECREMENT, MOST_STEPS = 1e-9, 200
# Numbers this close, relatively, are equal: what is played must not depend on rounding.
TIE = 1e-9


class Hull(NamedTuple):
    """The polytope {x: n_f.x <= b_f} of the arms, in coordinates of their affine hull."""

    x: F64  # (K, d) arms
    normals: F64  # (F, d) outer unit normals n_f
    offsets: F64  # (F,) b_f
    lifted: F64  # (F, d+1) h_f = (-n_f, b_f): the facets of the cone over the polytope
    incidence: B1  # (F, K) which arms lie on which facet; of equal arms the first only
    slack: F64  # (K, F) b_f - n_f.x_a, exactly 0 where incident
    is_vertex: B1  # (K,) the arms that may be played; of equal ones the first
    centre: F64  # (d,) analytic centre w1
    centre_slack: F64  # (F,) b_f - n_f.w1


class Workspace(NamedTuple):
    """Room for intermediate results; nothing in it outlives a call."""

    point: F64  # (d,) the point drawn
    left: F64  # (d,) what decompose has still to explain, times its weight
    room: F64  # (F,) slacks of that remainder, times its weight
    mask: B1  # (K,) vertices of the face that it lies on
    loss: F64  # (d,) estimated loss vector
    dual: F64  # (d,) gradient of c psi where Newton's method is to end
    residual: F64  # (d,) gradient of its objective
    H: F64  # (d+1, d+1) a Hessian, lower triangle
    D: F64  # (d+1, d+1) Hsum less the lifted Hessian, eliminated


class ScribleState(NamedTuple):
    """What SCRiBLe knows between two rounds."""

    w: F64  # (d,) iterate
    s: F64  # (F,) its slacks b_f - n_f.w
    C: F64  # (d, d) Cholesky factor of H = c psi''(w), lower triangle
    eta: F64  # (1,) learning rate of the next update
    Hsum: F64  # (d+1, d+1) lifted Hessians of the rounds that increased it, lower triangle
    estimate: F64  # (K,) summed loss estimates (the meta-algorithm's estimator)
    lam: F64  # (K,) law of the arm, given the axis
    p: F64  # (K,) room for the law of the arm
    axis: I64  # (1,) axis drawn: 2i for +e_i, 2i+1 for -e_i
    clock: I64  # (2,) rounds played; pulls towards the centre
    c: float  # weight of the barrier, at least 1
    kappa: float  # factor by which eta increases
    T: float  # horizon
    work: Workspace


@lean_step
def slacks(normals: F64, offsets: F64, x: F64, s: F64) -> None:
    """Set s_f = b_f - n_f.x."""
    for f in range(s.shape[0]):
        total = offsets[f]
        for j in range(x.shape[0]):
            total -= normals[f, j] * x[j]
        s[f] = total


@lean_step
def curvature(rows: F64, s: F64, c: float, H: F64) -> None:
    """Set the lower triangle of H = c sum_f rows_f rows_f^T / s_f^2."""
    m = rows.shape[1]
    for i in range(m):
        for j in range(i + 1):
            total = 0.0
            for f in range(s.shape[0]):
                total += rows[f, i] * rows[f, j] / (s[f] * s[f])
            H[i, j] = c * total


@lean_step
def cholesky(H: F64, C: F64) -> None:
    """Set the lower triangle of C so that C C^T is the leading block of H."""
    for i in range(C.shape[0]):
        for j in range(i + 1):
            total = H[i, j]
            for k in range(j):
                total -= C[i, k] * C[j, k]
            C[i, j] = np.sqrt(total) if i == j else total / C[j, j]


@lean_step
def exceeds(H: F64, Hsum: F64, D: F64) -> bool:
    """Say whether lambda_max(H - Hsum) > 0; D is overwritten.

    That is whether elimination in Hsum - H meets a negative pivot, or a zero one
    with something beside it. No eigenvalue is needed.
    """
    m = H.shape[0]
    for i in range(m):
        for j in range(i + 1):
            D[i, j] = Hsum[i, j] - H[i, j]
    for k in range(m):
        if D[k, k] < 0.0:
            return True
        for i in range(k + 1, m):
            if D[k, k] > 0.0:
                ratio = D[i, k] / D[k, k]
                for j in range(k + 1, i + 1):
                    D[i, j] -= ratio * D[j, k]
            elif D[i, k] != 0.0:
                return True
    return False


@lean_step
def prepare(hull: Hull, state: ScribleState) -> None:
    """Begin the next round at w: Hessian, and the increase of the learning rate.

    The rate grows when the lifted Hessian exceeds the sum of those at which it grew
    before. Each time det Hsum doubles at least, so this is rare.
    """
    H, Hsum, c = state.work.H, state.Hsum, state.c
    d, F = hull.x.shape[1], hull.offsets.shape[0]
    slacks(hull.normals, hull.offsets, state.w, state.s)
    curvature(hull.lifted, state.s, c, H)
    cholesky(H, state.C)  # the block of the w coordinates is that of the polytope
    H[d, d] += c * F
    first = state.clock[ROUND] == 0
    if first or exceeds(H, Hsum, state.work.D):
        for i in range(d + 1):
            for j in range(i + 1):
                Hsum[i, j] += H[i, j]
        if not first:
            state.eta[0] *= state.kappa


@lean_kernel
def start(hull: Hull, state: ScribleState) -> None:
    """Begin the first round of a new state."""
    prepare(hull, state)


@lean_step
def nearest(x: F64, mask: B1, left: F64, weight: float, b: int) -> tuple[int, int]:
    """Return the arm of the mask nearest to left / weight (b if there is none), and their number.

    Of equally near ones it is the first.
    """
    best, count = np.inf, 0
    for a in range(mask.shape[0]):
        if mask[a]:
            count += 1
            distance = 0.0
            for j in range(left.shape[0]):
                gap = left[j] - weight * x[a, j]
                distance += gap * gap
            if distance < best * (1.0 - TIE):
                best, b = distance, a
    return b, count


@lean_step
def decompose(hull: Hull, x: F64, lam: F64, work: Workspace) -> None:
    """Write x, inside the polytope, as the mean of at most d+1 vertices with weights lam.

    As much of the nearest vertex b is taken away as the slacks allow (in the limit
    the remainder lies on a facet f without b), then the same is done in that facet.
    The remainder and its slacks are kept times their weight: no division.
    """
    d, F = hull.x.shape[1], hull.offsets.shape[0]
    left, room, mask = work.left, work.room, work.mask
    for j in range(d):
        left[j] = x[j]
    for a in range(mask.shape[0]):
        mask[a], lam[a] = hull.is_vertex[a], 0.0
    slacks(hull.normals, hull.offsets, x, room)
    weight, b = 1.0, -1
    for _ in range(d + 1):
        b, count = nearest(hull.x, mask, left, weight, b)
        take, facet = weight, -1
        if count > 1:
            for f in range(F):
                if not hull.incidence[f, b] and room[f] < take * hull.slack[b, f]:
                    take, facet = max(0.0, room[f] / hull.slack[b, f]), f
        if facet < 0:
            break
        lam[b] += take
        weight -= take
        for j in range(d):
            left[j] -= take * hull.x[b, j]
        for f in range(F):
            room[f] -= take * hull.slack[b, f]
        for a in range(mask.shape[0]):
            mask[a] = mask[a] and hull.incidence[facet, a]
    lam[b] += weight


@lean_step
def decompose_axis(hull: Hull, state: ScribleState, k: int) -> None:
    """Set lam for the point w + C^-T u, where u is the k-th of +e_1, -e_1, +e_2, ..."""
    d = state.w.shape[0]
    point, C, i = state.work.point, state.C, k // 2
    point[:] = 0.0
    point[i] = 1.0 - 2.0 * (k % 2)
    for j in range(i, -1, -1):
        for m in range(j + 1, i + 1):
            point[j] -= C[m, j] * point[m]
        point[j] /= C[j, j]
    for j in range(d):
        point[j] += state.w[j]
    decompose(hull, point, state.lam, state.work)


@lean_kernel
def choose(hull: Hull, state: ScribleState, u: float, v: float) -> int:
    """Draw an arm (sampling step): u in [0, 1) chooses the axis, v the arm among its vertices."""
    k = int(u * 2 * state.w.shape[0])
    state.axis[0] = k
    decompose_axis(hull, state, k)
    arm, below = -1, 0.0
    for a in range(state.lam.shape[0]):
        if state.lam[a] > 0.0:
            arm = a
            below += state.lam[a]
            if v < below:
                break
    return arm


@lean_kernel
def probabilities(hull: Hull, state: ScribleState, p: F64) -> None:
    """Set p to the law of the next arm, p_t = (1/2d) sum over the axes of lam."""
    axes = 2 * state.w.shape[0]
    p[:] = 0.0
    for k in range(axes):
        decompose_axis(hull, state, k)
        for a in range(p.shape[0]):
            p[a] += state.lam[a] / axes


@lean_step
def gradient(normals: F64, s: F64, c: float, g: F64) -> None:
    """Set g to the gradient of c psi where the slacks are s."""
    for j in range(g.shape[0]):
        total = 0.0
        for f in range(s.shape[0]):
            total += normals[f, j] / s[f]
        g[j] = c * total


@lean_step
def newton_step(C: F64, g: F64, x: F64) -> float:
    """Move x by a Newton step for gradient g, damped where far; return the decrement.

    H = C C^T is the Hessian; g is overwritten.
    """
    d = x.shape[0]
    square = 0.0
    for i in range(d):
        for j in range(i):
            g[i] -= C[i, j] * g[j]
        g[i] /= C[i, i]
        square += g[i] * g[i]
    for i in range(d - 1, -1, -1):
        for j in range(i + 1, d):
            g[i] -= C[j, i] * g[j]
        g[i] /= C[i, i]
    decrement = np.sqrt(square)
    length = 1.0 if decrement < 0.25 else 1.0 / (1.0 + decrement)
    for i in range(d):
        x[i] -= length * g[i]
    return float(decrement)


@lean_step
def estimate_losses(hull: Hull, state: ScribleState, y: float) -> None:
    """Estimate the loss vector, d y C u, and add up y + loss.(x_a - w) for every arm."""
    d, loss, k = state.w.shape[0], state.work.loss, state.axis[0]
    for j in range(d):
        entry = state.C[j, k // 2] if j >= k // 2 else 0.0
        loss[j] = d * y * (1.0 - 2.0 * (k % 2)) * entry
    for a in range(state.estimate.shape[0]):
        total = y
        for j in range(d):
            total += loss[j] * (hull.x[a, j] - state.w[j])
        state.estimate[a] += total


@lean_step
def descend(hull: Hull, state: ScribleState) -> None:
    """Move w to the minimiser of c psi(z) + (eta loss - c psi'(w)).z (mirror descent step)."""
    w, s, c, work = state.w, state.s, state.c, state.work
    gradient(hull.normals, s, c, work.dual)
    for j in range(w.shape[0]):
        work.residual[j] = state.eta[0] * work.loss[j]
        work.dual[j] -= work.residual[j]
    for _ in range(MOST_STEPS):
        decrement = newton_step(state.C, work.residual, w)
        slacks(hull.normals, hull.offsets, w, s)
        if decrement < SMALL_DECREMENT:
            break
        gradient(hull.normals, s, c, work.residual)
        for j in range(w.shape[0]):
            work.residual[j] -= work.dual[j]
        curvature(hull.normals, s, c, work.H)
        cholesky(work.H, state.C)


@lean_step
def pull_inside(hull: Hull, state: ScribleState) -> None:
    """Pull w towards the centre until every slack is 1/T of the centre's, and count it."""
    share = 1.0
    for f in range(state.s.shape[0]):
        far = hull.centre_slack[f]
        if state.s[f] < far / state.T * (1.0 - TIE):  # or else each point pulled is pulled again
            share = min(share, (far - far / state.T) / (far - state.s[f]))
    if share < 1.0:
        state.clock[CLIPS] += 1
        for j in range(state.w.shape[0]):
            state.w[j] = hull.centre[j] + share * (state.w[j] - hull.centre[j])


@lean_kernel
def update(hull: Hull, state: ScribleState, arm: int, y: float) -> None:
    """Take in the loss y of the arm chosen last, and prepare the next round.

    The estimates depend on the axis drawn with the arm, not on the arm itself.
    """
    estimate_losses(hull, state, y)
    descend(hull, state)
    pull_inside(hull, state)
    state.clock[ROUND] += 1
    prepare(hull, state)


@lean_kernel
def play_rounds(
    hull: Hull,
    state: ScribleState,
    law: Law,
    arms: I64,
    run: ArmState,
    offset: float,
    slope: float,
    rounds: int,
) -> None:
    """Play this many rounds; arms[i] is the i-th arm of the phase, losses are offset - slope X."""
    t = run.clock[0]
    for _ in range(rounds):
        i = choose(hull, state, uniform(law.words), uniform(law.words))
        a = arms[i]
        x = draw_reward(law, a, run.n[a])
        update(hull, state, i, offset - slope * x)
        t += 1
        run.n[a] += 1
        run.last[a] = t
    run.clock[0] = t
