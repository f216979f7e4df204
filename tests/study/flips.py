"""Single flipped bits in what killed studies leave: ``python -m tests.study.flips 1000``.

A study whose process was ended by SIGKILL has a file and a log. With one bit of either flipped it
is refused and left as it is, or all of it is there but, if the bit is in the log, the very last
event: a crash could have torn that as well. It never is a new study. What is older than a
snapshot is refused once it is looked at.
"""

import os
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import uli_fast as uli
from tests.study.clinic import ARMS, Clinic, learner, treat
from uli_fast.errors import StudyError
from uli_fast.study import snapshots
from uli_fast.study.journal import read_events

MEMORY = Path("/dev/shm")
SUFFIXES = ("", "-wal")
PAGE, HEAD, LOG = 4096, 24, 32  # of a page, of the head of a frame, of the log's header


class Killed(NamedTuple):
    """What a killed study has left, and its events."""

    path: Path
    events: list


def killed(clinic, path, first, lines, **more):
    """Drive a study that is killed after so many acknowledged calls, between two writes.

    A kill within a write would leave part of another transaction behind the last event's.
    """
    job = {"do": "treat", "path": str(path), "log": f"{path}.said", "patients": 10**6}
    clinic.start(**job, first=first, killed_after=lines, **more)
    assert clinic.wait() == -signal.SIGKILL
    found = Killed(path, read_events(path))
    assert len(found.events) > lines and os.path.getsize(f"{path}-wal") > LOG
    return found


def killed_studies(clinic, folder):
    """Return studies killed early, late, and after their log was begun anew."""
    treat(folder / "again.db", range(30))
    kept, snapshots.BEHIND = snapshots.BEHIND, 20
    treat(folder / "snapshots.db", range(100))
    snapshots.BEHIND = kept
    return {
        "killed soon": killed(clinic, folder / "early.db", 0, 40),
        "closed once, then killed": killed(clinic, folder / "again.db", 30, 40),
        "killed after the log was begun anew": killed(clinic, folder / "late.db", 0, 650),
        "with snapshots": killed(clinic, folder / "snapshots.db", 100, 60, behind=20),
    }


def some_bit(rng, study):
    """Choose a bit: of the file or the log, of heads as often as of what they are heads of."""
    suffix = rng.choice(SUFFIXES)
    size = os.path.getsize(f"{study.path}{suffix}")
    pages = range(0, size, PAGE) if not suffix else range(LOG, size, HEAD + PAGE)
    where = rng.random()
    if where < 0.1:
        byte = rng.randrange(LOG if suffix else 100)
    elif where < 0.5:
        byte = rng.choice(pages) + rng.randrange(HEAD + 12 if suffix else 12)
    else:
        byte = rng.randrange(size)
    return suffix, min(byte, size - 1), rng.randrange(8)


def flipped(study, copy, suffix, byte, bit):
    """Copy what is left of a study, with a bit flipped."""
    for x in SUFFIXES:
        shutil.copyfile(f"{study.path}{x}", f"{copy}{x}")
    with open(f"{copy}{suffix}", "r+b") as file:
        file.seek(byte)
        old = file.read(1)[0]
        file.seek(byte)
        file.write(bytes([old ^ 1 << bit]))


def judged(copy, events, least):
    """Say what came of it: refused, at once or later, all there, or all but the last event."""
    before = {x: Path(f"{copy}{x}").read_bytes() for x in SUFFIXES}
    try:
        seen = read_events(copy)
    except StudyError:
        seen = None
    try:
        study = uli.Study.open(copy, learner(), ARMS)  # a program that would begin one
    except StudyError:
        assert before == {x: Path(f"{copy}{x}").read_bytes() for x in SUFFIXES}
        assert seen is None
        return "refused"
    with study:
        try:
            found = list(study._journal.events())
        except StudyError:
            assert seen is None and study._saved is not None
            return refused_later(study, events)
        assert found == events[: len(found)] and len(found) >= least
        assert seen == found
        study.ask("one more")
    with uli.Study.open(copy) as study:
        again = list(study._journal.events())
        assert again[:-1] == found and again[-1].request == "one more"
    return "all there" if found == events else "all but the last"


def refused_later(study, events):
    """Look at all that was recorded, before a snapshot: as it was, or refused; new ones follow."""
    last = study._replay.last
    assert last == events[last.sequence - 1] and last.sequence >= len(events) - 1
    for event in events[1 : last.sequence]:
        try:
            if event.kind == "ask":
                found = study.ask(event.request)
                assert found[:2] == (event.decision, event.content["arm"])
            elif event.kind == "tell":
                study.tell(event.decision, event.content["reward"])
            else:
                study.tell_missing(event.decision, event.content["reason"])
        except StudyError:
            continue
    assert study._replay.last == last  # nothing of it was new
    assert study.ask("one more").id == len(study._replay.player.queue)
    return "refused later"


def tried(studies, folder, flips, seed):
    """Flip so many bits, one at a time; return what came of them."""
    rng, found, copy = random.Random(seed), Counter(), Path(folder) / "copy.db"
    for i in range(flips):
        study = list(studies.values())[i % len(studies)]
        suffix, byte, bit = some_bit(rng, study)
        flipped(study, copy, suffix, byte, bit)
        least = len(study.events) - (suffix == "-wal")
        try:
            outcome = judged(copy, study.events, least)
        except Exception as problem:
            problem.add_note(f"bit {bit} of byte {byte} of {study.path.name}{suffix}")
            raise
        found[outcome, "log" if suffix else "file"] += 1
        for x in SUFFIXES:
            Path(f"{copy}{x}").unlink(missing_ok=True)
    return found


def main(flips=1000, seed=20):
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        folder = Path(name)
        clinic = Clinic(folder)
        try:
            found = tried(killed_studies(clinic, folder), folder, flips, seed)
        finally:
            clinic.close()
    about = ", ".join(f"{n} {outcome} ({where})" for (outcome, where), n in sorted(found.items()))
    print(f"{found.total()} flips: {about}; 0 silent losses beyond the last event, 0 new studies")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
