"""How often a policy may pass through a state, whatever plausible model is true."""

from __future__ import annotations

import math

from uli_fast._typing import F64, I64
from uli_fast.kernels._jit import lean_kernel, lean_step
from uli_fast.kernels.mdp.boxes import Boxes, most, sort_states
from uli_fast.kernels.mdp.robust import TIE, Choice, row_of


@lean_step
def most_to(boxes: Boxes, row: int, j: int) -> float:
    """Return the largest probability of entry j of a row."""
    i = boxes.home[row]
    return float(min(boxes.high[i, j], boxes.low[i, j] + boxes.rest[i]))


@lean_step
def forward(boxes: Boxes, choice: Choice, A: int, x: F64) -> None:
    """Fill in crude bounds of the visits, (H, S): probabilities are largest at every step."""
    H, S = choice.one.shape
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


@lean_kernel
def reach(boxes: Boxes, choice: Choice, A: int, h: int, s: int, f: F64, order: I64) -> float:
    """Return the largest probability over all models that stage h finds state s: one induction.

    f, (2 or more, S), is room.
    """
    S = choice.one.shape[1]
    for k in range(S):
        f[0, k] = 1.0 if k == s else 0.0
    now = 0
    for j in range(h - 1, -1, -1):
        if boxes.to.shape[1] == S:
            sort_states(f[now], order)
        for k in range(S):
            p = choice.mix[j, k]
            y = most(boxes, row_of(j, k, choice.one[j, k], S, A), f[now], order)
            if p < 1.0:
                other = row_of(j, k, choice.two[j, k], S, A)
                y = p * y + (1.0 - p) * most(boxes, other, f[now], order)
            f[1 - now, k] = y
        now = 1 - now
    if boxes.to.shape[1] == S:
        sort_states(f[now], order)
    return most(boxes, 0, f[now], order)


@lean_step
def supply(boxes: Boxes, choice: Choice, A: int, h: int, s: int, growth: float, n0: float) -> float:
    """Return how many visits of a state fit into a block: (growth n + n0) / pi(a), the least."""
    S, most = choice.one.shape[1], math.inf
    for way in range(2):
        p = choice.mix[h, s] if way == 0 else 1.0 - choice.mix[h, s]
        a = choice.one[h, s] if way == 0 else choice.two[h, s]
        i = boxes.home[row_of(h, s, a, S, A)]
        if p > 0.0 and boxes.size[i] > 1:
            most = min(most, (growth * boxes.n[i] + n0) / p)
    return most


@lean_kernel
def block_length(
    boxes: Boxes, choice: Choice, A: int, growth: float, n0: float, f: F64, order: I64
) -> float:
    """Return the episodes of a block: no unknown row is expected more than growth n + n0 times.

    That is the least of supply / visits over all states. Exact bounds of the visits cost an
    induction each, so states are tried in the order of the crude ones until no other can be less.
    """
    H, S = choice.one.shape
    K = growth * boxes.n[0] + n0 if boxes.size[0] > 1 else math.inf
    x, need = choice.x[0], choice.x[1]
    forward(boxes, choice, A, x)
    for h in range(H - 1):
        for s in range(S):
            need[h, s] = math.inf
            if x[h, s] > 0.0:
                need[h, s] = supply(boxes, choice, A, h, s, growth, n0)
    while True:
        least, at = K, -1
        for h in range(H - 1):
            for s in range(S):
                if need[h, s] < least * x[h, s]:
                    least, at = need[h, s] / x[h, s], h * S + s
        if at < 0:
            return math.floor(K * (1.0 + TIE)) if K < math.inf else K
        h, s = at // S, at % S
        probability = reach(boxes, choice, A, h, s, f, order)
        if need[h, s] < K * probability:
            K = need[h, s] / probability
        need[h, s] = math.inf
