"""UCB as a user would write it, compiled, against a plain loop; and as a class."""

import functools
import math

from bench.plain import optimism as loops
from bench.plain.jit import plain as compiled
from bench.support.cases import DELTA, SPREAD, ours, plain
from tests.naive.own_learner import MyUCB, count, no_plays
from uli_fast import OwnLearner


@functools.cache
def functions() -> OwnLearner:
    """Return UCB as three functions, two of them compiled."""

    @compiled
    def choose(state, t):
        n, total = state
        level = math.log(2.0 / DELTA) + 2.0 * math.log(t)
        best, arm = -math.inf, 0
        for a in range(n.size):
            if n[a] == 0:
                return a
            index = total[a] / n[a] + math.sqrt(level / n[a])
            if index > best:
                best, arm = index, a
        return arm

    return OwnLearner(no_plays, choose, compiled(count))


def test_compiled(versus):
    """UCB of one's own in compiled functions, K = 10, T = 1e6; against a plain loop."""
    versus(ours(functions(), SPREAD, 10**6, "rounds"), plain(loops.ucb, SPREAD, 10**6))


def test_class(versus):
    """UCB of one's own as a Python class, K = 10, T = 1e4."""
    versus(ours(OwnLearner(MyUCB), SPREAD, 10**4, "rounds"))
