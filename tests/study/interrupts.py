"""Ctrl-C inside ask, tell, open and close: ``python -m tests.study.interrupts 13500 3000``.

The first number is of interrupts while the study is in a file, the second while it is in a
database.

Most interrupts are put at a place chosen by the seed, one where Python looks for signals; every
fifth comes from a timer, at whatever moment. After each the program goes on as if nothing had
been: it makes the same call again, every other time while it still handles the interrupt. What
was acknowledged must be there, and no call may fail.
"""

import contextlib
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import uli_fast as uli
from tests.study.places import Database, File
from tests.support import postgres
from uli_fast.study import snapshots

MEMORY = Path("/dev/shm")
CALLS = 60  # of a study, before another one is begun
LEARNERS = (
    (uli.SuccessiveElimination(0.1), {"arms": ["a", "b", "c"]}),
    (uli.PhasedElimination(0.3), {"arms": 2}),
    (uli.Exp3P(0.1), {"arms": 3, "seed": 7, "horizon": 10**6}),
    (uli.UCB(0.1), {"arms": 3}),
)


class Interrupt:
    """Raises KeyboardInterrupt at the n-th place where Python looks for signals, or counts them.

    These are the beginning of a function and the return from one that is not written in Python.
    """

    def __init__(self, n=0):
        self.n, self.count = n, 0

    def __enter__(self):
        self.before = sys.getprofile()
        sys.setprofile(self.step)

    def __exit__(self, *_):
        sys.setprofile(self.before)

    def step(self, frame, event, arg):
        if event in ("call", "c_return"):
            self.count += 1
            if self.count == self.n:
                raise KeyboardInterrupt


class Timer:
    """Raises KeyboardInterrupt after so many seconds, wherever that is."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __enter__(self):
        self.before = signal.signal(signal.SIGALRM, self.fire)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def __exit__(self, *_):
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, self.before)

    def fire(self, *_):
        raise KeyboardInterrupt


class Program:
    """Drives studies in files, is interrupted, and does again what was."""

    def __init__(self, folder, seed):
        self.folder, self.rng = Path(folder), random.Random(seed)
        self.steps, self.seconds = {}, {}  # of each kind of call, how long the last one took
        self.found = Counter()  # interrupts, by the call they came in
        self.number = 0

    def run(self, interrupts):
        """Go on until so many calls have been interrupted."""
        while self.found.total() < interrupts:
            self.number += 1
            self.one_study(interrupts)
        return self.found

    def one_study(self, interrupts):
        self.place = self.new_place()
        self.learner, self.start = LEARNERS[self.number % len(LEARNERS)]
        self.asked, self.told, self.waiting = {}, {}, []
        snapshots.BEHIND = self.rng.choice([5, 1000])  # how long ago the player was saved
        study = self.call("begin", self.open)
        for i in range(CALLS):
            if self.found.total() >= interrupts:
                break
            if self.rng.random() < 0.15:
                study = self.reopened(study)
            many = self.rng.randrange(2, 6) if self.rng.random() < 0.25 else 0
            if self.waiting and self.rng.random() < 0.5:
                self.tell_many(study, many) if many else self.tell(study)
            elif many:
                self.ask_many(study, [f"p{i}-{j}" for j in range(many)])
            else:
                self.ask(study, f"p{i}")
            self.check(study)
            assert sys.exc_info() == (None, None, None)  # it has left nothing behind
        study.close()
        with self.place.open() as study:  # every hash checked, every decision made anew
            self.check(study)
        assert len(self.place.audit().history) == len(self.asked)
        self.clear()

    def new_place(self):
        return File(self.folder / f"{self.number}.db")

    def clear(self):
        self.place.where.unlink()

    def reopened(self, study):
        """Close and open; every other time what a kill would have left."""
        if self.rng.random() < 0.5:
            self.kill(study)
        else:
            self.call("close", study.close)
        return self.call("open", self.open)

    def kill(self, study):
        """Go on with copies of the file and its log, made while it was open."""
        left = self.place.where
        self.place = File(left.with_name(f"killed-{left.name}"))
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{left}{suffix}", f"{self.place.where}{suffix}")
        self.call("close", study.close)
        left.unlink()

    def open(self):
        return self.place.open(self.learner, **self.start)

    def ask(self, study, request):
        decision = self.call("ask", lambda: study.ask(request, ward=1))
        assert request not in self.asked and decision.id == len(self.asked) + 1
        self.asked[request] = decision
        self.waiting.append(decision)

    def tell(self, study):
        decision = self.waiting.pop(self.rng.randrange(len(self.waiting)))
        reward = self.rng.choice([0.0, 1.0, None])
        if reward is None:
            self.call("tell_missing", lambda: study.tell_missing(decision.id, "gone"))
        else:
            self.call("tell", lambda: study.tell(decision.id, reward))
        self.told[decision.id] = reward

    def ask_many(self, study, requests):
        made = self.call("ask_many", lambda: study.ask_many(requests, ward=1))
        first = len(self.asked) + 1
        assert [d.id for d in made] == list(range(first, first + len(made)))
        self.asked |= zip(requests, made, strict=True)
        self.waiting += made

    def tell_many(self, study, many):
        told = {}
        for _ in range(min(many, len(self.waiting))):
            decision = self.waiting.pop(self.rng.randrange(len(self.waiting)))
            told[decision.id] = self.rng.choice([0.0, 1.0, None])
        rows = [(id, None, "gone") if x is None else (id, x) for id, x in told.items()]
        self.call("tell_many", lambda: study.tell_many(rows))
        self.told |= told

    def check(self, study):
        """All that was acknowledged is there, and nothing else: every call was done in the end."""
        history = study.history()
        assert [(r.request_id, r.id, r.arm) for r in history] == [
            (request, d.id, d.arm) for request, d in self.asked.items()
        ]
        for r in history:
            known = ("pending", None)
            if r.id in self.told:
                reward = self.told[r.id]
                known = ("missing" if reward is None else "reward", reward)
            assert (r.status, r.reward) == known

    def call(self, kind, function):
        """Call, interrupted once; then call again, and return what that gives."""
        interrupt, begun, done = self.interruption(kind), time.perf_counter(), []
        try:
            with interrupt:
                done.append(function())
            if isinstance(interrupt, Interrupt):
                self.steps[kind] = interrupt.count  # it was shorter than thought
            else:
                self.seconds[kind] = time.perf_counter() - begun
        except KeyboardInterrupt:
            if not done:  # else the timer was too late
                self.found[kind] += 1
                if self.rng.random() < 0.5:
                    return function()  # while the interrupt, and all it holds, is still there
        return done[0] if done else function()

    def interruption(self, kind):
        """Return one that is to come at a moment of the next call of its kind."""
        if kind in self.seconds and self.rng.random() < 0.2:
            return Timer(self.rng.uniform(1e-6, self.seconds[kind]))
        if kind in self.steps:
            return Interrupt(self.rng.randrange(1, self.steps[kind] * 11 // 10 + 2))
        if self.rng.random() < 0.5:
            return Timer(60.0)  # only to see how long it takes
        return Interrupt()  # or how many places there are


class OnDatabase(Program):
    """Drives studies in a database."""

    def __init__(self, url, seed):
        super().__init__("", seed)
        self.url = url

    def new_place(self):
        return Database(self.url)

    def clear(self):
        pass

    def kill(self, study):
        """End the connection, as the operating system would."""
        study._journal._connection.close()


@contextlib.contextmanager
def forgiving():
    """Put things back; an interrupt while a dropped object is cleaned up, Python only prints."""
    behind, hook = snapshots.BEHIND, sys.unraisablehook
    sys.unraisablehook = lambda unraisable: None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # of what was dropped
            yield
    finally:
        snapshots.BEHIND, sys.unraisablehook = behind, hook


def interrupted(count, seed):
    """Return how many interrupts came in which call; an AssertionError if anything was lost."""
    where = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=where) as folder, forgiving():
        return Program(folder, seed).run(count)


def interrupted_on_database(count, seed, url):
    """The same, with studies in a database."""
    with forgiving():
        return OnDatabase(url, seed).run(count)


def main(files, databases=0, seed=19):
    """Interrupt so many calls, and say which."""
    found = interrupted(files, seed)
    others = Counter()
    if databases:
        with contextlib.closing(postgres.new_server()) as server:
            others = interrupted_on_database(databases, seed, server.url)
    every = found + others
    about = ", ".join(f"{n} in {kind}" for kind, n in sorted(every.items()))
    print(
        f"{every.total()} interrupts ({about}), {others.total()} of them in a database: no study "
        "stuck, nothing acknowledged lost"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:] or ["13500"]))
