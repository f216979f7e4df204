"""Live studies: decisions and outcomes in batches against one by one, and opening a long study."""

import atexit
import tempfile
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


def opened(decisions):
    """Return the opening of a study that was closed."""
    path = folder() / "study.db"

    def prepare(seed):
        if not path.exists():
            with uli.Study.open(path, uli.SuccessiveElimination(0.1), ARMS) as study:
                for k in range(0, decisions, 1000):
                    made = study.ask_many([f"patient-{k + i}" for i in range(1000)])
                    study.tell_many([(d.id, d.id * 7919 % 101 / 101) for d in made])
        return lambda: uli.Study.open(path).close()

    return Case(prepare)


@pytest.mark.long
def test_open(versus):
    """Open a study of 100,000 decisions, from its last snapshot on."""
    versus(opened(10**5), seeds=1, repeats=3)
