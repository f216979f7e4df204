"""What is refused: by a typed error that names the argument or the file, and nothing is left."""

import contextlib
import errno
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import tracemalloc

import pytest

import uli_fast as uli
from tests.study.clinic import ARMS, learner, treat
from tests.study.forging import rewritten, swapped
from tests.study.live import SE
from tests.study.test_damage import largest_file
from uli_fast.errors import ArgumentError, StudyError, StudyLockedError, StudyWriteError
from uli_fast.report.live import write_audit
from uli_fast.study import copies, journal


def test_a_file_marked_read_only_is_not_written_whoever_asks(path):
    treat(path, range(2))
    path.chmod(0o444)
    with pytest.raises(StudyWriteError, match="read-only"):
        uli.Study.open(path)
    with uli.Study.read(path) as study:
        assert len(study.history()) == 2


def test_a_missing_folder_is_named(folder, monkeypatch):
    with pytest.raises(StudyWriteError, match=f"there is no folder {folder}/no$"):
        uli.Study.open(folder / "no" / "trial.db", SE, 2)
    monkeypatch.chdir(folder)
    with pytest.raises(StudyWriteError, match=f"there is no folder {folder}/no$"):
        uli.Study.open("no/trial.db", SE, 2)
    assert list(folder.iterdir()) == []


def test_a_tilde_is_the_user_s_folder(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))
    with uli.Study.open("~/trial.db", SE, 2) as study:
        assert study.path == folder / "trial.db" and study.path.exists()
        study.export("~/out.csv")
        assert (folder / "out.csv").exists()
    assert len(uli.Study.read("~/trial.db").history()) == 0
    write_audit(uli.Study.audit("~/trial.db"), "~/page.html")
    assert (folder / "page.html").exists()
    with pytest.raises(ArgumentError, match="path"):
        uli.Study.open("~nobody-of-this-name/trial.db", SE, 2)


def test_reading_waits_for_a_file_that_is_being_written_to(path, monkeypatch):
    treat(path, range(3))
    stamps, calls, naps = copies._stamps, [], []

    def restless(file):
        calls.append(file)
        return stamps(file) | ({file: (0, 0, len(calls))} if len(calls) < until else {})

    monkeypatch.setattr(copies, "_stamps", restless)
    monkeypatch.setattr(time, "sleep", naps.append)
    until = 10
    assert len(uli.Study.read(path).history()) == 3
    assert naps and set(naps) == {0.05}
    until = 10**6
    with pytest.raises(StudyLockedError, match="try again"):
        uli.Study.audit(path)


def test_a_copy_torn_by_a_writer_is_not_an_error(path, monkeypatch):
    treat(path, range(3))
    whole, copy, torn = path.read_bytes(), shutil.copyfile, []

    def tearing(source, target):
        if not torn:
            torn.append(source)
            path.write_bytes(whole[: len(whole) // 2])
            copy(source, target)
            path.write_bytes(whole)
        else:
            copy(source, target)

    monkeypatch.setattr(shutil, "copyfile", tearing)
    assert len(uli.Study.read(path).history()) == 3 and torn


@pytest.mark.parametrize("content", [b"x" * 5000, b"SQLite format 3\0" + bytes(4080)])
def test_errors_name_the_file_that_was_given(path, content):
    path.write_bytes(content)
    for look in (uli.Study.read, uli.Study.audit, uli.Study.open):
        with pytest.raises(StudyError) as caught:
            look(path)
        assert str(caught.value).startswith(str(path)) and "/study" not in str(caught.value)


@pytest.mark.parametrize(
    "argument, words, call",
    [
        ("request_id", "must not be empty", lambda s: s.ask("")),
        ("request_id", "at most 1000 characters", lambda s: s.ask("x" * 1001)),
        ("metadata", "strings for keys", lambda s: s.ask("x", metadata={1: 2})),
        ("metadata", "strings for keys", lambda s: s.ask("x", a=[{"b": {None: 2}}])),
        ("metadata", "at most 1000000 characters", lambda s: s.ask("x", a="x" * 10**6)),
        ("metadata", "half a character", lambda s: s.ask("x", a=["\ud800"])),
        ("metadata", "half a character", lambda s: s.ask("x", metadata={"\ud800": 1})),
        ("metadata", "must map", lambda s: s.ask("x", metadata=[])),
        ("older_than", "at most 1e\\+10 seconds", lambda s: s.pending(1e11)),
        ("reason", "must not be empty", lambda s: s.tell_missing(1, "")),
        ("reason", "at most 10000 characters", lambda s: s.tell_missing(1, "x" * 10_001)),
        ("reason", "half a character", lambda s: s.tell_missing(1, "\udfff")),
        ("reason", "must be a string", lambda s: s.tell_missing(1, 3)),
        ("path", "must be a path", lambda s: s.export(3)),
        ("path", "must be a path", lambda s: s.export("a\0.csv")),
        ("path", "cannot be a file", lambda s: s.export("x" * 5000 + ".csv")),
        ("path", "folder", lambda s: s.export(s.path.parent)),
        ("path", "cannot be a file", lambda s: uli.Study.open("x" * 5000, SE, 2)),
        ("path", "cannot be a file", lambda s: uli.Study.read("x" * 5000)),
        ("path", "cannot be a file", lambda s: uli.Study.audit("x" * 5000)),
        ("path", "not empty", lambda s: uli.Study.open("", SE, 2)),
    ],
)
def test_arguments(path, argument, words, call):
    with uli.Study.open(path, SE, 2) as study:
        study.ask("first")
        before = study.history(), len(list(study._journal.events()))
        with pytest.raises(ArgumentError, match=words) as caught:
            call(study)
        assert caught.value.argument == argument and len(str(caught.value)) < 5000
        assert (study.history(), len(list(study._journal.events()))) == before


@pytest.mark.parametrize(
    "about",
    [
        {"versions": 5},
        {"versions": [1]},
        {"arms": {"number": 10**9}},
        {"arms": {"number": 10**30}},
        {"arms": 7},
        {"arms": {"set": "Ball", "parameters": 3}},
        {"own": 5},
    ],
    ids=str,
)
def test_a_beginning_that_makes_no_sense_is_a_damaged_file(path, about):
    uli.Study.open(path, SE, 2).close()
    rewritten(path, swapped(0, **about))
    for look in (uli.Study.read, uli.Study.audit, uli.Study.open):
        with pytest.raises(StudyError, match=str(path)):
            look(path)


@pytest.mark.parametrize("extent", [[1.0], [1.0] * 14, 5])
def test_a_set_is_no_larger_than_what_is_recorded_of_it(path, extent):
    """A small file cannot ask for a matrix of 30,000 by 30,000."""
    arms = {"set": "Simplex", "parameters": {"d": 30_000}, "extent": extent}
    with uli.Study.open(path, uli.SpannerElimination(0.1, R=1.0), uli.arm_sets.Simplex(3)):
        pass
    rewritten(path, swapped(0, arms=arms))
    for look in (uli.Study.read, uli.Study.audit, uli.Study.open):
        tracemalloc.start()
        with pytest.raises(StudyError, match=str(path)):
            look(path)
        assert tracemalloc.get_traced_memory()[1] < 2**24
        tracemalloc.stop()


def test_arms_that_nobody_could_tell_apart(path, folder):
    for arms in (["a", ""], ["a", " \t"], ["\ud800", "b"], 10**7):
        with pytest.raises(ArgumentError, match="arms"):
            uli.Study.open(path, SE, arms)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("fault", ["tell", "tell-committed:x", "tell-written:0", "ask-begun:", ":"])
def test_a_fault_that_would_never_come_is_an_error(path, folder, fault, monkeypatch):
    monkeypatch.setenv("ULI_FAULT", fault)
    with pytest.raises(StudyError, match="ULI_FAULT"):
        uli.Study.open(path, SE, 2)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("size", [0, 1000, 5000, 9000, 20_000])
def test_a_failed_beginning_leaves_no_file(path, folder, size):
    with largest_file(size), contextlib.suppress(StudyWriteError):
        uli.Study.open(path, learner(), ARMS).close()
        assert path.exists()
        path.unlink()
    assert list(folder.iterdir()) == []
    uli.Study.open(path, learner(), ARMS).close()


def test_a_failed_beginning_leaves_a_file_of_others(path, folder, monkeypatch):
    path.touch()
    monkeypatch.setattr(journal.Journal, "create", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        uli.Study.open(path, SE, 2)
    assert path.exists()
    path.unlink()
    with pytest.raises(ZeroDivisionError):
        uli.Study.open(path, SE, 2)
    assert list(folder.iterdir()) == []
    hold = f"""
import sys, uli_fast as uli
study = uli.Study.open({str(path)!r}, uli.SuccessiveElimination(0.1), 2)
print("held", flush=True)
sys.stdin.read()
"""
    holder = subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout.readline() == b"held\n"
        monkeypatch.setattr(journal, "_inode", lambda _: None)  # it was not there a moment ago
        with pytest.raises(StudyLockedError):
            journal.Journal(path)
        assert path.exists()
    finally:
        holder.communicate()


def test_whatever_metadata_was_taken_is_read_again_by_callers_far_down(place):
    """JSON is read and written by functions that call themselves: what fits here may not there."""

    def from_below(frames, call):
        return from_below(frames - 1, call) if frames else call()

    with place.open(SE, 2) as study:
        for shape in (lambda x: [x], lambda x: {"a": x}):
            deep = 1
            for _ in range(49):
                deep = shape(deep)
            d = study.ask(f"p{deep}"[:9], {"x": deep})
            with pytest.raises(ArgumentError, match="50 lists and tables"):
                study.ask("deeper", {"x": shape(deep)})
            with pytest.raises(ArgumentError):
                study.ask_many(["one", "two"], [{}, {"x": [[[shape(deep)]]]}])
            with pytest.raises(ArgumentError):
                study.ask("deeper", x=shape(deep))
            study.tell(d.id, 1.0)
    with from_below(700, place.open) as study:
        assert len(from_below(700, study.history)) == 2
    assert from_below(700, place.audit).events == 5


def left_by_a_killed_process(path):
    """Return a study and its log as they are when nobody could close them."""
    copy = path.with_name("killed.db")
    with uli.Study.open(path, SE, 2) as study:
        for i in range(20):
            study.tell(study.ask(f"p{i}").id, 1.0)
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
    return copy


def test_a_study_opens_without_a_folder_for_temporary_files(path, folder, monkeypatch):
    copy = left_by_a_killed_process(path)
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "gone"))
    for look in (uli.Study.read, uli.Study.audit):
        with pytest.raises(StudyError, match=f"a copy in {folder}/gone"):
            look(copy)
    with uli.Study.open(copy) as study:
        assert len(study.history()) == 20
    assert sorted(x.name for x in folder.iterdir()) == ["killed.db", "trial.db"]


def test_a_copy_that_finds_no_room_leaves_nothing(path, folder, monkeypatch):
    copy = left_by_a_killed_process(path)

    def full(source, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", full)
        with pytest.raises(StudyError, match=r"killed\.db: No space left"):
            uli.Study.open(copy)
    with uli.Study.open(copy) as study:
        assert len(study.history()) == 20
    assert sorted(x.name for x in folder.iterdir()) == ["killed.db", "trial.db"]


def test_a_file_system_without_locks_is_said_to_be_one(path, monkeypatch):
    import fcntl

    def flock(handle, how):
        raise OSError(errno.ENOLCK, "No locks available")

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", flock)
        with pytest.raises(StudyError, match=r"has no locks \(ENOLCK\)"):
            uli.Study.open(path, SE, 2)
    treat(path, range(2))
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")  # what SQLite says is the same where locks fail
        with pytest.raises(StudyLockedError, match="file system without locks"):
            uli.Study.open(path)
