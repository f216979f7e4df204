"""Policy elimination on tabular MDPs: a phase of Uniform-Estimation.

Each episode plays the active policy whose optimistic value at the observed initial state is
largest, the reward being b / H and the bonus b: it goes where least is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from uli_fast._typing import F64, I8
from uli_fast.kernels._jit import by_type, kernel, lean_kernel, lean_step
from uli_fast.kernels.draws.stream import uniform
from uli_fast.kernels.mdp.backward_induction import Induction, choose_by_induction
from uli_fast.kernels.mdp.enumeration import Enumeration, choose_by_enumeration
from uli_fast.kernels.mdp.episodes import EpisodePath, MdpLaw, Model, count, drawn, walk
from uli_fast.kernels.mdp.policy_log import PolicyLog, enter, is_full
from uli_fast.kernels.mdp.search import FOUND, Search, choose_by_search
from uli_fast.kernels.mdp.trie import Trie, choose_by_trie

Chooser = Induction | Enumeration | Trie | Search

# How a chunk of episodes ends.
PLAYED, NO_ROOM, TOO_MANY = 0, 1, 2


@lean_step
def bonus(n: int, H: int, b: F64) -> float:
    """Return min(b0 sqrt(b1 / n) + b2 / (3 n), H) for n >= 1 visits (Eq. def4bonus)."""
    return float(min(b[0] * math.sqrt(b[1] / n) + b[2] / (3.0 * n), float(H)))


@kernel
def open_phase(model: Model, b: F64) -> None:
    """Forget everything; unvisited actions have the bonus of a single visit."""
    H = model.c.shape[0]
    model.N[:] = 0
    model.N3[:] = 0
    model.P[:] = 0.0
    model.starts[:] = 0
    model.top[:] = float(H)
    most = bonus(1, H, b)
    model.c[:] = most / H + most


@lean_step
def absorb(model: Model, b: F64, path: EpisodePath) -> None:
    """Learn from an episode."""
    H = path.state.shape[0]
    model.starts[path.state[0]] += 1
    for h in range(H):
        width = bonus(count(model, path, h), H, b)
        model.c[h, path.state[h], path.action[h]] = width / H + width


@lean_kernel
def learn(model: Model, b: F64, path: EpisodePath) -> None:
    """Learn from an episode."""
    absorb(model, b, path)


@lean_step
def arrive(law: MdpLaw, path: EpisodePath) -> int:
    """Draw the initial state of an episode."""
    path.state[0] = drawn(law.start, uniform(law.words))
    return int(path.state[0])


@lean_step
def follow(law: MdpLaw, model: Model, b: F64, policy_log: PolicyLog, path: EpisodePath) -> None:
    """Play the episode's policy and learn from it."""
    walk(law, path)
    absorb(model, b, path)
    policy_log.clock[0] += 1
    enter(policy_log, path.pi, policy_log.clock[0])


# One loop for each way of choosing: a small MDP is played twice as fast as through a common
# function, because everything is compiled into the loop.


@lean_kernel
def play_by_induction(
    chooser: Induction,
    law: MdpLaw,
    model: Model,
    b: F64,
    policy_log: PolicyLog,
    path: EpisodePath,
    n: int,
) -> int:
    """Play n episodes, or as many as the log has room for."""
    for _ in range(n):
        if is_full(policy_log):
            return NO_ROOM
        choose_by_induction(chooser, model, arrive(law, path), path.pi)
        follow(law, model, b, policy_log, path)
    return PLAYED


@lean_kernel
def play_by_enumeration(
    chooser: Enumeration,
    law: MdpLaw,
    model: Model,
    b: F64,
    policy_log: PolicyLog,
    path: EpisodePath,
    n: int,
) -> int:
    """Play n episodes, or as many as the log has room for."""
    for _ in range(n):
        if is_full(policy_log):
            return NO_ROOM
        choose_by_enumeration(chooser, model, arrive(law, path), path.pi)
        follow(law, model, b, policy_log, path)
    return PLAYED


@lean_kernel
def play_by_trie(
    chooser: Trie,
    law: MdpLaw,
    model: Model,
    b: F64,
    policy_log: PolicyLog,
    path: EpisodePath,
    n: int,
) -> int:
    """Play n episodes, or as many as the log has room for."""
    for _ in range(n):
        if is_full(policy_log):
            return NO_ROOM
        choose_by_trie(chooser, model, arrive(law, path), path.pi)
        follow(law, model, b, policy_log, path)
    return PLAYED


@lean_kernel
def play_by_search(
    chooser: Search,
    law: MdpLaw,
    model: Model,
    b: F64,
    policy_log: PolicyLog,
    path: EpisodePath,
    n: int,
) -> int:
    """Play n episodes, or as many as the log has room for and the search allows."""
    for _ in range(n):
        if is_full(policy_log):
            return NO_ROOM
        status = choose_by_search(chooser, model, arrive(law, path), path.pi)
        if status != FOUND:
            return TOO_MANY
        follow(law, model, b, policy_log, path)
    return PLAYED


LOOPS: dict[type, Callable[..., int]] = {
    Induction: play_by_induction,
    Enumeration: play_by_enumeration,
    Trie: play_by_trie,
    Search: play_by_search,
}


def choose(chooser: Chooser, model: Model, s1: int, pi: I8) -> None:
    """Write the best active policy for s1 into pi (compiled code only)."""
    raise TypeError("choose is called from compiled kernels only")


@by_type(choose)
def _choose(chooser: Any, model: Any, s1: Any, pi: Any) -> Callable[..., None]:
    if chooser.instance_class is Induction:
        return lambda chooser, model, s1, pi: choose_by_induction(chooser, model, s1, pi)
    if chooser.instance_class is Trie:
        return lambda chooser, model, s1, pi: choose_by_trie(chooser, model, s1, pi)
    return lambda chooser, model, s1, pi: choose_by_enumeration(chooser, model, s1, pi)


@kernel
def choose_policy(chooser: Chooser, model: Model, s1: int, pi: I8) -> None:
    """Write the best active policy for s1 into pi."""
    choose(chooser, model, s1, pi)
