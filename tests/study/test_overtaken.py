"""Another worker was first, the answer was lost, the database went away: what is told is true."""

import contextlib
import threading
from datetime import UTC, datetime

import numpy as np
import pytest

import uli_fast as uli
from tests.study.interrupts import Interrupt
from tests.study.live import LEARNERS, SE, asked, outcome, same
from uli_fast.errors import (
    ConflictingRewardError,
    StudyDivergedError,
    StudyUnavailableError,
    UnknownDecisionError,
)
from uli_fast.study import events

psycopg = pytest.importorskip("psycopg")


@pytest.fixture
def both(database):
    """Two workers, the second of which does not look before it writes: it is always late."""
    with database.open(SE, ["a", "b", "c"]) as early, database.open() as late:
        late._catch_up = lambda _: None
        yield early, late


def test_who_is_late_gets_the_decision_of_who_was_first(both):
    early, late = both
    first = early.ask("patient-1", ward=1)
    assert late.ask("patient-1", ward=2) == first
    assert late.history()[0].metadata == {"ward": 1}
    early.tell(first.id, 1.0)
    second = late.ask("patient-2")
    assert second.id == 2 and early.ask("patient-2") == second
    made = early.ask_many(["x", "y"])
    assert late.ask_many(["y", "z", "x", "patient-1"]) == [made[1], early.ask("z"), made[0], first]
    one, two = early.ask(), late.ask()
    assert (one.id, two.id) == (6, 7)  # without a key every question is a new one


def test_a_request_that_is_recorded_between_the_look_and_the_write(both):
    early, late = both
    insert, made = late._journal._insert, []

    def overtaken(*args):
        if not made:
            made.append(early.ask("patient-1"))
        return insert(*args)

    late._journal._insert = overtaken
    assert late.ask_many(["patient-0", "patient-1"]) == [early.ask("patient-0"), *made]
    assert [r.request_id for r in early.history()] == ["patient-1", "patient-0"]


def test_an_outcome_that_contradicts_who_was_first_is_refused(both):
    early, late = both
    late.ask_many(4)
    early.tell(1, 1.0)
    late.tell(1, 1.0)
    early.tell(2, 0.0)
    with pytest.raises(ConflictingRewardError):
        late.tell(2, 1.0)
    early.tell_missing(3, "gone")
    with pytest.raises(ConflictingRewardError):
        late.tell_missing(3, "moved")
    early.tell(4, 0.5)
    with pytest.raises(ConflictingRewardError):
        late.tell_many([(3, None, "gone"), (4, 0.25)])
    late.tell_many([(1, 1.0), (3, None, "gone"), (4, 0.5)])
    assert [r.reward for r in early.history()] == [1.0, 0.0, None, 0.5]
    decision = early.ask()
    with pytest.raises(UnknownDecisionError):
        late.tell(99, 1.0)
    late._stale = True  # it looks, now
    late.tell(decision.id, 1.0)
    assert early.counts() == late.counts()


def test_blocks_are_told_once(database):
    with database.open(uli.BettingElimination(0.1), 2) as early, database.open() as late:
        late._catch_up = lambda _: None
        monday = {0: (4, 2.0), 1: (2, 1.0)}
        early.tell_block(monday, "monday")
        late.tell_block(monday, "monday")
        early.tell_block({0: (8, 2.0), 1: (4, 1.0)}, "tuesday")
        with pytest.raises(ConflictingRewardError):
            late.tell_block(monday, "tuesday")
        assert [b.id for b in late.blocks()] == ["monday", "tuesday"]
        assert early.certificate() == late.certificate()


@pytest.mark.filterwarnings("ignore::uli_fast.errors.SaturationWarning")
@pytest.mark.parametrize("name", LEARNERS)
def test_late_workers_decide_as_one_that_was_never_late(name, database):
    learner, start = LEARNERS[name]
    bare, rng = learner.start(**start), np.random.default_rng(3)
    with database.open(learner, **start) as one, database.open() as two:
        one._catch_up = two._catch_up = lambda _: None
        for i in range(24):
            study = one if i % 2 else two
            decision, expected = asked(study), asked(bare)
            assert same(decision, expected)
            told = outcome(decision, rng)
            study.tell(decision.id, *told)
            bare.tell(decision.id, *told)
        for study in (one, two):
            study._stale = True
            assert len(study.history()) == 24
            assert list(study._replay.player.pending) == list(bare.pending) == []
    assert database.audit().events == 49


def test_the_same_event_in_the_same_microsecond_is_still_another_s(both, monkeypatch):
    """Two questions without a key that look alike to the last bit are two."""
    monkeypatch.setattr(events, "now", lambda: datetime(2026, 1, 1, tzinfo=UTC))
    early, late = both
    assert [early.ask().id, late.ask().id, early.ask().id, late.ask().id] == [1, 2, 3, 4]
    assert len(early.history()) == 4


def test_what_is_in_the_way_and_is_no_event_is_an_error(database):
    """A request that is in the table but not in the chain would be tried for ever."""
    with database.open(SE, 2) as study:
        with database.connect() as connection:
            connection.execute("SET session_replication_role = replica")
            connection.execute(
                "INSERT INTO uli_fast.event VALUES (%s, 9, 'ask', 7, 'x', '{}', '', '', '', '',"
                " '00000000-0000-0000-0000-000000000000')",
                (database.name,),
            )
        study._catch_up, study._replay.source.asked = lambda _: None, lambda _: None
        with pytest.raises(StudyDivergedError):
            study.ask("x")


# A connection that breaks.


class Breaking:
    """A connection that is cut before or after the server has done what it was told."""

    def __init__(self, journal, after, also=lambda: None):
        self.journal, self.real = journal, journal._connection
        self.after, self.also = after, also
        journal._connection = self

    def execute(self, statement, values=None):
        if not statement.startswith("INSERT"):
            return self.real.execute(statement, values)
        if self.after:
            self.real.execute(statement, values)
        self.real.close()
        self.also()
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    def __getattr__(self, name):
        return getattr(self.real, name)


@pytest.mark.parametrize("after", [False, True])
def test_an_answer_that_was_lost_is_looked_up(database, after):
    with database.open(SE, 2) as study, database.open() as other:
        for call, events in (
            (lambda: study.ask("one"), 2),
            (lambda: study.tell(1, 1.0), 3),
            (study.ask, 4),
            (lambda: study.ask_many(["x", "y", "z"]), 7),
            (lambda: study.tell_many([(4, 1.0), (3, None, "gone")]), 9),
        ):
            assert study.active  # has a connection
            Breaking(study._journal, after)
            call()
            assert len(database.events()) == events
        assert other.ask("one").id == 1 and other.ask_many(["y", "x"])[0].id == 4
        assert [r.status for r in other.history()] == [
            "reward", "pending", "missing", "reward", "pending",
        ]  # fmt: skip
    database.audit()


@pytest.mark.parametrize("after", [False, True])
def test_a_lost_answer_and_another_worker(database, after):
    """It is this worker's decision if it was recorded, else the one after the other's."""
    with database.open(SE, 2) as study, database.open() as other:
        assert study.active
        Breaking(study._journal, after, also=lambda: other.ask("other"))
        decision = study.ask("mine")
        assert decision.id == (1 if after else 2)
        assert other.ask("mine") == decision and other.ask("other").id == 3 - decision.id
        assert study.active
        Breaking(study._journal, after, also=lambda: contextlib.suppress(Exception))
        study.tell(decision.id, 1.0)
    assert database.audit().events == 4


@pytest.mark.parametrize("after", [False, True])
def test_a_lost_answer_while_the_database_stays_away(server, database, after):
    with database.open(SE, 2) as study:
        study.ask("one")
        for call in (lambda: study.ask("two"), lambda: study.tell(1, 1.0)):
            Breaking(study._journal, after, also=server.stop)
            with pytest.raises(StudyUnavailableError, match="cannot be reached"):
                call()
            server.start()
            if after:
                events = len(database.events())
                call()  # it looks first
                assert len(database.events()) == events
            else:
                call()
        assert [(r.request_id, r.status) for r in study.history()] == [
            ("one", "reward"),
            ("two", "pending"),
        ]
    assert database.audit().events == 4


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_while_the_database_is_away_nothing_is_acknowledged(server, database, mode):
    with database.open(SE, 2) as study, database.open() as other:
        first, seen = study.ask("one"), other.active
        server.stop(mode)
        for call in (
            lambda: study.ask("one"),
            lambda: study.ask("two"),
            lambda: study.tell(first.id, 1.0),
            lambda: study.active,
            study.history,
            study.certificate,
            database.open,
            database.read,
            database.audit,
        ):
            with pytest.raises(StudyUnavailableError, match="cannot be reached"):
                call()
        server.start()
        assert other.active == seen and study.ask("one") == first
        second = study.ask("two")
        other.tell(first.id, 1.0)
        assert other.ask("two") == second and second.id == 2
        server.stop(mode)
        server.start()
        study.tell(second.id, 0.0)  # nobody called meanwhile: nobody notices
    assert database.audit().events == 5


def test_a_connection_that_the_server_ends_inside_a_write(database):
    """A worker waits for another's transaction, is cut off, and neither waits nor loses."""
    with database.open(SE, ["a", "b"]) as study, database.connect() as rival:
        study.ask("one")
        pid, last = study._journal._connection.info.backend_pid, database.events()[-1]
        rival.autocommit = False
        rival.execute(
            "INSERT INTO uli_fast.event VALUES (%s, 3, 'ask', 2, NULL, '{}', '', '', %s, '',"
            " '00000000-0000-0000-0000-000000000000')",
            (database.name, last.hash),
        )
        made = []
        thread = threading.Thread(target=lambda: made.append(study.ask("two")))
        thread.start()
        waits = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'"
        while not database.run(waits, (pid,)):
            assert thread.is_alive()
        database.run("SELECT pg_terminate_backend(%s)", (pid,))
        while database.run("SELECT 1 FROM pg_stat_activity WHERE pid = %s", (pid,)):
            pass
        rival.rollback()
        thread.join()
        assert [d.id for d in made] == [2]
    assert database.audit().events == 3


# Ctrl-C.


@pytest.mark.parametrize("call", ["ask", "tell", "ask_many", "active"])
def test_an_interrupt_anywhere_loses_nothing(database, call):
    with database.open(SE, ["a", "b"]) as study, database.open() as other:
        study.ask("zero")
        steps = Interrupt()
        with steps:
            study.ask("measured")
        for k, n in enumerate(np.linspace(1, steps.count * 1.5, 25).astype(int)):
            keys = [f"{k}-{i}" for i in range(3 if call == "ask_many" else 1)]

            def do(keys=keys):
                if call == "ask_many":
                    return study.ask_many(keys)
                if call == "tell":
                    return study.tell(study.ask(keys[0]).id, 1.0)
                return [study.active, study.ask(keys[0])][-1]

            before = len(other.history())
            with contextlib.suppress(KeyboardInterrupt), Interrupt(int(n)):
                do()
            again = do()
            assert len(study.history()) == before + len(keys)
            if call == "ask_many":
                assert other.ask_many(keys) == again
        assert study.history() == other.history()
    database.audit()
