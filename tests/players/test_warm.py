"""Live rounds of every learner find all their kernels on disk once they were compiled."""

import subprocess
import sys

# Plays a few live rounds of each learner and prints what Numba compiled meanwhile. A rule of
# one's own that comes uncompiled stays so; nothing of it could be kept on disk.
CHILD = """
import warnings
import numpy as np
from numba.core import event
import uli_fast as uli

warnings.simplefilter("ignore")
ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
MDP = uli.mdps.river_swim(3, 2)


def keep_all(*about):
    return np.full(3, True)


def live():
    for learner in (uli.SuccessiveElimination(0.1), uli.PhasedElimination(0.1), uli.UCB(0.1),
                    uli.LilUCB(0.1), uli.BettingElimination(0.1),
                    uli.MetaElimination(uli.Exp3P(), 0.1)):
        yield learner.start(3, seed=1)
    yield uli.EliminationFramework(keep_all, lambda delta, t: 1.0).start(3)
    yield uli.Exp3P(0.1).start(3, seed=1, horizon=10_000)
    for base in (uli.GeometricHedge(0.1), uli.Scrible(0.1)):
        yield base.start(ARMS, seed=1, horizon=10_000)
        yield uli.MetaElimination(base, 0.1).start(ARMS, seed=1)
    yield uli.LinearElimination(0.1, R=1.0).start(ARMS)
    yield uli.SpannerElimination(0.1, R=1.0).start(ARMS)
    yield uli.SpannerElimination(0.1, R=1.0).start(uli.arm_sets.Ball(2))
    yield uli.PolicyElimination(0.1).start(MDP.rewards)


with event.install_recorder("numba:compile") as compiled:
    for player in live():
        for _ in range(40):
            if isinstance(player.learner, uli.PolicyElimination):
                decision = player.ask(state=0)
                actions = decision.policy[:, 0].tolist()
                player.tell(decision.id, [0] * len(actions), actions)
            else:
                decision = player.ask()
                player.tell(decision.id, 0.5)
        try:
            player.certificate()
            player.intervals()
        except uli.errors.UliError:
            pass  # not every learner has them
for _, found in compiled.buffer:
    if found.is_start:
        print(found.data["dispatcher"].py_func.__qualname__)
"""


def compiled():
    done = subprocess.run(
        [sys.executable, "-c", CHILD], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_live_rounds_compile_nothing_once_they_have_been_played():
    compiled()
    assert compiled() == []
