"""UBEV on tabular MDPs: one optimistic backward induction per episode.

Q_h(s, a) = r + min(max V_{h+1}, P_hat V_{h+1} + (H - h) phi), h = 1..H, V_h = max_a Q_h, with
phi = sqrt((2 log log max(e, N) + log(18 S A H / delta)) / N), or infinite where nothing was
seen (Dann, Lattimore and Brunskill, 2017, Algorithm UBEV, the rewards being known).
"""

from __future__ import annotations

import math

from uli_fast.kernels._jit import lean_kernel, lean_step
from uli_fast.kernels.draws.stream import uniform
from uli_fast.kernels.mdp.episodes import EpisodePath, MdpLaw, Model, count, drawn, walk
from uli_fast.kernels.mdp.policy_log import PolicyLog, enter, is_full
from uli_fast.kernels.policy_elimination import NO_ROOM, PLAYED
from uli_fast.kernels.ucbvi import Outlook, be_greedy, column, expect_all, expected


@lean_step
def phi(n: int, log_term: float) -> float:
    """Return the confidence width after n >= 1 visits."""
    return math.sqrt((2.0 * math.log(math.log(max(math.e, n))) + log_term) / n)


@lean_step
def update(look: Outlook, h: int, j: int, x: float, most: float) -> None:
    """Set Q to r + min(most, x + c)."""
    look.Q[h, j] = look.r[h, j] + min(most, x + look.c[h, j])


@lean_step
def plan(look: Outlook, path: EpisodePath, anew: bool) -> None:
    """Write the next policy over that of the last episode.

    Where the values of the next stage stay as they are, only what was visited can change.
    """
    for h in range(path.state.shape[0] - 1, -1, -1):
        most = 0.0
        for k in range(look.V.shape[1]):
            most = max(most, look.V[h + 1, k])
        if anew:
            expect_all(look, h)
            for j in range(look.x.shape[0]):
                update(look, h, j, look.x[j], most)
        else:
            j = column(look, path, h)
            update(look, h, j, expected(look, h, j), most)
        anew = be_greedy(look, h, path, anew)


@lean_step
def absorb(model: Model, look: Outlook, log_term: float, path: EpisodePath) -> None:
    """Learn from an episode."""
    H = path.state.shape[0]
    for h in range(H):
        n = count(model, path, h)
        look.c[h, column(look, path, h)] = (H - 1 - h) * phi(n, log_term)  # h is one less here


@lean_kernel
def play_episodes(
    look: Outlook,
    law: MdpLaw,
    model: Model,
    log_term: float,
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
        absorb(model, look, log_term, path)
        policy_log.clock[0] += 1
        enter(policy_log, path.pi, policy_log.clock[0])
    return PLAYED
