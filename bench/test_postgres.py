"""Studies in PostgreSQL, on a server of their own whose commits wait for the disk.

A chain of events cannot be committed side by side: each holds the hash of the one before. So one
loop that does nothing but insert is what any number of workers could reach together.
"""

import atexit
import tempfile
import uuid
from functools import cache
from itertools import count
from pathlib import Path

import pytest

import uli_fast as uli
from bench.support.cases import Case
from tests.study.crew import Crew
from tests.support import postgres
from uli_fast.study import postgres_schema
from uli_fast.study.events import next_event

pytestmark = pytest.mark.skipif(bool(postgres.missing()), reason=postgres.missing() or "here")

DECISIONS, WORKERS = 200, 4
ARMS = ["a", "b", "c"]
NUMBERS = count()


@cache
def server():
    """Return a server with its data on the disk, of which the table is made."""
    made = postgres.new_server(folder=tempfile.gettempdir())
    atexit.register(made.close)
    uli.Study.open(made.url, uli.SuccessiveElimination(0.1), ARMS, name="first").close()
    return made


@cache
def crew():
    folder = tempfile.TemporaryDirectory()
    made = Crew(Path(folder.name))
    atexit.register(folder.cleanup)
    atexit.register(made.close)
    return made


def bare(events):
    """Return a loop of commits: events of the same length, chained, into the same table."""

    def prepare(seed):
        import psycopg

        connection, name = psycopg.connect(server().url, autocommit=True), f"{next(NUMBERS)}"
        about = ("ask", None, None, "x" * 60, "2026-01-01T00:00:00.000000+00:00", "0.0.0")

        def run():
            last = None
            for _ in range(events):
                last = next_event(last, *about)
                connection.execute(postgres_schema.ADD_ONE, (name, uuid.uuid4(), *last))
            connection.close()

        return run

    return Case(prepare)


def driven():
    """Return a worker that asks and tells, one decision after the other."""

    def prepare(seed):
        learner, name = uli.SuccessiveElimination(0.1), f"{next(NUMBERS)}"
        study = uli.Study.open(server().url, learner, ARMS, name=name)

        def run():
            for _ in range(DECISIONS):
                study.tell(study.ask().id, 1.0)
            study.close()

        return run

    return Case(prepare)


def shared():
    """Return workers that drive one study, each with patients of its own."""

    def prepare(seed):
        name, log, each = f"{next(NUMBERS)}", tempfile.mktemp(), DECISIONS // WORKERS
        made = crew(), server().url

        def run():
            about = {"url": made[1], "name": name, "log": log}
            parts = [[k * each, (k + 1) * each] for k in range(WORKERS)]
            pids = [made[0].start(**about, patients=part, seed=seed) for part in parts]
            assert [made[0].wait(pid) for pid in pids] == [0] * WORKERS
            Path(log).unlink()

        return run

    return Case(prepare)


def test_one_worker(versus):
    """Ask 200 times and tell, one worker, against a bare loop of as many commits."""
    versus(driven(), bare(2 * DECISIONS), seeds=1, repeats=3)


def test_four_workers(versus):
    """Ask 200 times and tell, four workers on one study, against a bare loop of as many commits."""
    versus(shared(), bare(2 * DECISIONS), seeds=1, repeats=3)
