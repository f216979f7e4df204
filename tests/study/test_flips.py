"""What a flipped bit in a log loses, and what a crash may tear: told apart, and never silently."""

import itertools
import os
import random
import shutil
import sqlite3
import struct
from pathlib import Path

import pytest

import uli_fast as uli
from tests.study import flips
from tests.study.clinic import ARMS, learner, settle
from tests.study.flips import HEAD, LOG, PAGE, SUFFIXES, Killed
from tests.study.test_damage import contents, largest_file
from uli_fast.errors import StudyError, StudyWriteError
from uli_fast.study import journal
from uli_fast.study.journal import read_events
from uli_fast.study.wal_check import damage

FRAME = HEAD + PAGE


@pytest.fixture(scope="module")
def studies(clinic, tmp_path_factory):
    return flips.killed_studies(clinic, tmp_path_factory.mktemp("killed"))


KINDS = [
    "killed soon",
    "closed once, then killed",
    "killed after the log was begun anew",
]


def test_single_bits_lose_nothing_but_the_last_event(studies, folder):
    found = flips.tried(studies, folder, 60, seed=1)
    assert found["refused", "log"] > 15 and found["refused", "file"] > 3


def frames(log):
    """Return the heads of the frames of a log: page, size of the file, salts, sums."""
    return [struct.unpack(">6I", log[i : i + HEAD]) for i in range(LOG, len(log) - PAGE, FRAME)]


def transactions(log):
    """Return the frames of this log, not of one before it, as lists of their numbers."""
    salts, found = struct.unpack(">2I", log[16:24]), [[]]
    for i, (_, size, *rest) in enumerate(frames(log)):
        if tuple(rest[:2]) == salts:
            found[-1].append(i)
            if size:
                found.append([])
    return [x for x in found if x]


def put(study, folder, log):
    """Copy a study with another log; return its path."""
    path = folder / "copy.db"
    shutil.copyfile(study.path, path)
    Path(f"{path}-wal").write_bytes(log)
    return path


def refused(path, match):
    before = contents(path)
    for look in (uli.Study.open, uli.Study.read, uli.Study.audit):
        with pytest.raises(StudyError, match=match):
            look(path)
    with pytest.raises(StudyError, match=match):
        uli.Study.open(path, learner(), ARMS)
    assert contents(path) == before


# Byte and bit, in a frame: its page, the size of the file, both salts, both sums, its content.
FIELDS = {"page": 3, "size": 7, "salt 1": 9, "salt 2": 14, "sum 1": 17, "sum 2": 22, "content": 999}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("field", FIELDS)
def test_any_field_of_a_frame_that_others_follow_is_damage(studies, folder, kind, field):
    log = Path(f"{studies[kind].path}-wal").read_bytes()
    done = transactions(log)
    for i in (done[0][0], done[0][-1], done[-2][0], done[-2][-1]):
        for bit in range(8):
            flipped = bytearray(log)
            flipped[LOG + i * FRAME + FIELDS[field]] ^= 1 << bit
            path = put(studies[kind], folder, flipped)
            assert "is not what was written" in damage(f"{path}-wal")
    refused(path, r"in its log, copy\.db-wal, frame \d+ is not what was written, and \d+ later")


def test_an_end_of_a_transaction_that_looks_like_none_is_damage(folder, path):
    """The size of the file is 0 where a transaction goes on: a single bit may make it so."""
    with uli.Study.open(path, learner(), ARMS) as study:
        for i in range(12):
            study.ask(f"p{i}", about="x" * 3000)  # a page each
        log, found = Path(f"{path}-wal").read_bytes(), []
    for i, (_, size, *_) in enumerate(frames(log)[: transactions(log)[-2][-1] + 1]):
        if size.bit_count() == 1:
            flipped = bytearray(log)
            struct.pack_into(">I", flipped, LOG + i * FRAME + 4, 0)
            (folder / "log").write_bytes(flipped)
            assert f"frame {i + 1} is not" in damage(str(folder / "log"))
            found.append(i)
    assert transactions(log)[-2][-1] in found  # else the one after it would be lost with it


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("byte", [0, 3, 5, 9, 10, 15, 17, 22, 25, 31])
def test_a_bit_of_the_header_does_not_lose_the_log(studies, folder, kind, byte):
    """SQLite would pass over the whole log, and a program could begin a new study."""
    log = bytearray(Path(f"{studies[kind].path}-wal").read_bytes())
    log[byte] ^= 1
    refused(put(studies[kind], folder, log), "its header is not what was written")


@pytest.mark.parametrize("kind", KINDS)
def test_a_torn_last_transaction_is_what_a_crash_leaves(studies, folder, kind):
    """A power cut may have written any of its frames, whole or in part, or none of them."""
    study = studies[kind]
    log, torn = Path(f"{study.path}-wal").read_bytes(), folder / "log"
    last = transactions(log)[-1]
    ways = [
        lambda frame: frame,
        lambda frame: bytes(FRAME),  # never written
        lambda frame: frame[:2000] + bytes(FRAME - 2000),
        lambda frame: bytes(HEAD) + frame[HEAD:],
        lambda frame: os.urandom(8) + struct.pack(">2I", 1, 2) + frame[16:],  # of another log
    ]
    several = list(itertools.product(ways, repeat=len(last)))
    for way in random.Random(1).sample(several, min(25, len(several))):
        some = bytearray(log)
        for i, tear in zip(last, way, strict=True):
            at = slice(LOG + i * FRAME, LOG + (i + 1) * FRAME)
            some[at] = tear(log[at])
        torn.write_bytes(some)
        assert damage(str(torn)) == ""
    for end in range(LOG + last[0] * FRAME, LOG + (last[-1] + 1) * FRAME, 900):
        torn.write_bytes(log[:end])
        assert damage(str(torn)) == ""
    path = put(study, folder, log[:end])
    with uli.Study.open(path) as opened:
        assert list(opened._journal.events()) == study.events[:-1]


def test_a_log_that_was_left_is_begun_again(studies, folder):
    """What lies beyond its end, of a transaction that was torn, could look like damage later."""
    study = studies["killed soon"]
    log = Path(f"{study.path}-wal").read_bytes()
    first, *rest = transactions(log)[-1]
    path = put(study, folder, log[: LOG + (rest[0] if rest else first) * FRAME])
    with uli.Study.open(path) as opened:
        opened.ask("one more")
        log = Path(f"{path}-wal").read_bytes()
        assert len(transactions(log)) == 1
        assert len(log) == LOG + FRAME * (transactions(log)[0][-1] + 1)


def test_a_log_is_whole_at_every_moment(path):
    log, headers = Path(f"{path}-wal"), set()
    with uli.Study.open(path, learner(), ARMS) as study:
        for i in range(300):  # it is begun anew meanwhile
            decision = study.ask(f"p{i}", about="x" * 6000)
            settle(study, decision.id, decision)
            new = log.read_bytes()[:LOG] not in headers
            headers.add(log.read_bytes()[:LOG])
            assert not (new or i % 10 == 0) or damage(str(log)) == ""
    assert len(headers) >= 2


@pytest.mark.parametrize("log", [b"x", bytes(LOG), b"x" * 5000], ids=["byte", "header", "nonsense"])
def test_no_study_is_begun_where_a_log_lies(tmp_path, folder, log):
    """The file is as good as empty; whatever was begun there is in the log alone."""
    source = tmp_path / "source.db"
    connection = sqlite3.connect(source, isolation_level=None)
    for statement in ("PRAGMA locking_mode=EXCLUSIVE", "PRAGMA journal_mode=WAL", *journal.SCHEMA):
        connection.execute(statement)
    empty = Killed(shutil.copyfile(source, tmp_path / "empty.db"), [])
    whole = Path(f"{source}-wal").read_bytes()
    connection.close()
    assert os.path.getsize(empty.path) == PAGE
    refused(put(empty, folder, log), "damaged|holds no study yet")
    path = put(empty, folder, whole[: LOG + transactions(whole)[0][-1] * FRAME])  # no commit
    before = contents(path)
    with pytest.raises(StudyError, match="no study that it could belong to"):
        uli.Study.open(path, learner(), ARMS)
    assert contents(path) == before


def test_a_study_begins_in_its_file(clinic, folder, path):
    clinic.start(
        do="treat", path=str(path), log=str(folder / "said"), patients=3, fault="create-committed"
    )
    assert clinic.wait() == 137
    log = Path(f"{path}-wal")
    assert not log.exists() or log.read_bytes() == b""
    with uli.Study.open(path) as study:
        assert len(list(study._journal.events())) == 1


def test_what_failed_writes_leave_in_the_log_is_no_damage(folder, path):
    """A long event is refused half-way; the next write begins the log anew, without its frames."""
    copy, log = folder / "copy.db", Path(f"{path}-wal")

    def check(study):
        for suffix in SUFFIXES:
            shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
        with uli.Study.open(copy) as killed:
            assert killed.history() == study.history()

    with uli.Study.open(path, learner(), ARMS) as study:
        for i in range(12):
            study.ask(f"p{i}")
            check(study)
            study.ask(f"q{i}")
            for pages in (9, 5, 3):
                with largest_file(log.stat().st_size + pages * FRAME):
                    with pytest.raises(StudyWriteError):
                        study.ask(f"long {i}", about="x" * 200 * PAGE)
                    check(study)
            study.ask(f"r{i}")
            assert len(transactions(log.read_bytes())) == 1
            check(study)


def copies(monkeypatch, spoiled):
    """Let the first so many copies of a log have a flipped bit."""
    copy, made = shutil.copyfile, []

    def copying(source, target):
        copy(source, target)
        if str(source).endswith("-wal"):
            made.append(target)
            if len(made) <= spoiled:
                log = bytearray(Path(target).read_bytes())
                log[LOG + len(made) * FRAME + 100] ^= 1
                Path(target).write_bytes(log)

    monkeypatch.setattr(shutil, "copyfile", copying)
    monkeypatch.setattr(journal, "PAUSE", 0.0)


def test_a_copy_made_while_frames_are_written_is_made_again(studies, monkeypatch):
    study = studies["killed soon"]
    copies(monkeypatch, 3)
    assert read_events(study.path) == study.events
