"""Names, requests and addresses of studies in PostgreSQL: values only, and no password is shown."""

import traceback
from pathlib import Path

import pytest

import uli_fast as uli
from tests.study.live import SE
from uli_fast.errors import ArgumentError, MissingExtraError, StudyUnavailableError, StudyWriteError
from uli_fast.study import address, postgres_schema

pytest.importorskip("psycopg")

# Names.

ODD = [
    "x'; DROP TABLE uli_fast.event; --",
    'x"; DELETE FROM uli_fast.event; --',
    "%s %(study)s $1",
    "\\x41\\",
    "' OR '1' = '1",
    "\N{GRINNING FACE}" * 200,
    " ",
]


def test_names_and_requests_are_values_and_nothing_else(database):
    for name in ODD:
        with database.another(name).open(SE, ["a", "b"]) as study:
            made = [study.ask(request) for request in ODD]
            assert [study.ask(request) for request in ODD] == made
            assert study.ask_many(ODD) == made
            study.tell_missing(made[0].id, ODD[0])
    for name in ODD:
        with database.another(name).read() as study:
            assert [r.request_id for r in study.history()] == ODD
            assert study.history()[0].reason == ODD[0]
        assert database.another(name).audit().events == 2 + len(ODD)


def test_long_requests_differ_in_their_last_character(database):
    with database.open(SE, 2) as study:
        long = "\N{GRINNING FACE}" * 999
        one, two = study.ask(f"{long}1"), study.ask(f"{long}2")
        assert (one.id, two.id) == (1, 2) and study.ask(f"{long}1") == one


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (None, "must be given"),
        ("", "must not be empty"),
        (7, "must be a string"),
        ("x" * 201, "at most 200"),
        ("\ud800", "half a character"),
        ("a\0b", "NUL"),
    ],
)
def test_a_name_is_needed_and_checked(name, words):
    for look in (uli.Study.open, uli.Study.read, uli.Study.audit):
        with pytest.raises(ArgumentError, match=words) as caught:
            look("postgresql:///nowhere", name=name)
        assert caught.value.argument == "name"


def test_files_have_no_name(path):
    for look in (uli.Study.open, uli.Study.read, uli.Study.audit):
        with pytest.raises(ArgumentError, match="a file holds one study") as caught:
            look(path, name="trial")
        assert caught.value.argument == "name" and not path.exists()


def test_a_request_that_the_database_cannot_hold_is_refused(database):
    with database.open(SE, 2) as study:
        for call in (lambda: study.ask("a\0b"), lambda: study.ask_many(["a", "a\0b"])):
            with pytest.raises(ArgumentError, match="NUL") as caught:
                call()
            assert caught.value.argument == "request_id"
        d = study.ask("a", note="a\0b")
        study.tell_missing(d.id, "x\0y")
        record = study.history()[0]
        assert (record.id, record.metadata, record.reason) == (1, {"note": "a\0b"}, "x\0y")


def test_what_is_too_large_is_not_sent(database, monkeypatch):
    monkeypatch.setattr(postgres_schema, "LONGEST", 1000)
    with database.open(SE, 2) as study:
        with pytest.raises(StudyWriteError, match="more than 1000 characters"):
            study.ask("one", note="x" * 2000)
        assert study.ask("one").id == 1


# Passwords.

SECRET = "s3cr3t"
BROKEN = [
    f"postgresql://u:{SECRET}@host:port/db",
    f"postgresql://u:12/{SECRET}@host/db",
    f"postgresql://u:{SECRET}/x@host/db",
    f"postgresql://u:x@{SECRET}@host/db",
    f"postgresql://u:%zz{SECRET}@host/db",
    f"postgresql://u:{SECRET}@[host/db",
    f"postgresql://u@host/db?passwort={SECRET}",
    f"postgresql://u@host/db?password={SECRET}&x",
    f"postgresql://host:{SECRET}",
]


def everything_said(problem):
    """Return all that a program might log of an error."""
    said = "".join(traceback.format_exception(problem))
    while problem is not None:
        said += f"{problem!s} {problem!r} {problem.args!r}"
        problem = problem.__cause__ or problem.__context__
    return said


@pytest.mark.parametrize("url", BROKEN)
def test_a_broken_address_is_not_quoted(url):
    with pytest.raises(ArgumentError, match="path: is not an address") as caught:
        uli.Study.open(url, SE, 2, name="trial")
    said = "\n".join(x for x in everything_said(caught.value).splitlines() if "url" not in x)
    assert SECRET not in said


def test_passwords_are_shown_to_nobody(server, database, caplog):
    folder = server.folder
    for url in (
        f"postgresql://u:{SECRET}@/db?host={folder}/no",
        f"postgresql://u@/db?host={folder}/no&password={SECRET}",
        f"postgresql://u:{SECRET}@/{SECRET}?host={folder}",
        f"postgres://{SECRET}:{SECRET}@/postgres?host={folder}",
        f"postgresql://u:{SECRET}@127.0.0.1:1/db?connect_timeout=2",
    ):
        with pytest.raises(StudyUnavailableError) as caught:
            uli.Study.open(url, SE, 2, name="trial")
        said = "\n".join(x for x in everything_said(caught.value).splitlines() if "url" not in x)
        assert f"/{SECRET}?" in url or SECRET not in said
    url = f"postgresql://uli:{SECRET}@/postgres?host={folder}&sslpassword={SECRET}"
    with uli.Study.open(url, SE, 2, name=database.name) as study:
        assert SECRET not in f"{study!r} {study.path} {study.path!r} {vars(study)!r}"
        audit = uli.Study.audit(url, name=database.name)
        assert SECRET not in repr(audit)
        with pytest.raises(StudyWriteError) as caught:
            uli.Study.read(url, name=database.name).ask()
        assert SECRET not in everything_said(caught.value)
    assert SECRET not in caplog.text


def test_an_address_is_read_as_libpq_does(database):
    found = address.Address("postgres://u:p%40ss@db.example:5433/lab?sslmode=require", "a'b")
    assert str(found) == 'study "a\'b" in postgresql://db.example:5433/lab'
    assert found.parameters["password"] == "p@ss" and found.parameters["sslmode"] == "require"
    assert found.safe("x p@ss\n y") == "x *** y"
    assert found == address.Address("postgresql://w@db.example:5433/lab", "a'b")
    for other in ("postgresql://db.example/lab", "postgresql:///lab?host=/run/x"):
        assert address.Address(other, "a") != found


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"psycopg\[binary\]"):
        uli.Study.open("postgresql:///db", SE, 2, name="trial")


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_an_address_in_place_of_a_file_is_not_repeated(scheme):
    url = f"{scheme}://u:{SECRET}@host/db"
    for argument, call in (
        ("path", lambda: uli.Study.open(Path(url), SE, 2)),
        ("path", lambda: uli.Study.read(Path(url), name="trial")),
        ("study", lambda: uli.race(["a", "b"], lambda c, i: 0.5, [1, 2], study=url)),
        ("study", lambda: uli.race(["a", "b"], lambda c, i: 0.5, [1, 2], study=Path(url))),
    ):
        with pytest.raises(ArgumentError, match="not repeated here") as caught:
            call()
        assert caught.value.argument == argument and SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://worker:s3cret@host/lab",
        "POSTGRESQL://worker:s3cret@host/lab",
        "postgresql:worker:s3cret@host/lab",
        "mysql://worker:s3cret@host/lab",
        "https://worker:s3cret@host/lab",
    ],
)
def test_an_address_of_another_kind_is_no_file_and_shows_no_password(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for place in (url, Path(url)):
        for look in (uli.Study.open, uli.Study.read, uli.Study.audit):
            with pytest.raises(ArgumentError, match="must be a") as caught:
                look(place)
            assert caught.value.argument == "path" and "s3cret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_files_may_have_a_drive_or_a_colon(tmp_path):
    for name in ("C:/trial.db", "day 1: morning.db", str(tmp_path / "a:b.db")):
        assert address.located(name, None) == Path(name)
