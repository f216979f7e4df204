"""Live rounds of every learner find all their kernels on disk once they were compiled."""

import subprocess
import sys
from pathlib import Path

from tests.support.patience import PATIENCE

# Plays a few live rounds of each learner and prints what Numba compiled meanwhile. A rule of
# one's own that comes uncompiled stays so; nothing of it could be kept on disk.
CHILD = """
import warnings
from numba.core import event
import uli_fast as uli
from tests.support.examples import ARMS, LIVE, drive

warnings.simplefilter("ignore")


def live():
    for example in LIVE:
        yield example.start()
    yield uli.MetaElimination(uli.Exp3P(), 0.1).start(3, seed=1)
    yield uli.SpannerElimination(0.1, R=1.0).start(ARMS)
    yield uli.PolicyElimination(0.1).start(uli.mdps.river_swim(3, 2).rewards)


with event.install_recorder("numba:compile") as compiled:
    for player in live():
        drive(player, 40)
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
        [sys.executable, "-c", CHILD],
        cwd=Path(__file__).parent.parent.parent,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_live_rounds_compile_nothing_once_they_have_been_played():
    compiled()
    assert compiled() == []
