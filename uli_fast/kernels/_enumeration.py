"""The best policy of an explicit set, one policy after the other."""

from __future__ import annotations

from typing import NamedTuple

from uli_fast._typing import F64, I8
from uli_fast.kernels._jit import step
from uli_fast.kernels._mdp import Model, copied, evaluate


class Enumeration(NamedTuple):
    """The policies, in the order of their index."""

    policies: I8  # (n, H, S)
    V: F64  # (S,)
    W: F64  # (S,)


@step
def choose_by_enumeration(listed: Enumeration, model: Model, s1: int, pi: I8) -> None:
    """Write the first policy with the largest value at s1 into pi."""
    best, first = -1.0, 0
    for i in range(listed.policies.shape[0]):
        evaluate(listed.policies[i], model.P, model.c, listed.V, listed.W)
        if listed.V[s1] > best:
            best, first = listed.V[s1], i
    model.top[s1] = best
    copied(listed.policies[first], pi)
