"""Workers of a web app killed, servers restarted, the database stopped: and nothing is lost.

``python -m tests.study.havoc`` runs all of it at full size.
"""

import contextlib
import random
import runpy
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from tests.study.places import Database, File
from tests.study.web import EXAMPLE, Day, Gunicorn, Service, key
from tests.support import postgres

# How often what happens while 10,000 patients come in.
KILLS, RESTARTS, STOPS = 50, 5, 3


class Stage(NamedTuple):
    """What runs, and where the study is."""

    app: Gunicorn
    server: Any  # what is restarted: the service, or without one the app as a whole
    place: Any
    database: Any = None  # what is stopped


@contextlib.contextmanager
def direct(folder, database):
    """Let every worker have the study in PostgreSQL open."""
    place = Database(database.url)
    with contextlib.closing(Gunicorn(folder, place.where, TRIAL_NAME=place.name)) as app:
        yield Stage(app, app, place, database)


def on_postgres(folder, database):
    """Let a service have the study in PostgreSQL."""
    return served(folder, Database(database.url), database)


def on_sqlite(folder, database):
    """Let a service have the study in a file."""
    return served(folder, File(folder / "trial.db"))


@contextlib.contextmanager
def served(folder, place, database=None):
    """Let a service have the study, and every worker be a client of it."""
    place.open(*the_trial()).close()
    with contextlib.closing(Service(folder, place)) as service:
        app = Gunicorn(folder, service.url, TRIAL_TOKEN=service.token)
        with contextlib.closing(app):
            yield Stage(app, service, place, database)


def the_trial():
    """Return the learner and the arms of the app."""
    app = runpy.run_path(str(EXAMPLE / "intake.py"))
    return app["LEARNER"], app["TREATMENTS"]


def happenings(stage, kills, restarts, rng):
    """Return what is to happen, in any order; restarts and stops come in two kinds each."""
    stops = min(STOPS, restarts) if stage.database else 0
    hows = [(signal.SIGKILL, signal.SIGTERM)[i % 2] for i in range(restarts)]
    modes = [("immediate", "fast")[i % 2] for i in range(stops)]
    what = [("kills", lambda: stage.app.kill_worker(rng))] * kills
    what += [("restarts", lambda how=how: stage.server.restart(how)) for how in hows]
    what += [("stops", lambda mode=mode: stop(stage.database, mode, rng)) for mode in modes]
    rng.shuffle(what)
    return what


def stop(database, mode, rng):
    """Stop the database, and start it again a while later."""
    database.stop(mode)
    time.sleep(rng.random() * 0.5)
    database.start()


def run(stage, patients, kills, restarts, seed):
    """Let patients come in while all this happens; return what it came to."""
    rng, begun, happened = random.Random(seed), time.monotonic(), Counter()
    what = happenings(stage, kills, restarts, rng)
    day = Day(stage.app.port, patients, seed)
    day.begin()
    moments = sorted(rng.sample(range(patients), len(what)))
    for moment, (name, happens) in zip(moments, what, strict=True):
        day.wait_for(moment * 0.95)
        time.sleep(rng.random() * 0.05)
        happens()
        happened[name] += 1
    day.finish()
    check(stage.place, day, patients)
    return day.counts + happened + Counter(seconds=round(time.monotonic() - begun))


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
    learner, arms = the_trial()
    bare = learner.start(arms)
    for event in events[1:]:
        content = event.content
        if event.kind == "ask":
            assert bare.ask().arm == content["arm"]
        elif event.kind == "tell":
            bare.tell(event.decision, content["reward"])
        else:
            assert event.kind == "missing"
            bare.tell_missing(event.decision, content["reason"])


WAYS = {
    "every worker on PostgreSQL": direct,
    "a service on PostgreSQL": on_postgres,
    "a service on SQLite": on_sqlite,
}
WORDS = {
    "requests": "requests",
    "repeated": "repeated on purpose",
    "broken off": "broken off",
    "refused": "refused connections",
    "away": "answered 503",
    "contradicted": "contradictions refused",
    "kills": "workers killed",
    "restarts": "servers restarted",
    "stops": "databases stopped",
    "seconds": "seconds",
}


def words(found):
    return ", ".join(f"{found[key]:,} {about}" for key, about in WORDS.items())


def whole(way, patients=10_000, seed=25):
    """Run one way at full size, on a database of its own."""
    with (
        contextlib.closing(postgres.new_server()) as database,
        tempfile.TemporaryDirectory() as folder,
        WAYS[way](Path(folder), database) as stage,
    ):
        return run(stage, patients, KILLS, RESTARTS, seed)


def main(patients=10_000, *ways):
    """Run every way; say what it came to."""
    total = Counter()
    for way in ways or WAYS:
        found = whole(way, patients)
        print(f"{way}: {words(found)}", flush=True)
        total += found
    print(f"{words(total)}: all that was acknowledged is there once, the same arm on every repeat")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:])
