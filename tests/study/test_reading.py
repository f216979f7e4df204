"""A study is read while another process drives it: all that was acknowledged, never a mixture."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import uli_fast as uli
from tests.study.clinic import ARMS, learner, settle
from tests.study.test_crash import lines_of, wait_for_lines
from uli_fast.cli import main
from uli_fast.study.journal import read_events


def log_of(path):
    return Path(f"{path}-wal")


def header(path):
    """Return what changes when SQLite begins its log anew."""
    with log_of(path).open("rb") as file:
        return file.read(32)


@pytest.mark.parametrize("job", [{}, {"pause": 0.005}], ids=["no pause", "5 ms"])
def test_every_read_of_a_driven_study_is_a_prefix(clinic, folder, path, job):
    log, found, headers = folder / "log", [], set()
    clinic.start(do="treat", path=str(path), log=str(log), patients=10**9, **job)
    wait_for_lines(clinic, log, 20)
    while len(found) < 5 or (not job and len(headers) < 4):  # the log is begun anew meanwhile
        acknowledged = lines_of(log)
        found.append(read_events(path))
        assert len(found[-1]) > acknowledged  # the first says what the study is
        headers.add(header(path))
    assert len(uli.Study.read(path).history()) >= len(found[-1]) // 2
    done = CliRunner().invoke(main, ["study", "show", str(path)])
    assert done.exit_code == 0, done.output
    assert clinic.alive()
    clinic.stop()
    events = read_events(path)
    assert all(some == events[: len(some)] for some in found)


@pytest.fixture(scope="module")
def moments(tmp_path_factory):
    """A study's file and log after every event, and its events.

    The last moment before the first checkpoint, the first after it, the first with a log begun
    anew, the last before the second checkpoint, and the first after it.
    """
    path = tmp_path_factory.mktemp("moments") / "trial.db"
    runs = []  # of moments with the same file and the same header of the log

    def look():
        now = path.read_bytes(), log_of(path).read_bytes()
        if not runs or (now[0], now[1][:32]) != (runs[-1][0][0], runs[-1][0][1][:32]):
            runs.append([now, now])
        runs[-1][1] = now

    with uli.Study.open(path, learner(), ARMS) as study:
        while len(runs) < 4:
            decision = study.ask()
            look()
            settle(study, decision.id, decision)
            look()
        events = list(study._journal.events())
    (_, before), (after, _), (anew, last), (end, _) = runs[:4]
    return (before, after, anew, last, end), events


def put(path, file, log):
    path.write_bytes(file)
    log_of(path).write_bytes(log)


def reading(path, monkeypatch, first, then):
    """Read, with other files there once one has been copied; return the tries, too."""
    copy, copied = shutil.copyfile, []

    def changing(source, target):
        copy(source, target)
        copied.append(str(source))
        if len(copied) == 1:
            put(path, *then)

    put(path, *first)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", changing)
        return read_events(path), len(copied) // 2


def test_a_checkpoint_meanwhile_does_no_harm(path, moments, monkeypatch):
    """What it writes to the file is in the log, which is copied later."""
    (before, after, anew, _, end), events = moments
    half = len(after[0]) // 8192 * 4096 + 1000  # within a page
    torn = after[0][:half] + before[0][half:].ljust(len(after[0]) - half, b"\0")
    firsts = [(file, before[1]) for file in (before[0], after[0], torn)]
    for first, then in [*((first, after) for first in firsts), (anew, end)]:
        found, tries = reading(path, monkeypatch, first, then)
        assert found == events[: len(found)] and len(found) > 300 and tries == 1


def test_a_log_begun_anew_meanwhile_is_read_once_more(path, moments, monkeypatch):
    """Else the file would be from before the checkpoint, and the log from after it."""
    (before, _, anew, last, end), events = moments
    for then in (anew, last, end):
        found, tries = reading(path, monkeypatch, before, then)
        assert found == events[: len(found)] and tries == 2
        put(path, *then)
        assert found == read_events(path)
