"""Several workers on one study: killed, overtaken, cut off from the database."""

import json
import math
import random
import time

import pytest

from tests.study.clinic import ARMS, learner, outcome
from tests.support.patience import wait_until

SETTLED = {True: "missing", False: "reward"}


def said(log):
    """Return what was acknowledged; a line that a kill cut short was not."""
    lines = log.read_bytes().split(b"\n")[:-1] if log.exists() else []
    return [json.loads(x) for x in lines]


def check(database, logs, patients=None):
    """Everything acknowledged is there once, with the same arm for everybody; the chain holds."""
    acknowledged = [said(log) for log in logs]  # before we look
    audit = database.audit()  # checks every hash, and makes every decision again
    history = audit.history
    assert [r.id for r in history] == list(range(1, len(history) + 1))
    by_request = {r.request_id: r for r in history}
    assert len(by_request) == len(history)
    asked, told = {}, {}
    for kind, rows in (line for lines in acknowledged for line in lines):
        known = asked if kind == "ask" else told
        for key, *row in rows:
            assert known.setdefault(key, row) == row  # the same for every worker
    for i, (id, arm) in asked.items():
        record = by_request[f"patient-{i}"]
        assert (record.id, record.arm) == (id, arm)
    for id, (result,) in told.items():
        record = history[id - 1]
        assert (record.status, record.reward) == (SETTLED[result is None], result)
    settled = sum(r.status != "pending" for r in history)
    assert audit.events == 1 + len(history) + settled  # and nothing else
    if patients is not None:
        assert {r.metadata["number"] for r in history} == set(patients) and settled == len(history)
        assert all(r.reward == outcome(r.metadata["number"], r.arm) for r in history)
    return audit


def progress(logs):
    return sum(log.read_bytes().count(b"\n") for log in logs if log.exists())


def disturbed(crew, database, folder, patients, kills, restarts, seed, size=1):
    """Let four workers treat the same patients; kill them and stop the database meanwhile."""
    rng, logs, jobs, own = random.Random(seed), [], {}, {}
    whole = 2 * math.ceil(patients / size)  # lines of a worker who was not killed

    def hire(k):
        own[k] = folder / f"log-{len(logs)}"
        logs.append(own[k])
        where = {"url": database.where, "name": database.name, "log": str(logs[-1])}
        jobs[k] = crew.start(**where, patients=[0, patients], seed=rng.random(), size=size)

    def keep_busy():
        """Begin once more where all are done before everything has happened to them."""
        if all(progress([log]) == whole for log in own.values()):
            assert crew.wait(jobs[0]) == 0
            hire(0)

    for k in range(4):
        hire(k)
    events = ["kill"] * kills + list(restarts)
    rng.shuffle(events)
    for what in events:
        wait_for_progress(logs, rng.randrange(2, 8), keep_busy)
        time.sleep(rng.random() * 0.01)
        if callable(what):
            what()
            check(database, logs)
        else:
            k = rng.randrange(4)
            crew.kill(jobs[k])
            hire(k)  # starts from the top of its list
    for pid in jobs.values():
        assert crew.wait(pid) == 0
    return check(database, logs, range(patients))


def wait_for_progress(logs, lines, keep_busy):
    before = progress(logs)

    def further():
        keep_busy()
        return progress(logs) >= before + lines

    wait_until(further, lambda: "nobody gets any further")


def restart(server, mode):
    def now():
        server.stop(mode)
        server.start()

    return now


@pytest.fixture
def workers(crew):
    yield crew
    crew.stop()


def test_four_workers_drive_one_study(workers, database, folder):
    logs = [folder / f"log-{k}" for k in range(4)]
    about = {"url": database.where, "name": database.name, "patients": [0, 60]}
    pids = [workers.start(**about, seed=k, log=str(logs[k])) for k in range(4)]
    assert [workers.wait(pid) for pid in pids] == [0] * 4
    check(database, logs, range(60))
    with database.open() as study:  # the arms that one worker alone would have been given
        bare = learner().start(ARMS)
        for event in list(study._journal.events())[1:]:
            if event.kind == "ask":
                assert bare.ask().arm == event.content["arm"]
            elif event.kind == "tell":
                bare.tell(event.decision, event.content["reward"])
            else:
                bare.tell_missing(event.decision, event.content["reason"])


@pytest.mark.parametrize("size", [1, 5])
def test_nothing_is_lost_to_kills_and_restarts(workers, server, database, folder, size):
    stops = [restart(server, "fast"), restart(server, "immediate")]
    disturbed(workers, database, folder, 60 * size, 6, stops, seed=size, size=size)


@pytest.mark.parametrize("where", ["begun", "written", "committed"])
def test_a_worker_that_ends_inside_a_call_stops_nobody(workers, database, folder, where):
    about = {"url": database.where, "name": database.name, "patients": [0, 15]}
    logs = [folder / f"log-{k}" for k in range(3)]
    for point in (f"many-{where}:3", f"tell-{where}:4", ""):
        log = logs.pop(0)
        pid = workers.start(**about, seed=1, log=str(log), fault=point)
        assert workers.wait(pid) == (137 if point else 0)
    check(database, folder.glob("log-*"), range(15))


@pytest.mark.slow
def test_nothing_is_lost_to_50_kills_and_3_restarts_in_10000_requests(
    workers, server, database, folder
):
    stops = [restart(server, mode) for mode in ("fast", "immediate", "fast")]
    audit = disturbed(workers, database, folder, 10_000, 50, stops, seed=25, size=5)
    assert audit.events == 20_001
