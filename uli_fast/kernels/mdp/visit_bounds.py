"""How often a policy may pass through a state, whatever plausible model is true.

The largest probability of finding a state at a stage is one induction back to the start. Nearly all
of them can be broken off: bounds of the visits of an earlier stage, and what the induction has
there, bound the result, and often that is too small to matter (docs/proofs_models.md, section 5).
"""

from __future__ import annotations

import math

from uli_fast._typing import F64, I64
from uli_fast.kernels._jit import lean_kernel, lean_step
from uli_fast.kernels.mdp.boxes import Boxes, most, sort_states
from uli_fast.kernels.mdp.robust import TIE, Choice, row_of

# Relative: what a bound has to stay below the least by, far more than rounding.
CLEAR = 1e-9
# Bounds that are tried at a stage.
CENTRES = 8


@lean_step
def most_to(boxes: Boxes, row: int, j: int) -> float:
    """Return the largest probability of entry j of a row."""
    i = boxes.home[row]
    return float(min(boxes.high[i, j], boxes.low[i, j] + boxes.rest[i]))


@lean_kernel
def forward(boxes: Boxes, choice: Choice, x: F64) -> None:
    """Fill in crude bounds of the visits, (H, S): probabilities are largest at every step."""
    H, S, A = choice.R.shape
    for h in range(H):
        for s in range(S):
            x[h, s] = 0.0
    for j in range(boxes.size[0]):
        x[0, boxes.to[0, j]] = most_to(boxes, 0, j)
    for h in range(H - 1):
        for s in range(S):
            x[h, s] = min(1.0, x[h, s])
            for way in range(2):
                p = choice.mix[h, s] if way == 0 else 1.0 - choice.mix[h, s]
                if x[h, s] * p > 0.0:
                    a = choice.one[h, s] if way == 0 else choice.two[h, s]
                    row = row_of(h, s, a, S, A)
                    i = boxes.home[row]
                    for j in range(boxes.size[i]):
                        x[h + 1, boxes.to[i, j]] += x[h, s] * p * most_to(boxes, row, j)


@lean_step
def chance(boxes: Boxes, row: int, f: F64, order: I64) -> float:
    """Return the largest P f of a row, f >= 0; most rows lead to where f is 0."""
    i = boxes.home[row]
    for j in range(boxes.size[i]):
        if f[boxes.to[i, j]] > 0.0:
            return most(boxes, row, f, order)
    return 0.0


@lean_kernel
def step_back(boxes: Boxes, choice: Choice, h: int, f: F64, to: F64, order: I64) -> None:
    """Fill in the largest P f of the policy at each state of stage h that it may pass through."""
    _, S, A = choice.R.shape
    if boxes.to.shape[1] == S:
        sort_states(f, order)
    for s in range(S):
        to[s] = 0.0
        if choice.x[0, h, s] > 0.0:
            p = choice.mix[h, s]
            to[s] = chance(boxes, row_of(h, s, choice.one[h, s], S, A), f, order)
            if p < 1.0:
                other = row_of(h, s, choice.two[h, s], S, A)
                to[s] = p * to[s] + (1.0 - p) * chance(boxes, other, f, order)


@lean_kernel
def within(x: F64, f: F64, enough: float) -> float:
    """Return a bound of <d, f> over laws d <= x, or one that is ``enough``.

    That is c + sum of x (f - c)+ for every c; the best c has as much as 1 of x above it.
    """
    c, least = 0.0, math.inf
    for _ in range(CENTRES):
        mass, above = 0.0, 0.0
        for s in range(x.shape[0]):
            if f[s] > c:
                mass += x[s]
                above += x[s] * (f[s] - c)
        least = min(least, c + above)
        if least <= enough or mass <= 1.0:
            break
        c += above / mass
    return least


@lean_kernel
def reach(boxes: Boxes, choice: Choice, h: int, s: int, enough: float, order: I64) -> float:
    """Return the largest probability over all models that stage h finds state s: one induction.

    One that is ``enough`` or less may be returned as a bound that is. choice.x[0], (H, S), has
    bounds of the visits, choice.V is room.
    """
    S, f, now = choice.one.shape[1], choice.V, 0
    for k in range(S):
        f[0, k] = 1.0 if k == s else 0.0
    for j in range(h - 1, -1, -1):
        step_back(boxes, choice, j, f[now], f[1 - now], order)
        now = 1 - now
        bound = within(choice.x[0, j], f[now], enough)
        if bound <= enough:
            return bound
    if boxes.to.shape[1] == S:
        sort_states(f[now], order)
    return most(boxes, 0, f[now], order)


@lean_step
def supply(boxes: Boxes, choice: Choice, h: int, s: int, growth: float, n0: float) -> float:
    """Return how many visits of a state fit into a block: (growth n + n0) / pi(a), the least."""
    _, S, A = choice.R.shape
    most = math.inf
    for way in range(2):
        p = choice.mix[h, s] if way == 0 else 1.0 - choice.mix[h, s]
        a = choice.one[h, s] if way == 0 else choice.two[h, s]
        i = boxes.home[row_of(h, s, a, S, A)]
        if p > 0.0 and boxes.size[i] > 1:
            most = min(most, (growth * boxes.n[i] + n0) / p)
    return most


@lean_step
def tightest(need: F64, x: F64) -> int:
    """Return the state with the least need / x; need is infinite where x is 0."""
    at = 0
    for s in range(1, x.shape[0]):
        if need[s] / x[s] < need[at] / x[at]:
            at = s
    return at


@lean_kernel
def block_length(boxes: Boxes, choice: Choice, growth: float, n0: float, order: I64) -> float:
    """Return the episodes of a block: no unknown row is expected more than growth n + n0 times.

    That is the least of supply / visits over all states. They are tried in the order of the crude
    bounds of their visits until no other can be less.
    """
    H, S = choice.one.shape
    K = growth * boxes.n[0] + n0 if boxes.size[0] > 1 else math.inf
    x, need, line = choice.x[0], choice.x[1], choice.x[2, :, 0]
    forward(boxes, choice, x)
    line[0] = math.inf
    for h in range(H - 1):
        for s in range(S):
            need[h, s] = math.inf
            if x[h, s] > 0.0:
                need[h, s] = supply(boxes, choice, h, s, growth, n0)
        s = tightest(need[h], x[h])
        line[h] = need[h, s] / x[h, s]
    while True:
        h = 0
        for k in range(1, H - 1):
            if line[k] < line[h]:
                h = k
        if not line[h] < K:
            return math.floor(K * (1.0 + TIE)) if K < math.inf else K
        s = tightest(need[h], x[h])
        probability = reach(boxes, choice, h, s, (1.0 - CLEAR) * need[h, s] / K, order)
        if need[h, s] < K * probability:
            K = need[h, s] / probability
        x[h, s], need[h, s] = min(x[h, s], probability), math.inf
        s = tightest(need[h], x[h])
        line[h] = need[h, s] / x[h, s]
