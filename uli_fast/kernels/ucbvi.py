"""UCB-VI on tabular MDPs: one optimistic backward induction per episode.

Q_h(s, a) = min(that of the episode before, H, r + P_hat V_{h+1} + b) where (s, a) was visited,
H where it was not (Azar, Osband and Munos, 2017, Algorithm UCB-Q-values), V_h = max_a Q_h, and
b = 7 H L / sqrt(N). Each pair (s, a) has its column: sums over the next states run side by side,
every one of them in the order of the states.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from uli_fast._typing import F64, I64
from uli_fast.kernels._jit import lean_kernel, lean_step
from uli_fast.kernels.draws.stream import uniform
from uli_fast.kernels.mdp.episodes import EpisodePath, MdpLaw, Model, count, drawn, walk
from uli_fast.kernels.mdp.policy_log import PolicyLog, enter, is_full
from uli_fast.kernels.policy_elimination import NO_ROOM, PLAYED


class Outlook(NamedTuple):
    """The best that can be expected; the column of (s, a) is s A + a."""

    P: F64  # (H, S, S A) P_hat: Model.P itself, seen with the next state first
    r: F64  # (H, S A) rewards
    c: F64  # (H, S A) what is added to P_hat V: more than can be earned where unvisited
    Q: F64  # (H, S A)
    V: F64  # (H + 1, S) NaN at first, but for the zeros after the last stage
    x: F64  # (S A,) P_hat V at a stage
    width: I64  # (H, S) actions to choose from: all A, or 1 where there is nothing to decide


@lean_step
def expect_all(look: Outlook, h: int) -> None:
    """Fill in P_hat V of every column at stage h."""
    for j in range(look.x.shape[0]):
        look.x[j] = 0.0
    for k in range(look.V.shape[1]):
        v = look.V[h + 1, k]
        for j in range(look.x.shape[0]):
            look.x[j] += look.P[h, k, j] * v


@lean_step
def expected(look: Outlook, h: int, j: int) -> float:
    """Return P_hat V of column j at stage h."""
    x = 0.0
    for k in range(look.V.shape[1]):
        x += look.P[h, k, j] * look.V[h + 1, k]
    return x


@lean_step
def column(look: Outlook, path: EpisodePath, h: int) -> int:
    """Return the column visited at stage h."""
    A = look.x.shape[0] // look.V.shape[1]
    return int(path.state[h] * A + path.action[h])


@lean_step
def be_greedy(look: Outlook, h: int, path: EpisodePath, anew: bool) -> bool:
    """Take the best actions at stage h, the smallest among equals; say if a value has changed.

    It is done in every state if ``anew``, else only in the one that was visited.
    """
    S = look.V.shape[1]
    A = look.x.shape[0] // S
    changed = False
    for s in range(0 if anew else path.state[h], S if anew else path.state[h] + 1):
        best, action = -1.0, 0
        for a in range(look.width[h, s]):
            if look.Q[h, s * A + a] > best:
                best, action = look.Q[h, s * A + a], a
        changed |= best != look.V[h, s]
        look.V[h, s], path.pi[h, s] = best, action
    return changed


@lean_step
def update(look: Outlook, h: int, j: int, x: float) -> None:
    """Set Q to min(Q, x + c); it begins at H."""
    look.Q[h, j] = min(look.Q[h, j], x + look.c[h, j])


@lean_step
def plan(look: Outlook, path: EpisodePath, anew: bool) -> None:
    """Write the next policy over that of the last episode (Algorithm UCB-Q-values).

    Where the values of the next stage stay as they are, only what was visited can change.
    """
    for h in range(path.state.shape[0] - 1, -1, -1):
        if anew:
            expect_all(look, h)
            for j in range(look.x.shape[0]):
                update(look, h, j, look.x[j])
        else:
            j = column(look, path, h)
            update(look, h, j, expected(look, h, j))
        anew = be_greedy(look, h, path, anew)


@lean_step
def absorb(model: Model, look: Outlook, b: float, path: EpisodePath) -> None:
    """Learn from an episode; b is the bonus of a single visit."""
    for h in range(path.state.shape[0]):
        n = count(model, path, h)
        j = column(look, path, h)
        look.c[h, j] = look.r[h, j] + b / math.sqrt(n)


@lean_kernel
def play_episodes(
    look: Outlook,
    law: MdpLaw,
    model: Model,
    b: float,
    policy_log: PolicyLog,
    path: EpisodePath,
    n: int,
) -> int:
    """Play n episodes, or as many as the log has room for."""
    for _ in range(n):
        if is_full(policy_log):
            return NO_ROOM
        plan(look, path, policy_log.clock[0] == 0)
        path.state[0] = drawn(law.start, uniform(law.words))
        walk(law, path)
        absorb(model, look, b, path)
        policy_log.clock[0] += 1
        enter(policy_log, path.pi, policy_log.clock[0])
    return PLAYED
