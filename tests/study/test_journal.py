"""What is in the journal is what was said, and nothing else is taken for it."""

import sqlite3

import pytest

import uli_fast as uli
from tests.study.forging import forged, rewritten, swapped
from tests.study.live import LEARNERS, SE
from uli_fast.errors import StudyDivergedError, StudyError
from uli_fast.study import journal

try:
    from psycopg.errors import UniqueViolation
except ImportError:  # then there is no database either
    UniqueViolation = ()


def test_what_is_on_the_disk_is_what_was_said(path):
    """Another connection sees each event before the call that made it has returned."""
    with uli.Study.open(path, SE, 2) as study:
        run = study._journal._run
        settings = {
            "journal_mode": "wal",
            "synchronous": 2,
            "locking_mode": "exclusive",
            "busy_timeout": 0,
            "trusted_schema": 0,
        }
        for name, value in settings.items():
            assert run(f"PRAGMA {name}") == [(value,)], name
        for sql in (
            "UPDATE event SET payload = '{}' WHERE sequence = 1",
            "DELETE FROM event",
            "INSERT OR REPLACE INTO event SELECT * FROM event WHERE sequence = 1",
            "INSERT INTO event SELECT sequence + 5, kind, decision, request, payload, time, "
            "version, previous, hash FROM event",
            "INSERT INTO event VALUES (2, 'ask', 'one', NULL, '', '', '', '', '')",
        ):
            with pytest.raises(sqlite3.IntegrityError):
                run(sql)
        study.ask("p")
        assert [e.kind for e in study._journal.events()] == ["create", "ask"]


def test_an_acknowledged_event_survives_without_being_closed(path, tmp_path):
    """What a second reader finds in copies of the files while the study is still open."""
    import shutil

    with uli.Study.open(path, SE, 2) as study:
        for i in range(5):
            d = study.ask(f"p{i}")
            for stage in ("asked", "told"):
                if stage == "told":
                    study.tell(d.id, 0.5)
                copy = tmp_path / f"{i}{stage}.db"
                # By another process: closing a handle in this one would drop its lock.
                subprocess_copy(path, copy)
                with uli.Study.open(copy) as found:
                    assert found.history() == study.history()
    assert shutil.which("cp")


def subprocess_copy(path, copy):
    import subprocess

    for suffix in ("", "-wal"):
        subprocess.run(["cp", f"{path}{suffix}", f"{copy}{suffix}"], check=True)


@pytest.mark.parametrize(
    "change",
    [
        swapped(1, arm="b"),
        swapped(1, probability=0.5),
        swapped(2, reward=7.0),
        swapped(2, reward="x"),
        swapped(2, reward=[1]),
        swapped(1, metadata=None, arm=None),
        lambda events: [*events, events[2]._replace(sequence=len(events) + 1)],
        lambda events: [*events, events[1]._replace(sequence=len(events) + 1, request=None)],
        lambda events: [
            *events[:3],
            *(e._replace(sequence=e.sequence - 1) for e in events[4:]),
        ],
        lambda events: [events[0], events[1]._replace(kind="x"), *events[2:]],
        lambda events: [events[0], events[1]._replace(payload="[]"), *events[2:]],
        lambda events: [events[0], events[1]._replace(decision=9), *events[2:]],
        lambda events: [events[0], events[1]._replace(time="soon"), *events[2:]],
        lambda events: [events[0], events[1]._replace(time="2026-01-01"), *events[2:]],
        lambda events: events[1:],
        lambda events: [events[0]._replace(payload="{}"), *events[1:]],
    ],
)
def test_a_journal_that_the_learner_would_not_have_written_is_refused(place, change):
    with place.open(SE, ["a", "b"]) as study:
        for i in range(4):
            study.tell(study.ask(f"p{i}").id, 1.0)
    before = place.events()
    try:
        rewritten(place, change)
    except UniqueViolation:  # what is told twice, or asked for, is not even let in
        assert place.events() == before
        return
    for look in (place.open, lambda: place.open(SE, ["a", "b"]), place.read, place.audit):
        with pytest.raises(StudyError):
            look()


LONG_AGO = "2020-01-01T00:00:00.000000+00:00"


def test_an_altered_or_removed_event_breaks_the_chain(place):
    with place.open(SE, ["a", "b"]) as study:
        for i in range(4):
            study.tell(study.ask(f"p{i}", note="x").id, 1.0)
    clean = place.events()
    told, asked = clean[2].payload.replace("1.0", "0.0"), clean[1].payload.replace("x", "y")
    for sequence, change in (
        (3, {"payload": told}),
        (2, {"payload": asked}),
        (4, {"time": LONG_AGO}),
        (2, {"request": "other"}),
        (2, {"version": "9"}),
        (5, None),
        (1, None),
    ):
        events = list(clean)
        where = slice(sequence - 1, sequence)
        events[where] = [events[sequence - 1]._replace(**change)] if change else []
        assert events != clean
        forged(place, events)
        with pytest.raises(StudyDivergedError):
            place.open()
    forged(place, clean)
    place.open().close()


def test_a_replaced_event_with_a_hash_of_its_own_breaks_the_chain(place):
    """Its successor still names the hash of the one that was there."""
    with place.open(SE, ["a", "b"]) as study:
        for i in range(4):
            study.tell(study.ask(f"p{i}", note="x").id, 1.0)
    clean = place.events()
    for position in (0, 1, 2, len(clean) - 2):
        events = list(clean)
        other = events[position]._replace(time=LONG_AGO)
        events[position] = other._replace(hash=journal.digest(other))
        forged(place, events)
        for look in (place.open, place.read, place.audit):
            with pytest.raises(StudyDivergedError, match=f"event {other.sequence + 1} "):
                look()


def test_a_journal_without_its_triggers_is_refused(path):
    uli.Study.open(path, SE, 2).close()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("DROP TRIGGER never_changed")
    connection.close()
    with pytest.raises(StudyError, match="tables"):
        uli.Study.open(path)


def test_numbers_may_be_rounded_in_another_way_and_are_given_as_recorded(path):
    """As on another processor: a vector and a probability that differ in their last digits."""
    learner, start = LEARNERS["SpannerElimination"]
    with uli.Study.open(path, learner, **start) as study:
        arm = study.ask("p").arm
    moved = tuple(x * (1.0 + 1e-14) + 1e-15 for x in arm)
    rewritten(path, swapped(1, arm=moved))
    with uli.Study.open(path) as study:
        assert study.ask("p").arm == moved != arm
    rewritten(path, swapped(1, arm=[x + 1e-6 for x in arm]))
    with pytest.raises(StudyDivergedError):
        uli.Study.open(path)
    path.unlink()
    learner, start = LEARNERS["Exp3P"]
    with uli.Study.open(path, learner, **start) as study:
        p = study.ask("p").probability
    rewritten(path, swapped(1, probability=p * (1.0 + 1e-12)))
    with uli.Study.open(path) as study:
        assert study.ask("p").probability == p * (1.0 + 1e-12) != p
