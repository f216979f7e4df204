"""Exp3.P: exponential weights with high-probability bonuses.

p_a = (1 - gamma) w_a / W + gamma / K, and after the loss l of arm A every weight
is multiplied by exp(-eta (l 1{a = A} - 2 beta) / p_a), with beta = eta = gamma / K.

Bernoulli arms are played in lanes: replications side by side in one flat buffer,
row after row, so that every step of a round is a loop over lanes that compilers
turn into SIMD. A lane's arithmetic never mixes with another's and is the same for
any number of lanes, so its path does not depend on its company.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from uli_fast._typing import F64, I64, U64
from uli_fast.kernels._jit import fma, lean_by_type, lean_kernel, lean_step
from uli_fast.kernels.arms.state import ROUND, ArmState, RoundRecord
from uli_fast.kernels.draws.stream import uniform
from uli_fast.kernels.rewards.laws import Law, draw_reward

# Rounds of a phase between two rescalings of the weights by a power of two.
RESCALED = 256

# Rows of the scratch buffer: the uniform, (1 - gamma) / W, the cumulative
# probability, the new W, the arm drawn, the cumulative probability below it, its
# probability, the inverse of that, exp(-eta / p).
U, INV, CUM, SUM, ARM, BELOW, P, OVER, EXP, ROWS = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9


class Lanes(NamedTuple):
    """One phase of Exp3.P on k arms in R lanes; arm a of lane r is entry a R + r."""

    w: F64  # (k R,) weights
    W: F64  # (R,) their sums
    q: F64  # (k R,) probabilities of loss 1
    L: F64  # (k R,) sums of l_hat
    n: I64  # (k R,) plays in this phase
    last: I64  # (k R,) last round played, 0 if not in this phase
    words: U64  # (4 R,) xoshiro256++ states
    scratch: F64  # (9 R,)


class Single(NamedTuple):
    """One lane."""

    lanes: int = 1


class Wide(NamedTuple):
    """Sixteen lanes: four or two vectors each, and short of a kernel's registers."""

    lanes: int = 16


Shape = Single | Wide
WIDE = Wide().lanes


def shape_of(replications: int) -> Shape:
    """Return how to play this many replications; what a lane computes does not depend on it."""
    return Single() if replications < 3 else Wide()  # one wide round costs three single ones


def lane_count(shape: Shape) -> int:
    """Return the number of lanes R, a constant to the compiler (compiled code only)."""
    raise TypeError("lane_count is called from compiled kernels only")


@lean_by_type(lane_count)
def _lane_count(shape: Any) -> Callable[..., int]:
    return (lambda shape: WIDE) if shape.instance_class is Wide else (lambda shape: 1)


class Gentle(NamedTuple):
    """Exponents for which Taylor's polynomial of degree 5 will do: long horizons."""

    largest: float = 0.0058  # y^6 / 6! <= 2^-54


class Steady(NamedTuple):
    """Exponents for degree 7: 10^4 rounds on two arms, any horizon on thirty."""

    largest: float = 0.0349  # y^8 / 8! <= 2^-54


class Brisk(NamedTuple):
    """Exponents for degree 9: any horizon on ten arms."""

    largest: float = 0.107  # y^10 / 10! <= 2^-54


class Steep(NamedTuple):
    """Exponents for degree 14: as far as they go, for gamma <= 1/2 and two arms."""

    largest: float = 0.5  # y^15 / 15! <= 2^-54


Slope = Gentle | Steady | Brisk | Steep


def slope_of(eta: float) -> Slope:
    """Return the shortest polynomial for the bonuses of a phase.

    A bonus multiplies a weight by exp(2 eta beta / p_a), whose exponent is at most
    2 eta since p_a >= gamma / K. Each polynomial errs by less than 2^-54.
    """
    for slope in (Gentle(), Steady(), Brisk()):
        if 2.0 * eta <= slope.largest:
            return slope
    return Steep()


def grown(slope: Slope, w: float, y: float) -> float:
    """Return w exp(y) for 0 <= y <= slope.largest (compiled code only)."""
    raise TypeError("grown is called from compiled kernels only")


@lean_by_type(grown)
def _grown(slope: Any, w: Any, y: Any) -> Callable[..., float]:
    return POLYNOMIALS[slope.instance_class]


def _grown_gently(slope: Any, w: float, y: float) -> float:
    square = y * y
    e = fma(square, fma(y, 1 / 120.0, 1 / 24.0), fma(y, 1 / 6.0, 1 / 2.0))
    return fma(w, fma(square, e, y), w)


def _grown_steadily(slope: Any, w: float, y: float) -> float:
    square = y * y
    e = fma(square, fma(y, 1 / 5040.0, 1 / 720.0), fma(y, 1 / 120.0, 1 / 24.0))
    e = fma(square, e, fma(y, 1 / 6.0, 1 / 2.0))
    return fma(w, fma(square, e, y), w)


def _grown_briskly(slope: Any, w: float, y: float) -> float:
    square = y * y
    e = fma(square, fma(y, 1 / 362880.0, 1 / 40320.0), fma(y, 1 / 5040.0, 1 / 720.0))
    e = fma(square, e, fma(y, 1 / 120.0, 1 / 24.0))
    e = fma(square, e, fma(y, 1 / 6.0, 1 / 2.0))
    return fma(w, fma(square, e, y), w)


def _grown_steeply(slope: Any, w: float, y: float) -> float:
    square = y * y
    e = fma(square, 1 / 87178291200.0, fma(y, 1 / 6227020800.0, 1 / 479001600.0))
    e = fma(square, e, fma(y, 1 / 39916800.0, 1 / 3628800.0))
    e = fma(square, e, fma(y, 1 / 362880.0, 1 / 40320.0))
    e = fma(square, e, fma(y, 1 / 5040.0, 1 / 720.0))
    e = fma(square, e, fma(y, 1 / 120.0, 1 / 24.0))
    e = fma(square, e, fma(y, 1 / 6.0, 1 / 2.0))
    return fma(w, fma(square, e, y), w)


POLYNOMIALS: dict[type[Slope], Callable[..., float]] = {
    Gentle: _grown_gently,
    Steady: _grown_steadily,
    Brisk: _grown_briskly,
    Steep: _grown_steeply,
}


@lean_step
def draw(words: U64, b: F64, W: F64, rest: float, shape: Shape) -> None:
    """Draw a uniform in every lane by xoshiro256++ and clear the lane's scratch."""
    R = lane_count(shape)
    for r in range(R):
        s0, s1, s2, s3 = words[r], words[R + r], words[2 * R + r], words[3 * R + r]
        x = s0 + s3
        z = ((x << np.uint64(23)) | (x >> np.uint64(41))) + s0
        shifted = s1 << np.uint64(17)
        s2 ^= s0
        s3 ^= s1
        s1 ^= s2
        s0 ^= s3
        s2 ^= shifted
        s3 = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
        words[r], words[R + r], words[2 * R + r], words[3 * R + r] = s0, s1, s2, s3
        # (z >> 11) 2^-53 in two halves, whose conversion to float is one instruction.
        high = np.float64(np.int32(z >> np.uint64(33)))
        low = np.float64(np.int32((z >> np.uint64(11)) & np.uint64(0x3FFFFF)))
        b[U * R + r] = high * 2.0**-31 + low * 2.0**-53
        b[INV * R + r] = rest / W[r]
        b[CUM * R + r] = 0.0
        b[SUM * R + r] = 0.0
        b[ARM * R + r] = -1.0
        b[BELOW * R + r] = 0.0
        b[P * R + r] = 0.0


@lean_step
def pass_arm(w: F64, o: int, b: F64, c: float, floor: float, slope: Slope, shape: Shape) -> None:
    """Move past the arm at offset o: its probability, its bonus, whether u has reached it."""
    R = lane_count(shape)
    for r in range(R):
        u, cum, arm = b[U * R + r], b[CUM * R + r], b[ARM * R + r]
        below, p = b[BELOW * R + r], b[P * R + r]
        i = np.uintp(o + r)  # never negative: without Python's wraparound the loop is SIMD
        w0 = w[i]
        p0 = fma(w0, b[INV * R + r], floor)
        new = grown(slope, w0, c / p0)
        w[i] = new
        b[SUM * R + r] += new
        reached = u >= cum
        b[ARM * R + r] = arm + (1.0 if reached else 0.0)
        b[BELOW * R + r] = cum if reached else below
        b[P * R + r] = p0 if reached else p
        b[CUM * R + r] = cum + p0


@lean_step
def pass_pairs(w: F64, b: F64, c: float, floor: float, slope: Slope, shape: Shape) -> None:
    """Move past arms two at once: one division for both, half the traffic on scratch."""
    R = lane_count(shape)
    for o in range(0, w.shape[0] - R, 2 * R):
        for r in range(R):
            inverse = b[INV * R + r]
            i, j = np.uintp(o + r), np.uintp(o + R + r)
            w0, w1 = w[i], w[j]
            p0, p1 = fma(w0, inverse, floor), fma(w1, inverse, floor)
            both = c / (p0 * p1)
            new0, new1 = grown(slope, w0, both * p1), grown(slope, w1, both * p0)
            w[i], w[j] = new0, new1
            b[SUM * R + r] = (b[SUM * R + r] + new0) + new1
            u, cum, arm = b[U * R + r], b[CUM * R + r], b[ARM * R + r]
            below, p = b[BELOW * R + r], b[P * R + r]
            reached = u >= cum
            arm += 1.0 if reached else 0.0
            below = cum if reached else below
            p = p0 if reached else p
            cum += p0
            reached = u >= cum
            b[ARM * R + r] = arm + (1.0 if reached else 0.0)
            b[BELOW * R + r] = cum if reached else below
            b[P * R + r] = p1 if reached else p
            b[CUM * R + r] = cum + p1


@lean_step
def decay(b: F64, eta: float, shape: Shape) -> None:
    """Compute exp(-eta / p) of the arm drawn; the exponent is at most 1 (p >= gamma / K)."""
    R = lane_count(shape)
    for r in range(R):
        over = 1.0 / b[P * R + r]
        b[OVER * R + r] = over
        x = (eta * over) * -0.25
        x2 = x * x
        x4 = x2 * x2
        e = fma(x2, fma(x, 1 / 6.0, 1 / 2.0), 1.0 + x)
        f = fma(x2, fma(x, 1 / 5040.0, 1 / 720.0), fma(x, 1 / 120.0, 1 / 24.0))
        g = fma(x2, fma(x, 1 / 39916800.0, 1 / 3628800.0), fma(x, 1 / 362880.0, 1 / 40320.0))
        e = fma(x4, fma(x4, g, f), e)
        e *= e
        b[EXP * R + r] = e * e


@lean_step
def settle(lanes: Lanes, t: int, shape: Shape) -> None:
    """Count the plays of round t and take in their losses.

    What is left of the uniform decides a Bernoulli loss: given the arm A it is
    uniform on [0, p_A).
    """
    R = lane_count(shape)
    b, w, n, last = lanes.scratch, lanes.w, lanes.n, lanes.last
    for r in range(R):
        i = np.uintp(np.int64(b[ARM * R + r]) * R + r)
        loss = 1.0 if b[U * R + r] - b[BELOW * R + r] < b[P * R + r] * lanes.q[i] else 0.0
        n[i] += 1
        last[i] = t
        lanes.L[i] += loss * b[OVER * R + r]
        old = w[i]
        new = old + loss * (old * b[EXP * R + r] - old)
        w[i] = new
        lanes.W[r] = b[SUM * R + r] + (new - old)


@lean_kernel
def rescale(w: F64, W: F64) -> None:
    """Divide each lane's weights by a power of two: exact, and far from overflow."""
    R = W.shape[0]
    for r in range(R):
        factor = 2.0 ** -math.floor(math.log2(W[r]))
        for i in range(r, w.shape[0], R):
            w[i] *= factor
        W[r] *= factor


@lean_kernel
def play_lanes(
    lanes: Lanes,
    gamma: float,
    eta: float,
    t: int,
    s: int,
    rounds: int,
    slope: Slope,
    shape: Shape,
) -> None:
    """Play rounds t+1..t+rounds of a run, which are s+1..s+rounds of the phase."""
    R = lane_count(shape)
    w, W, b, words = lanes.w, lanes.W, lanes.scratch, lanes.words
    k = w.shape[0] // R
    floor, rest, c = gamma / k, 1.0 - gamma, 2.0 * eta * eta
    for i in range(1, rounds + 1):
        draw(words, b, W, rest, shape)
        pass_pairs(w, b, c, floor, slope, shape)
        if k % 2 == 1:
            pass_arm(w, (k - 1) * R, b, c, floor, slope, shape)
        decay(b, eta, shape)
        settle(lanes, t + i, shape)
        if (s + i) % RESCALED == 0:
            rescale(w, W)


class Seats(NamedTuple):
    """Whose lanes they are; arms[r] are the active arms of lane r."""

    who: I64  # (members,) replications of the batch
    arms: I64  # (members, k)


@lean_kernel
def take_seats(lanes: Lanes, seats: Seats, states: ArmState, words: U64, q: F64) -> None:
    """Bring counts, last plays, streams and loss probabilities q (K,) into the lanes."""
    R = lanes.W.shape[0]
    lanes.words[:] = 1  # lanes without a member run along and are ignored
    for r in range(seats.who.shape[0]):
        m = seats.who[r]
        for j in range(seats.arms.shape[1]):
            a, i = seats.arms[r, j], j * R + r
            lanes.q[i], lanes.n[i], lanes.last[i] = q[a], states.n[m, a], states.last[m, a]
        for j in range(4):
            lanes.words[j * R + r] = words[m, j]


@lean_kernel
def leave_seats(lanes: Lanes, seats: Seats, states: ArmState, words: U64) -> None:
    """Take counts, last plays and streams back."""
    R = lanes.W.shape[0]
    for r in range(seats.who.shape[0]):
        m = seats.who[r]
        for j in range(seats.arms.shape[1]):
            a, i = seats.arms[r, j], j * R + r
            states.n[m, a], states.last[m, a] = lanes.n[i], lanes.last[i]
        for j in range(4):
            words[m, j] = lanes.words[j * R + r]


@lean_kernel
def note_lanes(lanes: Lanes, seats: Seats, record: RoundRecord, n: I64, t: int) -> None:
    """Record the counts of all lanes if round t is a chosen one; n is from before."""
    R, at = lanes.W.shape[0], record.at[seats.who[0], 0]
    if at == record.rounds.shape[0] or record.rounds[at] != t:
        return
    for r in range(seats.who.shape[0]):
        m = seats.who[r]
        for a in range(n.shape[1]):
            record.plays[m, at, a] = n[m, a]
        for j in range(seats.arms.shape[1]):
            record.plays[m, at, seats.arms[r, j]] = lanes.n[j * R + r]
        record.at[m, 0] = at + 1


@lean_kernel
def play_seats(
    lanes: Lanes,
    seats: Seats,
    states: ArmState,
    words: U64,
    record: RoundRecord,
    phase: tuple[tuple[float, float], tuple[int, int, int]],
    slope: Slope,
    shape: Shape,
) -> None:
    """Play rounds of a run and record them.

    A phase is gamma and eta; the round, that of the phase, and how many are to be played.
    """
    (gamma, eta), (t, s, rounds) = phase
    end, last = t + rounds, record.rounds.shape[0] - 1
    while t < end:
        k = min(end, record.rounds[min(record.at[seats.who[0], 0], last)]) - t
        k = k if k > 0 else end - t
        play_lanes(lanes, gamma, eta, t, s, k, slope, shape)
        t, s = t + k, s + k
        note_lanes(lanes, seats, record, states.n, t)
    leave_seats(lanes, seats, states, words)
    for r in range(seats.who.shape[0]):
        states.clock[seats.who[r], ROUND] = end


class Exp3PState(NamedTuple):
    """One phase of Exp3.P on k arms, for any rewards."""

    lw: F64  # (k,) log weights
    p: F64  # (k,) probabilities of the last draw
    L: F64  # (k,) sums of l_hat
    gamma: float
    eta: float


@lean_step
def choose(state: Exp3PState, u: float) -> int:
    """Compute p and return the arm that the uniform u falls on."""
    k = state.lw.shape[0]
    top, total = state.lw[0], 0.0
    for a in range(k):
        top = max(top, state.lw[a])
    for a in range(k):
        state.p[a] = math.exp(state.lw[a] - top)
        total += state.p[a]
    arm, cum = 0, 0.0
    for a in range(k):
        state.p[a] = (1.0 - state.gamma) * state.p[a] / total + state.gamma / k
        if u >= cum:
            arm = a
        cum += state.p[a]
    return arm


@lean_step
def update(state: Exp3PState, arm: int, loss: float) -> None:
    """Take in the loss of the arm drawn: l_tilde_a = l_hat_a - 2 beta / p_a, all arms."""
    estimate = loss / state.p[arm]
    state.L[arm] += estimate
    state.lw[arm] -= state.eta * estimate
    for a in range(state.lw.shape[0]):
        state.lw[a] += 2.0 * state.eta * state.eta / state.p[a]


@lean_kernel
def choose_once(state: Exp3PState, u: float) -> int:
    """Choose for a live decision; unlike a step it is kept on disk once compiled."""
    return choose(state, u)


@lean_kernel
def update_once(state: Exp3PState, arm: int, loss: float) -> None:
    """Update after a live decision."""
    update(state, arm, loss)


@lean_kernel
def play_rounds(
    base: Exp3PState, law: Law, arms: I64, run: ArmState, offset: float, slope: float, rounds: int
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
