"""The best policy of an explicit set, one policy after the other."""

from __future__ import annotations

from typing import NamedTuple

from uli_fast._typing import F64, I8
from uli_fast.kernels._jit import lean_step
from uli_fast.kernels.mdp.episodes import Model, backup, copied


class Enumeration(NamedTuple):
    """The policies, in the order of their index."""

    policies: I8  # (n, H, S)
    V: F64  # (2, S)


@lean_step
def value_at(policies: I8, i: int, model: Model, s1: int, room: F64) -> float:
    """Return the value of policy i at s1."""
    H, S = model.c.shape[0], model.c.shape[1]
    limit, now = float(H), 0
    for s in range(S):
        room[0, s] = 0.0
    for h in range(H - 1, 0, -1):
        for s in range(S):
            a = policies[i, h, s]
            room[1 - now, s] = backup(model.P, model.c, h, s, a, room[now], limit)
        now = 1 - now
    return backup(model.P, model.c, 0, s1, policies[i, 0, s1], room[now], limit)


@lean_step
def choose_by_enumeration(listed: Enumeration, model: Model, s1: int, pi: I8) -> None:
    """Write the first policy with the largest value at s1 into pi."""
    best, first = -1.0, 0
    for i in range(listed.policies.shape[0]):
        value = value_at(listed.policies, i, model, s1, listed.V)
        if value > best:
            best, first = value, i
    model.top[s1] = best
    copied(listed.policies[first], pi)
