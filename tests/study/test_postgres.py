"""Studies in PostgreSQL: the table, who may do what to it, names, passwords, and durability."""

import gc
import os
import re
import subprocess
import threading
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner

import uli_fast as uli
from tests.study.clinic import ARMS, learner, treat
from tests.study.live import LEARNERS, SE
from tests.study.places import Database
from tests.support import postgres
from uli_fast.cli import main
from uli_fast.errors import (
    ArgumentError,
    StudyDivergedError,
    StudyError,
    StudyWriteError,
)
from uli_fast.study import postgres_schema
from uli_fast.study.interface import read_journal

psycopg = pytest.importorskip("psycopg")

ROW = "INSERT INTO uli_fast.event VALUES (%s, %s, %s, %s, %s, '{}', 't', 'v', %s, %s, %s)"
APPEND = "00000000-0000-0000-0000-000000000000"


def code(call):
    """Return the SQLSTATE with which the server refuses."""
    with pytest.raises(psycopg.Error) as caught:
        call()
    return caught.value.sqlstate


# The connection.


def test_a_connection_that_could_not_be_set_up_is_not_used(database, monkeypatch):
    with database.open(SE, 2) as study:
        study.ask("one")
        study._journal._connection.close()
        with monkeypatch.context() as patch:
            patch.setattr(postgres_schema, "SESSION", "SELECT 1 / 0")
            with pytest.raises(StudyError):
                study.ask("two")
        assert study.ask("two").id == 2
        assert study._journal._read("SHOW search_path", ()) == [("pg_catalog",)]


# The table.


def test_the_chain_of_a_file_is_that_of_a_database(path, database):
    treat(path, range(12))
    events, _ = read_journal(path)
    database.open(learner(), ARMS).close()  # makes the table
    copy = database.another()
    for event in events:
        values = (copy.name, APPEND, *event)
        database.run(postgres_schema.ADD_ONE, values)
    assert copy.events() == events
    assert copy.audit().head == uli.Study.audit(path).head
    with copy.open() as study, uli.Study.open(path) as other:
        assert study._replay.player.state() == other._replay.player.state()
        assert study.ask("next") == other.ask("next")


def test_events_are_never_changed_or_removed(database):
    with database.open(SE, 2) as study:
        study.tell(study.ask("one").id, 1.0)
        events = database.events()
        for statement in (
            "UPDATE uli_fast.event SET payload = '{}'",
            "UPDATE uli_fast.event SET payload = '{}' WHERE study = 'nobody'",
            "DELETE FROM uli_fast.event",
            "TRUNCATE uli_fast.event",
        ):
            assert code(lambda statement=statement: database.run(statement)) == "UL001"
        name, last = database.name, events[-1]

        def added(sequence, kind="ask", decision=None, request=None, previous=last.hash):
            about = (name, sequence, kind, decision, request, previous, "x", APPEND)
            return lambda: database.run(ROW, about)

        taken = psycopg.errors.UniqueViolation.sqlstate
        assert code(added(5)) == code(added(4, previous="y")) == "UL002"
        assert code(added(3, previous=events[1].hash)) == taken
        assert code(added(4, request="one")) == taken
        assert code(added(4, "missing", 1)) == taken  # a decision is settled once
        assert database.events() == events
        assert study.ask("two").id == 2


def test_workers_need_no_right_but_to_read_and_to_add(server, database):
    database.open(SE, 2).close()
    database.run("CREATE ROLE worker LOGIN")
    plain = Database(server.address(user="worker"), database.name)
    with pytest.raises(StudyError, match="permission denied"):
        plain.open()
    database.run("GRANT USAGE ON SCHEMA uli_fast TO worker")
    database.run("GRANT SELECT ON uli_fast.event, uli_fast.snapshot TO worker")
    with plain.open() as study, pytest.raises(StudyWriteError, match="permission denied"):
        study.ask("one")
    database.run("GRANT INSERT ON uli_fast.event TO worker")
    with plain.open() as study:
        study.tell(study.ask("one").id, 1.0)
        study._kept = -(10**6)  # a snapshot is due, and not allowed: it saves time, no more
        study.ask("two")
    denied = psycopg.errors.InsufficientPrivilege.sqlstate
    assert code(lambda: plain.run("DELETE FROM uli_fast.event")) == denied
    with pytest.raises(StudyWriteError, match="permission denied"):
        Database(server.address("template1", "worker")).open(SE, 2)  # may make no schema


def test_owners_have_taken_the_right_to_change_from_themselves(server, database):
    database.run("CREATE ROLE owner LOGIN")
    database.run("CREATE DATABASE owned OWNER owner")
    own = Database(server.address("owned", "owner"))
    with own.open(SE, 2) as study:
        study.ask("one")
    for right in ("UPDATE", "DELETE", "TRUNCATE"):
        asked = "SELECT has_table_privilege('owner', 'uli_fast.event', %s)"
        assert own.run(asked, (right,)) == [(False,)]


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE uli_fast.event DISABLE TRIGGER never_changed",
        "DROP TRIGGER only_added ON uli_fast.event",
        "DROP INDEX uli_fast.event_request",
        "ALTER TABLE uli_fast.event ADD COLUMN more text",
        "COMMENT ON TABLE uli_fast.event IS 'uli_fast events, format 9'",
    ],
)
def test_a_table_that_was_changed_is_refused(server, database, change):
    database.run("DROP DATABASE IF EXISTS changed")
    database.run("CREATE DATABASE changed")
    other = Database(server.address("changed"))
    other.open(SE, 2).close()
    other.run(change)
    for look in (other.open, other.read, other.audit):
        with pytest.raises(StudyError, match="table"):
            look()


def test_a_table_of_an_earlier_version_is_refused_and_left_as_it_is(server, database):
    database.run("CREATE DATABASE earlier")
    other = Database(server.address("earlier"))
    other.open(SE, 2).close()
    other.run("COMMENT ON TABLE uli_fast.event IS 'uli_fast events, format 1'")
    before = other.run("SELECT * FROM uli_fast.event")
    for look in (other.open, other.read, other.audit):
        with pytest.raises(StudyError, match=r"earlier version of uli_fast \(format 1.*database$"):
            look()
    assert other.run("SELECT * FROM uli_fast.event") == before


def test_many_may_begin_at_the_same_moment(server, database):
    """One of them makes the table, one begins the study, and all have its seed."""
    database.run("CREATE DATABASE begun")
    other = Database(server.address("begun"))
    given, start = LEARNERS["Exp3P"]
    start = {k: v for k, v in start.items() if k != "seed"}
    gate, studies, problems = threading.Barrier(8), [], []

    def begin():
        try:
            gate.wait()
            studies.append(other.open(given, **start))
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == [] and len(studies) == 8
    assert len({study._setup.arguments["seed"] for study in studies}) == 1
    assert len(other.events()) == 1
    decisions = [study.ask("the same") for study in studies]
    assert decisions == decisions[:1] * 8
    for study in studies:
        study.close()


def test_a_beginning_that_is_refused_leaves_nothing(server, database):
    database.run("CREATE DATABASE empty")
    other = Database(server.address("empty"))
    for wrong in (
        lambda: other.open(),
        lambda: other.open(SE, ["a", ""]),
        lambda: other.open(SE, 2, intercept=1.0),
        lambda: other.open(uli.LinUCB(0.1), 2),
    ):
        with pytest.raises((ArgumentError, uli.errors.UnsupportedError)):
            wrong()
    for look in (other.read, other.audit):
        with pytest.raises(StudyError, match="no study yet"):
            look()
    assert other.run("SELECT nspname FROM pg_namespace WHERE nspname = 'uli_fast'") == []


# What is acknowledged is kept.


def test_a_server_that_forgets_is_refused(database, monkeypatch):
    database.open(SE, 2).close()
    off = Database(f"{database.where}&options=-c%20synchronous_commit%3Doff", database.name)
    with pytest.raises(StudyError, match="synchronous_commit is off"):
        off.open()
    assert len(off.read().history()) == 0  # reading may
    monkeypatch.setattr(
        postgres_schema, "LOOK", postgres_schema.LOOK.replace("current_setting('fsync')", "'off'")
    )
    with pytest.raises(StudyError, match="fsync is off"):
        database.open()


def test_commits_are_awaited(database):
    """As the server, or the address, has it: nobody here makes them faster than they are."""
    for asked in ("on", "local", "remote_write"):
        where = f"{database.where}&options=-c%20synchronous_commit%3D{asked}"
        with Database(where).open(SE, 2) as study:
            study.tell(study.ask("one").id, 1.0)
            row = study._journal._connection.execute("SHOW synchronous_commit").fetchone()
            assert row == (asked,)


def test_a_standby_is_not_written_to(database, monkeypatch):
    database.open(SE, 2).close()
    standby = postgres_schema.LOOK.replace("pg_is_in_recovery()", "true")
    with monkeypatch.context() as patch:
        patch.setattr(postgres_schema, "LOOK", standby)
        with pytest.raises(StudyWriteError, match="standby"):
            database.open()
        assert database.read().history() == []
    only = Database(f"{database.where}&options=-c%20default_transaction_read_only%3Don")
    with pytest.raises(StudyWriteError, match="read-only"):
        only.open(SE, 2)


@pytest.fixture
def lab(server):
    """A database of its own, whose owner is called as our schema is."""
    mine = Database(server.address())
    mine.run("CREATE ROLE uli_fast LOGIN SUPERUSER")
    mine.run("CREATE DATABASE lab OWNER uli_fast")
    yield Database(server.address("lab", "uli_fast"))
    mine.run("DROP DATABASE lab WITH (FORCE)")
    mine.run("DROP ROLE uli_fast")


def test_a_role_may_be_called_as_the_schema_is(lab):
    with lab.open(SE, 2) as study:
        study.tell(study.ask("p").id, 1.0)
    with lab.open() as study:
        assert study.ask("p").id == 1
    assert lab.audit().events == 3


SETTINGS = {
    "the encoding of clients": "client_encoding = 'LATIN1'",
    "backslashes": "standard_conforming_strings = off",
    "a path that leads elsewhere first": "search_path = lab, pg_catalog, public",
    "isolation": "default_transaction_isolation = 'serializable'",
}


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_whatever_a_database_has_set_a_study_is_the_same(lab, server, setting):
    lab = Database(server.address("lab"))
    lab.run("CREATE SCHEMA lab")
    lab.run("""CREATE FUNCTION lab.sha256(bytea) RETURNS bytea LANGUAGE sql IMMUTABLE
        AS $$ SELECT '1'::bytea $$""")
    lab.run(f"ALTER DATABASE lab SET {setting}")
    names = [r"a\b", r"a\\b", "zażółć", "\u2603", "'", 'x"']
    with lab.open(SE, 2) as study:
        made = [study.ask(name, {"note": name}) for name in names]
        study.tell_many([(d.id, None, name) for d, name in zip(made, names, strict=True)])
        assert [study.ask(name) for name in names] == made
        with lab.open() as other:
            assert [other.ask(name) for name in names] == made
            assert [r.reason for r in other.history()] == names
    found = lab.audit()
    assert [r.request_id for r in found.history] == names


def test_other_isolation_levels_do_no_harm(database):
    where = f"{database.where}&options=-c%20default_transaction_isolation%3Dserializable"
    with Database(where, database.name).open(SE, 2) as one, database.open() as two:
        for i in range(5):
            one._catch_up = two._catch_up = lambda _: None  # both are always late
            assert one.ask(f"{i}") == two.ask(f"{i}")


def test_an_older_state_of_the_database_is_noticed(database):
    """As after a backup, or a failover that lost commits: who knows of more does not go on."""
    with database.open(SE, 2) as study:
        made = study.ask_many(["one", "two", "three"])
        study.tell(made[0].id, 1.0)
        with database.connect() as connection:
            connection.execute("SET session_replication_role = replica")  # no triggers
            connection.execute(
                "DELETE FROM uli_fast.event WHERE study = %s AND sequence > 3", (database.name,)
            )
        for call in (lambda: study.ask("four"), lambda: study.active, study.history):
            with pytest.raises(StudyDivergedError, match="is not there any more"):
                call()
        study._catch_up = lambda _: None
        study._stale = False
        with pytest.raises(StudyDivergedError, match="the last event is not the one"):
            study.tell(made[1].id, 1.0)
    with database.open() as study:  # who was not told of them may
        assert [r.request_id for r in study.history()] == ["one", "two"]


def test_an_altered_event_breaks_the_chain(database):
    with database.open(SE, 2) as study:
        study.tell(study.ask("one").id, 1.0)
    with database.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(
            "UPDATE uli_fast.event SET payload = replace(payload, '1.0', '0.5') "
            "WHERE study = %s AND sequence = 3",
            (database.name,),
        )
    for look in (database.open, database.read, database.audit):
        with pytest.raises(StudyDivergedError, match="not what was recorded"):
            look()


def test_snapshots_are_used_shared_and_checked(database, monkeypatch):
    monkeypatch.setattr("uli_fast.study.snapshots.BEHIND", 20)
    monkeypatch.setattr("uli_fast.study.snapshots.EVENT", 10**6)
    with database.open(SE, ["a", "b"]) as one, database.open() as two:
        for i in range(60):
            one.tell(two.ask(f"{i}").id, float(i % 2))
        state = one._replay.player.state()
        assert one.ask("7").id == 8 and len(one.history()) == 60  # forgotten, and looked up
        one.tell(8, 1.0)
        with pytest.raises(uli.errors.ConflictingRewardError):
            two.tell(8, 0.0)
    kept = "SELECT sequence FROM uli_fast.snapshot WHERE study = %s"
    assert 1 <= len(database.run(kept, (database.name,))) <= 2
    with database.open() as study:
        assert study._saved is not None  # it was opened from a snapshot
        assert study._replay.player.state()["arms"] == state["arms"]
    assert database.audit().events == 121
    database.run("UPDATE uli_fast.snapshot SET content = '{}', hash = 'x'")
    with database.open() as study:
        assert study._saved is None and len(study.history()) == 60
    with pytest.raises(StudyError):
        database.audit()


# Processes.


def test_a_fork_leaves_its_parent_s_connection_alone(database):
    with database.open(SE, 2) as study:
        first, pid = study.ask("one"), os.fork()
        if pid == 0:
            try:
                study.ask("two")
            except StudyError:
                study.close()
                study._journal._end()  # as when it is dropped
                os._exit(2 if study._journal._connection.closed else 0)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert study.ask("one") == first and study.ask("two").id == 2


def test_a_study_that_is_dropped_lets_go_of_its_connection(database):
    mine = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'uli_fast'"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study = database.open(SE, 2)
        study.ask("one")
        assert database.run(mine)[0][0] >= 1
        pid = study._journal._connection.info.backend_pid
        del study
        gc.collect()
    ended = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
    while database.run(ended, (pid,))[0][0]:
        pass  # the server takes a moment


def test_what_is_read_is_one_moment_and_is_not_written_to(database):
    with database.open(SE, 2) as study:
        study.ask("one")
        with database.read() as view:
            study.ask("two")
            assert [r.request_id for r in view.history()] == ["one"]
            for call in (lambda: view.ask("one"), lambda: view.tell(1, 1.0)):
                with pytest.raises(StudyWriteError, match="opened for reading"):
                    call()
    with pytest.raises(StudyError, match="closed"):
        study.ask("three")
    study.close()


# What the pages say.


def test_the_example_of_the_page_runs_as_it_stands(database):
    page = (Path(__file__).parents[2] / "docs/databases.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```py\n(.*?)```", page, flags=re.DOTALL)
    space = {"uli": uli}
    exec(example.replace("postgresql://worker@db.example/lab", database.where), space)
    space["study"].close()
    assert space["audit"].events == 3


def test_the_rights_that_the_page_grants_suffice(server, database):
    page = (Path(__file__).parents[2] / "docs/databases.md").read_text(encoding="utf-8")
    (grants,) = re.findall(r"```sql\n(.*?)```", page, flags=re.DOTALL)
    database.open(SE, 2).close()
    database.run("CREATE ROLE granted LOGIN")
    database.run(grants.replace("worker", "granted"))
    with Database(server.address(user="granted"), database.name).open() as study:
        study._kept = -(10**6)  # a snapshot is due
        study.tell(study.ask("one").id, 1.0)
        assert len(study._journal.snapshots()) == 1


def test_the_command_line_looks_at_a_database(database, folder):
    with database.open(SE, ["a", "b"]) as study:
        study.tell(study.ask("one").id, 1.0)
    where, page = [database.where, "--name", database.name], folder / "audit.html"
    done = CliRunner().invoke(main, ["study", "show", *where])
    assert done.exit_code == 0 and "1 decisions: 1 with a reward" in done.output
    done = CliRunner().invoke(main, ["study", "audit", *where, "--html", str(page)])
    assert done.exit_code == 0 and "chain: 3 events" in done.output
    assert database.name in page.read_text()
    assert CliRunner().invoke(main, ["study", "show", database.where]).exit_code != 0


@pytest.mark.skipif(postgres.program("pg_dump") is None, reason="there is no pg_dump here")
def test_a_dump_is_restored_as_the_page_says(server, database):
    with database.open(SE, ["a", "b"]) as study:
        made = study.ask_many(["one", "two"])
        study.tell(made[0].id, 1.0)
    database.run("CREATE DATABASE restored")
    reach = ["-h", str(server.folder), "-U", "uli"]
    dump = [postgres.program("pg_dump"), *reach, "-n", "uli_fast", "postgres"]
    told = subprocess.run(dump, capture_output=True, check=True)
    load = [postgres.program("psql"), *reach, "-q", "-v", "ON_ERROR_STOP=1", "-d", "restored"]
    subprocess.run(load, input=told.stdout, capture_output=True, check=True)
    other = Database(server.address("restored"), database.name)
    assert other.audit().head == database.audit().head
    with other.open() as study:
        assert study.ask_many(["two", "one"]) == made[::-1]
        study.tell(made[1].id, 0.0)
