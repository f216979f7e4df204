"""Kills at every system call of a study's life: ``python -m tests.study.syscalls``.

A child begins a study, or goes on with one, or with one that was killed before: it opens it, asks
and tells one by one and in batches, with snapshots and checkpoints of the log in between, and
closes it. strace follows it and ends it with SIGKILL as it enters a system call, every one of its
life in turn. After each kill the study opens at once, all that was acknowledged is there, nothing
else that lies in the folder was touched, and the same job done again comes to the same end.

Where there is no strace, or no process may be traced, nothing is tried and that is an error.
"""

import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import uli_fast as uli
from tests.study.clinic import ARMS, learner, outcome, treat, treat_many
from uli_fast.study import journal, snapshots
from uli_fast.study.journal import read_events, read_journal

MEMORY = Path("/dev/shm")
SET_PTRACER, ANY = 0x59616D61, ctypes.c_ulong(-1)  # of prctl: who may trace, where few may
BATCH = 4  # patients of one call
BYSTANDERS = {"thesis.txt": b"years of work", "trial.db.backup": b"last week's", "other.db": b"x"}


def work(path, say=lambda *what: None):
    """Go on with a study: patients one by one, then in batches; what is acknowledged is said."""
    treat(path, range(6), say)
    treat_many(path, range(6, 6 + 2 * BATCH), BATCH, say)


def nothing(path):
    """Leave no study: one is begun."""


def closed(path):
    """Leave a study that was closed."""
    treat(path, range(4))


def killed(path):
    """Leave a study as a kill does, with a log that holds its last events."""
    treat(path, range(3))
    with uli.Study.open(path) as study:
        study.ask("patient-3", number=3)
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{path}{suffix}", f"{path}.left{suffix}")
    for suffix in ("", "-wal"):
        os.replace(f"{path}.left{suffix}", f"{path}{suffix}")


BEFORE = {"begun": nothing, "closed before": closed, "killed before": killed}


class Place:
    """A folder with a study and what is none of its business."""

    def __init__(self, folder, before):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.folder, self.path = folder, folder / "trial.db"
        for name, content in BYSTANDERS.items():
            (folder / name).write_bytes(content)
        before(self.path)
        self.events = len(read_events(self.path)) if self.path.exists() else 0

    def essence(self):
        """Return what must not depend on kills: everything but the times."""
        with uli.Study.read(self.path) as study:
            history = study.history()
            return [r._replace(asked=None, told=None) for r in history], study.counts()

    def check(self, said, undisturbed):
        """Fail unless nothing acknowledged is lost, nothing else is gone, and it goes on."""
        seen = read_events(self.path) if self.path.exists() else []
        with uli.Study.open(self.path, learner(), ARMS) as study:
            history = study.history()
            asked, told = acknowledged(said)
            events = list(study._journal.events())
            assert seen == events or (not seen and len(events) == 1)  # it is begun now
            given = {id for id, _ in asked.values()}
            heard = {"ask": given, "tell": told, "missing": told, "create": {None}}
            extra = [e for e in events[self.events :] if e.decision not in heard[e.kind]]
            assert len(extra) in (0, 1, BATCH), extra  # of one call, and of that all or none
            assert [r.id for r in history] == list(range(1, len(history) + 1))
            for i, (id, arm) in asked.items():
                record = history[id - 1]
                assert (record.request_id, record.arm) == (f"patient-{i}", arm), record
            for id, result in told.items():
                status = ("missing", None) if result is None else ("reward", result)
                assert (history[id - 1].status, history[id - 1].reward) == status
            for record in history:
                i = int(record.request_id.split("-")[1])
                assert record.status == "pending" or record.reward == outcome(i, record.arm)
        work(self.path)
        assert self.essence() == undisturbed
        assert uli.Study.audit(self.path).events
        for name, content in BYSTANDERS.items():
            assert (self.folder / name).read_bytes() == content, name
        left = {p.name for p in self.folder.iterdir()} - BYSTANDERS.keys() - {"trial.db"}
        assert all(re.fullmatch(r"\.trial\.db-.{8}", name) for name in left), left


def acknowledged(said):
    """Return who was given which decision, and what was told, as far as the child could say so."""
    asked, told = {}, {}
    for kind, *what in said:
        rows = what[0] if isinstance(what[0], list) else [what]
        if kind == "ask":
            asked |= {i: (id, arm) for i, id, arm in rows}
        else:
            told |= dict(row[-2:] for row in rows)
    return asked, told


class Traced(NamedTuple):
    """How a child ended: killed or not, and what it said before."""

    killed: bool
    said: list


def traced(path, *options):
    """Do the work in a child that strace follows."""
    (go_read, go), (read, write) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        signal.alarm(300)  # none outlives its test for long
        try:
            ctypes.CDLL(None).prctl(SET_PTRACER, ANY, 0, 0, 0)
            os.close(go)
            os.read(go_read, 1)
            work(path, lambda *what: os.write(write, (json.dumps(what) + "\n").encode()))
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    for end in (go_read, write):
        os.close(end)
    try:
        strace = ["strace", "-qq", "-p", str(pid), *options]
        with subprocess.Popen(strace, stderr=subprocess.PIPE, text=True) as tracer:
            follows = _follows(pid, tracer)
            os.kill(pid, signal.SIGKILL) if not follows else os.write(go, b"x")
            with open(read, "rb", closefd=False) as pipe:
                said = [json.loads(x) for x in pipe.read().split(b"\n")[:-1]]
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            trace = tracer.stderr.read()
        if not follows:
            give_up(f"no process can be traced here: {trace.strip()}")
    finally:
        os.close(go)
        os.close(read)
    assert code in (0, -signal.SIGKILL), code
    return Traced(code != 0, said)


def give_up(reason):
    """Say that nothing was tried, and why: that is no pass."""
    print(f"0 kills: {reason}")
    sys.exit(1)


def _follows(pid, tracer):
    """Wait until a process is traced; return False if strace gives up."""
    while tracer.poll() is None:
        if "TracerPid:\t0\n" not in Path(f"/proc/{pid}/status").read_text():
            return True
        time.sleep(0.001)
    return False


def calls(path):
    """Return the system calls of the work, and how often each is made."""
    with tempfile.NamedTemporaryFile("r") as file:
        done = traced(path, "-o", file.name)
        assert not done.killed
        return Counter(re.findall(r"^(\w+)\(", file.read(), re.MULTILINE))


def main(share=1.0):
    """Kill at a share of all places, evenly; print what came of it."""
    if shutil.which("strace") is None:
        give_up("there is no strace on this machine")
    snapshots.BEHIND, journal.CHECKPOINT = 7, 12
    kills, unreached, names = Counter(), 0, set()
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        folder = Path(name) / "in"
        for kind, before in BEFORE.items():
            place = Place(folder, before)
            work(place.path)  # everything is loaded and compiled
            undisturbed, (_, kept) = place.essence(), read_journal(place.path)
            assert kept, "no snapshot was made"
            counts = calls(Place(folder, before).path)
            names |= set(counts)
            places = [(call, k) for call, n in sorted(counts.items()) for k in range(1, n + 1)]
            step = max(1, round(1 / share))
            for call, k in places[::step]:
                place = Place(folder, before)
                inject = f"inject={call}:signal=KILL:when={k}"
                done = traced(place.path, "-o", "/dev/null", "-e", f"trace={call}", "-e", inject)
                try:
                    place.check(done.said, undisturbed)
                except BaseException as problem:
                    problem.add_note(f"{kind}: killed at {call} number {k}: {done.killed}")
                    raise
                kills[kind] += done.killed
                unreached += not done.killed
    assert kills.total() > 9 * unreached, f"{kills.total()} kills, {unreached} places not reached"
    about = ", ".join(f"{n} {kind}" for kind, n in kills.items())
    print(
        f"{kills.total()} kills in {len(names)} kinds of system calls ({about}; {unreached} places "
        "not reached): 0 acknowledged and lost, 0 deleted, 0 stuck"
    )


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
