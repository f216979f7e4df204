"""Episodes of a tabular MDP: how states are drawn, what is counted, what a policy is worth.

Letters: H stages, S states, A actions; stages, states and actions are numbered from 0. A
policy is an (H, S) table of actions. A backup is min(sum over k of P[k] V[k] + c, H), the sum
in the order of the states and without fused operations: under IEEE rounding it is monotone in
V, so that maxima found stage by stage are those of an enumeration, to the bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uli_fast._typing import F64, I8, I64, U64
from uli_fast.kernels._jit import kernel, lean_kernel, lean_step
from uli_fast.kernels.draws.binomial import successes
from uli_fast.kernels.draws.stream import uniform


class MdpLaw(NamedTuple):
    """The truth, as episodes draw it."""

    start: F64  # (S,) cumulative initial probabilities
    cdf: F64  # (H, S, A, S) cumulative transition probabilities
    words: U64  # (4,) the stream


class Model(NamedTuple):
    """What was seen, and what a learner makes of it."""

    N: I64  # (H, S, A) visits
    N3: I64  # (H, S, A, S) transitions; none is drawn after the last stage
    P: F64  # (H, S, A, S) P_hat = N3 / N, zero where unvisited
    c: F64  # (H, S, A) reward and bonus: what a backup adds
    starts: I64  # (S,) episodes that began in each state
    top: F64  # (S,) the largest value at the last choice in each initial state


class EpisodePath(NamedTuple):
    """One episode: its policy, and where that led."""

    pi: I8  # (H, S)
    state: I64  # (H,)
    action: I64  # (H,)


@lean_step
def drawn(cdf: F64, u: float) -> int:
    """Return the first i with u < cdf[i], the last being 1: a count, without branches."""
    i = 0
    for k in range(cdf.shape[0] - 1):
        i += u >= cdf[k]
    return i


@lean_step
def copied(source: I8, pi: I8) -> None:
    """Copy a policy."""
    for h in range(pi.shape[0]):
        for s in range(pi.shape[1]):
            pi[h, s] = source[h, s]


@lean_step
def walk(law: MdpLaw, path: EpisodePath) -> None:
    """Follow the policy from path.state[0]; what comes after the last stage is never drawn."""
    H = path.state.shape[0]
    for h in range(H):
        s = path.state[h]
        a = path.pi[h, s]
        path.action[h] = a
        if h < H - 1:
            path.state[h + 1] = drawn(law.cdf[h, s, a], uniform(law.words))


@lean_step
def count(model: Model, path: EpisodePath, h: int) -> int:
    """Count stage h of an episode; return the visits of its state and action."""
    s, a = path.state[h], path.action[h]
    model.N[h, s, a] += 1
    n = model.N[h, s, a]
    if h < path.state.shape[0] - 1:
        model.N3[h, s, a, path.state[h + 1]] += 1
        for k in range(model.P.shape[3]):
            model.P[h, s, a, k] = model.N3[h, s, a, k] / n
    return int(n)


@lean_step
def backup(P: F64, c: F64, h: int, s: int, a: int, V: F64, limit: float) -> float:
    """Return min(sum over k of P[h, s, a, k] V[k] + c[h, s, a], limit)."""
    p, S = P[h, s, a], V.shape[0]
    x = p[0] * V[0]
    if S == 2:
        x = x + p[1] * V[1]
    elif S == 3:
        x = (x + p[1] * V[1]) + p[2] * V[2]
    elif S == 4:
        x = ((x + p[1] * V[1]) + p[2] * V[2]) + p[3] * V[3]
    else:
        for k in range(1, S):
            x += p[k] * V[k]
    return float(min(x + c[h, s, a], limit))


@lean_step
def evaluate(pi: I8, P: F64, c: F64, V: F64, W: F64) -> None:
    """Leave the values of a policy at the first stage in V; W is room of the same size."""
    H, S = pi.shape
    for s in range(S):
        V[s] = 0.0
    for h in range(H - 1, -1, -1):
        for s in range(S):
            W[s] = backup(P, c, h, s, pi[h, s], V, float(H))
        for s in range(S):
            V[s] = W[s]


@kernel
def mean_values(policies: I8, P: F64, r: F64, weights: F64, total: float, values: F64) -> None:
    """Fill in the value of each policy, (n, H, S), averaged over initial states."""
    S = weights.shape[0]
    V, W = np.empty(S), np.empty(S)
    for i in range(policies.shape[0]):
        evaluate(policies[i], P, r, V, W)
        x = 0.0
        for s in range(S):
            x += weights[s] * V[s]
        values[i] = x / total


@lean_kernel
def multinomial(words: U64, n: int, cdf: F64, counts: I64) -> None:
    """Add to ``counts`` how often each i comes in n draws."""
    below = 0.0
    for i in range(cdf.shape[0]):
        if n == 0:
            break
        p = min(1.0, (cdf[i] - below) / (1.0 - below)) if below < 1.0 else 1.0
        below = cdf[i]
        k = successes(words, n, p)
        counts[i] += k
        n -= k


@kernel
def draw_episodes(law: MdpLaw, model: Model, pi: I8, n: int) -> None:
    """Draw n episodes of one policy at once: visits are multinomial stage by stage."""
    H, S = pi.shape
    here, there = np.zeros(S, np.int64), np.zeros(S, np.int64)
    multinomial(law.words, n, law.start, here)
    model.starts[:] += here
    for h in range(H):
        there[:] = 0
        for s in range(S):
            a = pi[h, s]
            model.N[h, s, a] += here[s]
            if h < H - 1 and here[s] > 0:
                moved = np.zeros(S, np.int64)
                multinomial(law.words, here[s], law.cdf[h, s, a], moved)
                there += moved
                for k in range(S):
                    model.N3[h, s, a, k] += moved[k]
                    model.P[h, s, a, k] = model.N3[h, s, a, k] / model.N[h, s, a]
        here[:] = there
