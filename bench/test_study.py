"""Live studies: decisions and outcomes in batches against one by one, and opening a long study."""

import atexit
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest

import uli_fast as uli
from bench.support.cases import Case

DECISIONS = 512
ARMS = ["a", "b", "c"]


def folder():
    made = tempfile.TemporaryDirectory()
    atexit.register(made.cleanup)
    return Path(made.name)


def driven(size):
    """Return decisions that are asked for and told in batches, every batch on the disk."""

    def prepare(seed):
        study = uli.Study.open(folder() / "study.db", uli.SuccessiveElimination(0.1), ARMS, seed)

        def run():
            for _ in range(DECISIONS // size):
                if size == 1:
                    study.tell(study.ask().id, 1.0)
                else:
                    study.tell_many([(d.id, 1.0) for d in study.ask_many(size)])
            study.close()

        return run

    return Case(prepare)


@pytest.mark.parametrize("size", [1, 16, 256])
def test_batches(versus, size):
    """Ask for 512 decisions and tell their outcomes, in batches; on the disk, batch by batch."""
    versus(driven(size), driven(1), seeds=1, repeats=3)


@cache
def long_study(decisions):
    """Return the file of a study that was closed."""
    path = folder() / "study.db"
    with uli.Study.open(path, uli.SuccessiveElimination(0.1), ARMS) as study:
        for k in range(0, decisions, 1000):
            made = study.ask_many([f"patient-{k + i}" for i in range(1000)])
            study.tell_many([(d.id, d.id * 7919 % 101 / 101) for d in made])
    return path


# In a process of its own, which has loaded what it needs. Linux forgets its peak when told to.
MEMORY = """
import re, sys
import uli_fast as uli

def memory(of):
    with open("/proc/self/status") as file:
        return int(re.search(rf"{of}:\\s+(\\d+) kB", file.read())[1]) / 1024

first = uli.Study.open(sys.argv[2], uli.SuccessiveElimination(0.1), 3)
first.tell(first.ask().id, 1.0)
first.close()
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
before = memory("VmRSS")
uli.Study.open(sys.argv[1]).close()
print(memory("VmHWM") - before)
"""


def memory(path):
    """Return how many MB opening a study takes beyond those of the package."""
    command = [sys.executable, "-c", MEMORY, str(path), str(folder() / "first.db")]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.long
@pytest.mark.parametrize("decisions", [10**5, 10**6])
def test_open(versus, decisions):
    """Open a study from its last snapshot on."""
    path = long_study(decisions)
    case = Case(lambda seed: lambda: uli.Study.open(path).close())
    versus(case, seeds=1, repeats=3, counts={"MB": (memory(path), 150)})
