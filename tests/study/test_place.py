"""The file is moved, replaced, deleted or inherited by a fork under an open study."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap

import pytest

import uli_fast as uli
from tests.study.clinic import ARMS, learner, treat
from uli_fast.errors import StudyError, StudyLockedError, StudyWriteError

MOVED = "moved, replaced or deleted"


def replaced(path):
    other = path.with_name("other.db")
    treat(other, range(2))
    os.replace(other, path)


TRICKS = {
    "renamed": lambda path: path.rename(path.with_name("away.db")),
    "deleted": lambda path: path.unlink(),
    "replaced": replaced,
    "folder renamed": lambda path: path.parent.rename(path.parent.with_name("away")),
    "log deleted": lambda path: path.with_name("trial.db-wal").unlink(),
    "lock deleted": lambda path: path.with_name("trial.db-lock").unlink(),
    "log replaced": lambda path: os.replace(path.with_name("x"), path.with_name("trial.db-wal")),
}


@pytest.mark.parametrize("trick", TRICKS)
def test_nothing_is_acknowledged_where_the_name_does_not_lead(trick, folder):
    (folder / "in").mkdir()
    path = folder / "in" / "trial.db"
    path.with_name("x").write_bytes(b"")
    study = uli.Study.open(path, learner(), ARMS)
    first = study.ask("first")
    TRICKS[trick](path)
    for _ in range(2):
        with pytest.raises(StudyWriteError, match=MOVED):
            study.ask("second")
        with pytest.raises(StudyWriteError, match=MOVED):
            study.tell(first.id, 1.0)
        with pytest.raises(StudyWriteError, match=MOVED):
            study.tell_missing(first.id, "x")
    assert [r.request_id for r in study.history()] == ["first"]
    with pytest.raises(StudyWriteError, match=MOVED):
        study.close()
    study.close()
    if "lo" in trick:  # what the deleted log held was written back
        with uli.Study.open(path) as again:
            assert again.ask("first") == first


def test_a_log_of_another_study_is_left_alone(folder, path):
    """Replaced, and driven by another process: closing the first must not take its log away."""
    study = uli.Study.open(path, learner(), ARMS)
    study.ask("first")
    path.rename(folder / "away.db")
    for suffix in ("-wal", "-lock"):
        path.with_name(f"trial.db{suffix}").rename(folder / f"away.db{suffix}")
    drive = f"""
        import os, uli_fast as uli
        from tests.study.clinic import ARMS, learner
        study = uli.Study.open({str(path)!r}, learner(), ARMS)
        study.ask("theirs")
        os._exit(0)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(drive)], check=True)
    with pytest.raises(StudyWriteError, match=MOVED):
        study.close()
    with uli.Study.open(path) as theirs:
        assert [r.request_id for r in theirs.history()] == ["theirs"]
    with uli.Study.open(folder / "away.db") as ours:
        assert [r.request_id for r in ours.history()] == ["first"]


def tried(path):
    """Open a study in another process; return what that said."""
    code = "import sys, uli_fast as uli; uli.Study.open(sys.argv[1]).ask('theirs')"
    command = [sys.executable, "-c", code, str(path)]
    return subprocess.run(command, capture_output=True, text=True).stderr


def test_a_copy_made_by_the_driving_process_lets_nobody_in(folder, path):
    """Closing any handle of the file drops SQLite's lock on it; ours stays."""
    with uli.Study.open(path, learner(), ARMS) as study:
        study.ask("first")
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{path}{suffix}", folder / f"copy.db{suffix}")
        assert "StudyLockedError" in tried(path)
        study.ask("second")
    assert tried(path) == ""
    with uli.Study.open(path) as study:
        assert [r.request_id for r in study.history()] == ["first", "second", "theirs"]
    with uli.Study.open(folder / "copy.db") as study:
        assert [r.request_id for r in study.history()] == ["first"]


def test_other_programs_that_know_sqlite_are_kept_out(path):
    code = "import sqlite3, sys; sqlite3.connect(sys.argv[1], 0).execute('SELECT * FROM event')"
    with uli.Study.open(path, learner(), ARMS) as study:
        study.ask("first")
        command = [sys.executable, "-c", code, str(path)]
        found = subprocess.run(command, capture_output=True, text=True)
        assert "database is locked" in found.stderr
        study.ask("second")


def test_a_log_that_grows_by_itself_is_noticed(path):
    with uli.Study.open(path, learner(), ARMS) as study:
        study.ask("first")
        with path.with_name("trial.db-wal").open("ab") as log:
            log.write(b"x")
        with pytest.raises(StudyWriteError, match="somebody else"):
            study.ask("second")


def test_a_study_that_is_dropped_lets_go_of_its_file(folder, path):
    study = uli.Study.open(path, learner(), ARMS)
    with pytest.raises(StudyLockedError):
        uli.Study.open(path)
    study.ask("first")
    del study  # at once, not when garbage is collected
    with uli.Study.open(path) as study:
        assert [r.request_id for r in study.history()] == ["first"]
    assert [p.name for p in folder.iterdir()] == ["trial.db"]


def test_the_working_folder_may_change(folder, monkeypatch):
    monkeypatch.chdir(folder)
    with uli.Study.open("trial.db", learner(), ARMS) as study:
        os.chdir("/")
        study.ask("first")


def test_a_link_leads_to_the_log_too(folder, path):
    link = folder / "link.db"
    link.symlink_to(path)
    with uli.Study.open(link, learner(), ARMS) as study:
        study.ask("first")
        code = f"import uli_fast as uli; print(len(uli.Study.read({str(link)!r}).history()))"
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        assert found.stdout == b"1\n"


def test_a_second_name_is_refused_since_the_log_belongs_to_the_first(folder, path):
    """Under it the last events would be missing, and decisions made without them."""
    other, study = folder / "other.db", uli.Study.open(path, learner(), ARMS)
    study.ask("first")
    killed = folder / "killed.db"
    for suffix in ("", "-wal"):
        shutil.copyfile(f"{path}{suffix}", f"{killed}{suffix}")
    study.close()
    os.link(killed, other)
    before = sorted((p.name, p.read_bytes()) for p in folder.iterdir())
    for name in (other, killed):
        for look in (uli.Study.open, uli.Study.read, uli.Study.audit):
            with pytest.raises(StudyError, match=r"has 2 names \(hard links\)"):
                look(name)
        with pytest.raises(StudyError, match="hard links"):
            uli.Study.open(name, learner(), ARMS)
    assert sorted((p.name, p.read_bytes()) for p in folder.iterdir()) == before
    other.unlink()
    with uli.Study.open(killed) as again:
        assert [r.request_id for r in again.history()] == ["first"]


def test_a_link_made_under_an_open_study_lets_nobody_in_and_stops_nobody(folder, path):
    with uli.Study.open(path, learner(), ARMS) as study:
        study.ask("first")
        os.link(path, folder / "other.db")
        with pytest.raises(StudyError, match="hard links"):
            uli.Study.open(folder / "other.db")
        assert "hard links" in tried(folder / "other.db")
        study.ask("second")
    (folder / "other.db").unlink()
    assert [r.request_id for r in uli.Study.read(path).history()] == ["first", "second"]


FORKS = """
import gc, os, signal, sys
import uli_fast as uli
from tests.study.clinic import ARMS, learner
path, how = sys.argv[1:]
study = uli.Study.open(path, learner(), ARMS)
for i in range(3):
    study.tell(study.ask(f"p{i}").id, 1.0)
pid = os.fork()
if pid == 0:
    said = []
    for what in (study.ask, study.history, lambda: uli.Study.open(path)):
        try:
            what()
        except uli.errors.StudyError as problem:
            said.append(type(problem).__name__)
    assert said == ["StudyError", "StudyError", "StudyLockedError"], said
    assert len(uli.Study.read(path).history()) == 3  # looking is allowed
    if how == "closes":
        study.close()
    elif how == "forgets":
        study._journal = None
        del study
        gc.collect()
    sys.exit(0)
assert os.waitpid(pid, 0)[1] == 0
for i in range(3, 6):
    study.tell(study.ask(f"p{i}").id, 1.0)
print("acknowledged", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("how", ["exits", "closes", "forgets"])
def test_a_forked_child_harms_nothing(how, path):
    ended = subprocess.run(
        [sys.executable, "-c", FORKS, str(path), how], capture_output=True, text=True
    )
    assert ended.stdout == "acknowledged\n", ended.stderr
    assert ended.returncode == -signal.SIGKILL
    with uli.Study.open(path) as study:
        history = study.history()
    assert [(r.request_id, r.reward) for r in history] == [(f"p{i}", 1.0) for i in range(6)]


ORPHANS = """
import os, signal, sys, time
import uli_fast as uli
from tests.study.clinic import ARMS, learner
study = uli.Study.open(sys.argv[1], learner(), ARMS)
study.ask("first")
if os.fork() == 0:
    print(os.getpid(), flush=True)
    time.sleep(600)
signal.pause()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_the_lock_ends_with_the_process_that_opened_whatever_it_forked(path):
    command = [sys.executable, "-c", ORPHANS, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        try:
            parent.kill()
            parent.wait()
            os.kill(child, 0)  # it lives on
            with uli.Study.open(path) as study:
                assert [r.request_id for r in study.history()] == ["first"]
        finally:
            os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_a_pipe_in_place_of_a_file_is_never_opened(path, suffix):
    treat(path, range(2))
    other = path.with_name(f"{path.name}{suffix}")
    other.unlink(missing_ok=True)
    os.mkfifo(other)
    for look in (uli.Study.read, uli.Study.audit, uli.Study.open):
        with pytest.raises(uli.errors.UliError):
            look(path)
