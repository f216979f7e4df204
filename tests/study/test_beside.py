"""What lies beside a study's file, or is put in its place: refused, and left as it was."""

import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

import uli_fast as uli
from tests.study.clinic import ARMS, learner, treat
from tests.study.test_damage import contents
from uli_fast.errors import StudyError, StudyWriteError
from uli_fast.study import journal
from uli_fast.study.journal import read_events

MAGIC = bytes.fromhex("d9d505f920a163d7")  # sqlite.org/fileformat2.html, section 3
LOOKS = (uli.Study.open, uli.Study.read, uli.Study.audit)


def hot(pages, names=b""):
    """Return a journal that truncates its file to so many pages, and deletes a file it names."""
    head = (MAGIC + struct.pack(">5I", 0, 0, pages, 512, 4096)).ljust(512, b"\0")
    if not names:
        return head
    lock_page = 2**30 // 4096 + 1
    sums = struct.pack(">II", len(names), sum(names))
    return head + struct.pack(">I", lock_page) + names + sums + MAGIC


def refused(path, match):
    before = sorted((p.name, p.read_bytes()) for p in path.parent.iterdir() if p.is_file())
    for look in LOOKS:
        with pytest.raises(StudyError, match=match):
            look(path)
    with pytest.raises(StudyError, match=match):
        uli.Study.open(path, learner(), ARMS)
    assert sorted((p.name, p.read_bytes()) for p in path.parent.iterdir() if p.is_file()) == before


def test_a_journal_that_names_another_file_does_not_delete_it(folder, path):
    victim = folder / "thesis.txt"
    victim.write_text("years of work")
    treat(path, range(3))
    Path(f"{path}-journal").write_bytes(hot(path.stat().st_size // 4096, bytes(victim)))
    refused(path, "a rollback journal lies beside it, trial.db-journal")
    assert victim.read_text() == "years of work"


def test_a_journal_that_another_beginning_left_does_not_wipe_a_good_copy(path):
    treat(path, range(20))
    Path(f"{path}-journal").write_bytes(hot(0))
    refused(path, "rollback journal")
    os.unlink(f"{path}-journal")
    assert len(uli.Study.read(path).history()) == 20


@pytest.mark.parametrize("there", ["no file", "an empty file"])
def test_no_study_is_begun_beside_a_journal(there, folder, path):
    if there == "an empty file":
        path.write_bytes(b"")
    Path(f"{path}-journal").write_bytes(hot(1, bytes(folder / "x")))
    before = contents_of(folder)
    with pytest.raises(StudyError, match="rollback journal"):
        uli.Study.open(path, learner(), ARMS)
    assert contents_of(folder) == before


def test_a_journal_that_is_a_link_is_refused_wherever_it_leads(folder, path):
    treat(path, range(3))
    for target in ("nowhere", "trial.db"):
        Path(f"{path}-journal").unlink(missing_ok=True)
        Path(f"{path}-journal").symlink_to(folder / target)
        with pytest.raises(StudyError, match="rollback journal"):
            uli.Study.open(path)
    assert not (folder / "nowhere").exists()


@pytest.mark.parametrize("point", ["begun", "written", "committed"])
def test_a_beginning_that_is_killed_leaves_no_journal(point, clinic, folder, path):
    job = {"do": "treat", "path": str(path), "log": str(folder / "said"), "patients": 3}
    assert clinic.start(**job, fault=f"create-{point}") > 0 and clinic.wait() == 137
    begun = {"trial.db", "trial.db-wal"} if point == "committed" else set()
    assert {p.name for p in folder.iterdir()} - {"said"} == begun | {"trial.db-lock"}
    uli.Study.open(path, learner(), ARMS).close()


def test_a_file_that_is_still_empty_holds_no_study(path):
    """As it is for a moment when one is begun."""
    path.write_bytes(b"")
    for look in (uli.Study.read, uli.Study.audit):
        with pytest.raises(StudyError, match="holds no study yet"):
            look(path)
    assert path.read_bytes() == b""


def contents_of(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir()}


# A file and a log of different times.


class Moment(NamedTuple):
    """What a kill would have left, and how many events there were."""

    file: bytes
    log: bytes
    events: int


@pytest.fixture(scope="module")
def times(tmp_path_factory):
    """A study at times early and late, before and after its log was begun again; its events."""
    path = tmp_path_factory.mktemp("times") / "trial.db"
    moments, salts = [], b""
    journal.CHECKPOINT, kept = 40, journal.CHECKPOINT
    try:
        treat(path, range(5))
        with uli.Study.open(path) as study:
            for i in range(80):
                many = 1 if i < 5 or i > 20 else 50  # so that every index has grown in depth
                new = study.ask_many([f"p{i}-{j}" for j in range(many)])
                study.tell_many([(x.id, 1.0) for x in new])
                file, log = path.read_bytes(), Path(f"{path}-wal").read_bytes()
                if i < 3 or salts != log[16:24] or i % 20 == 0:
                    moments.append(Moment(file, log, study._replay.last.sequence))
                salts = log[16:24]
            return moments, list(study._journal.events())
    finally:
        journal.CHECKPOINT = kept


def put(path, file, log):
    path.write_bytes(file)
    Path(f"{path}-wal").write_bytes(log)
    return path


def test_a_file_and_a_log_of_different_times_lose_nothing_without_a_word(times, path):
    """They make up the study as it was with the log, or they are refused."""
    moments, events = times
    found = Counter()
    for file in moments[::4]:
        for log in moments:
            put(path, file.file, log.log)
            try:
                seen = read_events(path)
            except StudyError as problem:
                found["together" in str(problem)] += 1
                assert file.file != log.file
                assert "from another time" in str(problem) and "\n" not in str(problem)
            else:
                assert seen == events[: log.events]
                found["read"] += 1
    assert found["read"] >= len(moments[::4]) and found[True] > 5, found


def reason(path):
    """Return why it is not read, if it is not."""
    try:
        read_events(path)
    except StudyError as problem:
        return str(problem)
    return ""


def test_a_file_older_than_its_log_is_refused_and_left(times, folder):
    moments, _ = times
    paths = (put(folder / f"{i}.db", moments[0].file, x.log) for i, x in enumerate(moments))
    path = next(path for path in paths if "written for a file of" in reason(path))
    refused(path, "the log was written for a file of .* pages, and this one has")
    with sqlite3.connect(path) as connection:  # SQLite has nothing against it
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


def test_a_file_newer_than_its_log_is_refused_and_left(times, path):
    moments, _ = times
    with uli.Study.open(put(path, *moments[0][:2])) as study:
        study.ask("one more")
    put(path, path.read_bytes(), moments[0].log)
    last = moments[0].events
    refused(path, f"the file goes on to event {last + 1}, and with its log to event {last} only")


def test_a_log_of_another_past_is_refused_and_left(times, path):
    """As many events or more, but not those of the file."""
    moments, _ = times
    with uli.Study.open(put(path, *moments[0][:2])) as study:
        study.ask("one more")
    late = next(x for x in moments[1:] if x.file == moments[0].file)
    put(path, path.read_bytes(), late.log)
    last = moments[0].events + 1
    refused(path, f"with its log, event {last} is not the one that the file has")


def test_a_log_of_another_study_is_refused_and_left(times, path, folder):
    moments, _ = times
    treat(folder / "other.db", range(2))
    put(path, (folder / "other.db").read_bytes(), moments[0].log)
    refused(path, "with its log, event .* is not the one that the file has")


def test_whatever_a_checkpoint_leaves_that_is_killed_belongs_together(times, path):
    """Any of the log's pages may have come to the file by then."""
    (moments, events), rng = times, random.Random(3)
    for moment in moments[::4]:
        log, file = moment.log, bytearray(moment.file)
        places = [i for i in range(32, len(log), 24 + 4096) if log[i + 8 : i + 16] == log[16:24]]
        latest = {struct.unpack(">I", log[i : i + 4])[0]: i + 24 for i in places}
        share = rng.random()
        for page, at in latest.items():
            if rng.random() < share:
                file += bytes(max(0, page * 4096 - len(file)))
                file[(page - 1) * 4096 : page * 4096] = log[at : at + 4096]
        with uli.Study.open(put(path, file, log)) as study:
            assert list(study._journal.events()) == events[: moment.events]


# A file written over in place.


def begun(path):
    """Begin a study and close it; there is an older copy, and the last write was long ago."""
    treat(path, range(4))
    shutil.copyfile(path, f"{path}.older")
    treat(path, range(4, 12))
    os.utime(path, (1e9, 1e9))
    shutil.copyfile(path, f"{path}.same")


def put_over(path, which="older"):
    shutil.copyfile(f"{path}.{which}", path)  # cp: the same inode


def found(path):
    """Return who was asked for, once the file that the log goes with is back."""
    assert path.read_bytes() == Path(f"{path}.older").read_bytes()
    put_over(path, "same")
    with uli.Study.open(path) as study:
        return [r.request_id for r in study.history()][12:]


OVER = "copied another over it"


@pytest.mark.parametrize("call", ["ask", "tell", "asked before", "told before", "close"])
def test_nothing_is_acknowledged_once_a_copy_lies_over_the_file(call, path):
    begun(path)
    study = uli.Study.open(path)
    asked = study.ask("new")
    study.tell(asked.id, 1.0)
    pending = study.ask("newer")
    put_over(path)
    calls = {
        "ask": lambda: study.ask("newest"),
        "tell": lambda: study.tell(pending.id, 0.0),
        "asked before": lambda: study.ask("new"),
        "told before": lambda: study.tell(asked.id, 1.0),
        "close": study.close,
    }
    with pytest.raises(StudyWriteError, match=OVER):
        calls[call]()
    for again in calls.values():
        if call != "close":
            with pytest.raises(StudyWriteError, match=OVER):
                again()
    study.close()
    assert found(path) == ["new", "newer"]


def test_a_copy_made_while_a_call_commits_is_noticed(path, monkeypatch):
    begun(path)
    points = []

    def at(point):
        points.append(point)
        if point == "ask-written":
            put_over(path)

    with uli.Study.open(path) as study:
        study.ask("first")
        monkeypatch.setattr(journal, "fault", at)
        with pytest.raises(StudyWriteError, match=OVER):
            study.ask("second")
        assert points == ["ask-begun", "ask-written"]
        with pytest.raises(StudyWriteError, match=OVER):
            study.close()
    assert found(path) == ["first", "second"]  # the second in the log, though not acknowledged


ENDS = {"is left open": "", "drops it": "del study", "ends in an error": "raise SystemExit"}


@pytest.mark.parametrize("end", ENDS)
def test_a_program_that_does_not_look_again_loses_nothing(end, path):
    begun(path)
    drive = f"""
        import shutil, uli_fast as uli
        study = uli.Study.open({str(path)!r})
        study.ask("new")
        shutil.copyfile({f"{path}.older"!r}, {str(path)!r})
    """
    drive = f"{textwrap.dedent(drive)}\n{ENDS[end]}"
    subprocess.run([sys.executable, "-c", drive], check=True)
    assert found(path) == ["new"]


def test_a_study_notices_its_own_checkpoints_for_what_they_are(path, monkeypatch):
    monkeypatch.setattr(journal, "CHECKPOINT", 10)
    sizes = set()
    with uli.Study.open(path, learner(), ARMS) as study:
        for i in range(60):
            study.tell(study.ask(f"p{i}", about="x" * 1000).id, 1.0)
            sizes.add(path.stat().st_size)
    assert len(sizes) > 5  # it was written to meanwhile
    assert len(uli.Study.read(path).history()) == 60


@pytest.mark.parametrize("target", ["nowhere", "else.txt"])
def test_a_lock_that_is_a_link_is_not_followed(target, folder, path):
    treat(path, range(2))
    (folder / "else.txt").write_text("mine")
    Path(f"{path}-lock").symlink_to(folder / target)
    with pytest.raises(StudyWriteError, match="is a symbolic link"):
        uli.Study.open(path)
    assert not (folder / "nowhere").exists() and (folder / "else.txt").read_text() == "mine"
    assert os.path.islink(f"{path}-lock")


def test_a_log_that_is_a_link_is_not_followed(folder, path):
    treat(path, range(2))
    before = contents(path)
    Path(f"{path}-wal").symlink_to(folder / "nowhere")
    with pytest.raises(StudyError):
        with uli.Study.open(path) as study:
            study.ask("new")
    assert not (folder / "nowhere").exists()
    os.unlink(f"{path}-wal")
    assert contents(path) == before
