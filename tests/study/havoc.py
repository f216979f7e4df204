"""Workers of a web app killed, servers restarted, the database stopped: and nothing is lost.

``python -m tests.study.havoc 10000`` runs all of it at full size.
"""

import contextlib
import random
import runpy
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests.study.places import Database
from tests.study.web import EXAMPLE, Day, Gunicorn, key
from tests.support import postgres

# How often what happens while 10,000 patients come in.
KILLS, RESTARTS, STOPS = 50, 5, 3
STUDY = "web trial"


class Stage(NamedTuple):
    """What runs, and where the study is."""

    app: Gunicorn
    server: object  # what is restarted: the service, or without one the app as a whole
    place: object
    database: object = None  # what is stopped


@contextlib.contextmanager
def direct(folder, database):
    """Let every worker have the study in PostgreSQL open."""
    place = Database(database.url)
    with contextlib.closing(Gunicorn(folder, place.where, TRIAL_NAME=place.name)) as app:
        yield Stage(app, app, place, database)


def happenings(stage, kills, restarts, stops, rng):
    """Return what is to happen, in any order."""
    hows = [(signal.SIGTERM, signal.SIGKILL)[i % 2] for i in range(restarts)]
    modes = [("fast", "immediate")[i % 2] for i in range(stops)]
    what = [lambda: stage.app.kill_worker(rng)] * kills
    what += [lambda how=how: stage.server.restart(how) for how in hows]
    what += [lambda mode=mode: stopped(stage.database, mode, rng) for mode in modes]
    rng.shuffle(what)
    return what


def stopped(database, mode, rng):
    """Stop the database, and start it again a while later."""
    database.stop(mode)
    time.sleep(rng.random() * 0.5)
    database.start()


def run(stage, patients, kills, restarts, stops, seed):
    """Let patients come in while all this happens; return what it came to."""
    rng, begun = random.Random(seed), time.monotonic()
    what = happenings(stage, kills, restarts, stops, rng)
    day = Day(stage.app.port, patients, seed)
    day.begin()
    for moment, happens in zip(sorted(rng.sample(range(patients), len(what))), what, strict=True):
        day.wait_for(moment * 0.95)
        time.sleep(rng.random() * 0.05)
        happens()
    day.finish()
    check(stage.place, day, patients)
    return day.counts | {"seconds": round(time.monotonic() - begun)}


def check(place, day, patients):
    """Everything acknowledged is in the journal once, as it was said, and nothing else is."""
    audit = place.audit()  # checks every hash, and makes every decision again
    history = audit.history
    assert [r.id for r in history] == list(range(1, patients + 1))
    assert {r.request_id for r in history} == {key(i) for i in range(patients)}
    assert audit.events == 1 + 2 * patients
    by_request = {r.request_id: r for r in history}
    assert day.assigned.keys() == set(range(patients))
    for i, (case, treatment) in day.assigned.items():
        record = by_request[key(i)]
        assert (record.id, record.arm) == (case, treatment)
    assert day.reported.keys() == set(range(1, patients + 1))
    for case, told in day.reported.items():
        record = history[case - 1]
        if "lost" in told:
            assert (record.status, record.reason) == ("missing", told["lost"])
        else:
            assert (record.status, record.reward) == ("reward", float(told["recovered"]))
    replayed(place.events())


def replayed(events):
    """Make every decision again with a player of one's own."""
    app = runpy.run_path(str(EXAMPLE / "intake.py"))
    bare = app["LEARNER"].start(app["TREATMENTS"])
    for event in events[1:]:
        content = event.content
        if event.kind == "ask":
            assert bare.ask().arm == content["arm"]
        elif event.kind == "tell":
            bare.tell(event.decision, content["reward"])
        else:
            assert event.kind == "missing"
            bare.tell_missing(event.decision, content["reason"])


def main(patients=10_000):
    """Run everything; say what it came to."""
    database = postgres.new_server()
    share = patients / 10_000
    with contextlib.closing(database), tempfile.TemporaryDirectory() as folder:
        with direct(Path(folder), database) as stage:
            found = run(stage, patients, round(KILLS * share), RESTARTS, STOPS, seed=25)
            print("direct", dict(found), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
