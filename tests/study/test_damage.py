"""Garbled, cut, full, read-only: a valid prefix or a typed error, never a wrong answer."""

import os
import random
import resource
import shutil
import signal
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

import uli_fast as uli
from tests.study.clinic import ARMS, learner, treat
from tests.study.test_crash import said
from uli_fast.errors import ArgumentError, StudyError, StudyWriteError
from uli_fast.study.journal import read_events

OFFSETS = 200


@pytest.fixture(scope="module")
def files(clinic, tmp_path_factory):
    """A study that was closed, and one whose process was killed, with its log beside it."""
    folder = tmp_path_factory.mktemp("files")
    treat(folder / "closed.db", range(60))
    treat(folder / "killed.db", range(30))  # what is in the main file; the rest is in the log
    job = {"do": "treat", "path": str(folder / "killed.db"), "log": str(folder / "log")}
    clinic.start(**job, first=30, patients=60, fault="tell-committed:20")
    assert clinic.wait() == 137
    return {
        "closed": (folder / "closed.db", [""], read_events(folder / "closed.db")),
        "killed": (folder / "killed.db", ["-wal"], read_events(folder / "killed.db")),
        "killed, main file": (folder / "killed.db", [""], read_events(folder / "killed.db")),
    }


def copied(source, target):
    for suffix in ("", "-wal"):
        Path(f"{target}{suffix}").unlink(missing_ok=True)
        if Path(f"{source}{suffix}").exists():
            shutil.copyfile(f"{source}{suffix}", f"{target}{suffix}")


def contents(path):
    """Return the bytes of a study's file and of its log."""
    files = {suffix: Path(f"{path}{suffix}") for suffix in ("", "-wal")}
    return {suffix: file.read_bytes() for suffix, file in files.items() if file.exists()}


def judged(path, events, least=1):
    """Open what is left: True if it is a prefix and goes on, False if it is refused.

    So many events must be there: what is damaged, and not cut off, loses none but the last.
    """
    before = contents(path)
    try:
        looked = read_events(path)
        assert looked == events[: len(looked)]
        assert len(looked) >= least or before == {"": b""}
    except StudyError:
        pass
    # With a log beside it, a program that would begin a study must not be let to.
    given = (learner(), ARMS) if before.get("-wal") else ()
    try:
        study = uli.Study.open(path, *given)
    except StudyError:
        assert contents(path) == before
        return False
    except ArgumentError as problem:  # nothing is left at all
        assert before == {"": b""} and "holds no study yet" in str(problem)
        return False
    with study:
        found = list(study._journal.events())
        assert found == events[: len(found)] and len(found) >= least
        player = learner().start(ARMS)
        for event in found[1:]:
            if event.kind == "ask":
                assert player.ask().arm == event.content["arm"]
            elif event.kind == "tell":
                player.tell(event.decision, event.content["reward"])
            else:
                player.tell_missing(event.decision, event.content["reason"])
        try:
            assert study.ask("new").arm == player.ask().arm
        except StudyError:
            return False
        history = study.history()
    try:
        with uli.Study.open(path) as study:
            assert study.history() == history
    except StudyError:
        return False
    return True


@pytest.mark.parametrize("which", ["closed", "killed", "killed, main file"])
@pytest.mark.parametrize("how", ["garbled", "cut"])
def test_damage_is_noticed_or_harmless(files, folder, which, how):
    source, suffixes, events = files[which]
    rng, kept = random.Random(f"{which} {how}"), 0
    size = os.path.getsize(f"{source}{suffixes[0]}")
    for offset in sorted({0, 1, 99, *rng.sample(range(size), OFFSETS)}):
        copy = folder / "copy.db"
        copied(source, copy)
        with open(f"{copy}{suffixes[0]}", "r+b") as file:
            if how == "cut":
                file.truncate(offset)
            else:
                file.seek(offset)
                old = file.read(rng.choice([1, 1, 64]))
                file.seek(offset)
                file.write(bytes(x ^ rng.randrange(1, 256) for x in old))
        kept += judged(copy, events, 1 if how == "cut" else len(events) - 1)
    if how == "garbled":
        assert kept < OFFSETS
    elif which == "killed":
        assert kept > OFFSETS // 2  # a log that is cut is a prefix


@pytest.mark.parametrize("given", [(), (learner(), ARMS)], ids=["going on", "beginning"])
@pytest.mark.parametrize("size", [None, 0, 1, 99])
def test_a_log_without_its_file_begins_no_new_study(files, folder, size, given):
    source, _, events = files["killed"]
    copy = folder / "copy.db"
    copied(source, copy)
    if size is None:
        copy.unlink()
    else:
        os.truncate(copy, size)
    before = contents(copy)
    for _ in range(2):
        with pytest.raises(StudyError, match=r"its log, copy\.db-wal, is there"):
            uli.Study.open(copy, *given)
    assert contents(copy) == before
    shutil.copyfile(source, copy)
    assert read_events(copy) == events


def test_a_file_that_is_refused_can_be_put_back(files, folder):
    """Its log is neither merged into it nor deleted, so that a copy of the file mends all."""
    source, _, events = files["killed"]
    for offset in (100, 4096, 8192):
        copy = folder / "copy.db"
        copied(source, copy)
        os.truncate(copy, offset)
        before = contents(copy)
        with pytest.raises(StudyError):
            uli.Study.open(copy)
        assert contents(copy) == before
        shutil.copyfile(source, copy)
        with uli.Study.open(copy) as study:
            assert list(study._journal.events()) == events


def test_the_log_alone_being_lost_leaves_a_prefix(files, folder):
    source, _, events = files["killed"]
    copy = folder / "copy.db"
    copied(source, copy)
    Path(f"{copy}-wal").unlink()
    judged(copy, events)


@contextmanager
def largest_file(size):
    """Let no file of this process grow beyond a size, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def test_a_full_disk_loses_nothing_and_is_forgiven(path):
    bare = learner().start(ARMS)
    with uli.Study.open(path, learner(), ARMS) as study:
        with largest_file(200_000), pytest.raises(StudyWriteError, match="acknowledged"):
            for i in range(1000):
                decision = study.ask(f"p{i}")
                assert decision == bare.ask()
                study.tell(decision.id, 0.5)
                bare.tell(decision.id, 0.5)
        known = len(bare.queue)
        assert known > 5 and len(study.history()) in (known, known + 1)
        # There is room again: the same study goes on where the disk has it.
        decision = study.ask(f"p{i}")
        if len(bare.queue) < decision.id:
            assert decision == bare.ask()
        study.tell(decision.id, 0.5)
        assert len(study.history()) == decision.id
        history = study.history()
    with uli.Study.open(path) as study:
        assert study.history() == history


def test_a_disk_that_is_full_from_the_start(path):
    with largest_file(1000), pytest.raises(StudyWriteError):
        uli.Study.open(path, learner(), ARMS)
    uli.Study.open(path, learner(), ARMS).close()


def test_a_read_only_file_is_a_typed_error_and_can_be_looked_at(clinic):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, log = folder / "trial.db", folder / "log"
        treat(path, range(5))
        log.touch()
        path.chmod(0o444)
        folder.chmod(0o555)
        try:
            clinic.start(do="unprivileged", path=str(path), log=str(log))
            assert clinic.wait() == 0
            opened, looked = said(log)
            assert opened[0] == "StudyWriteError" and "read-only" in opened[1]
            assert looked == ["read", 5]
        finally:
            folder.chmod(0o755)
        assert [p.name for p in sorted(folder.iterdir())] == ["log", "trial.db"]
