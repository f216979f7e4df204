"""Workers that drive one study in a database side by side, until they are killed.

``Crew`` is one Python process with everything imported; every worker is a fork of it.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback

from tests.study.clinic import ARMS, learner, outcome
from tests.support.patience import PATIENCE


def patiently(call):
    """Make a call again until the database is there; nothing else is to go wrong."""
    from uli_fast.errors import StudyUnavailableError

    until = time.monotonic() + PATIENCE
    while True:
        try:
            return call()
        except StudyUnavailableError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


def told(result):
    return (None, "did not come back") if result is None else (result,)


def drive(url, name, patients, seed, say=lambda *what: None, size=1):
    """Ask and tell of all patients, in an order of one's own; others do the same.

    Of every third group the outcomes are told one by one, else at once.
    """
    import uli_fast as uli

    rng, order = random.Random(seed), list(patients)
    rng.shuffle(order)
    with patiently(lambda: uli.Study.open(url, learner(), ARMS, name=name)) as study:
        for k in range(0, len(order), size):
            some = order[k : k + size]
            keys, about = [f"patient-{i}" for i in some], [{"number": i} for i in some]
            made = patiently(lambda keys=keys, about=about: study.ask_many(keys, about))
            say("ask", [(i, d.id, d.arm) for i, d in zip(some, made, strict=True)])
            rows = [(d.id, *told(outcome(i, d.arm))) for i, d in zip(some, made, strict=True)]
            if size > 1 and k // size % 3 == 0:
                patiently(lambda rows=rows: study.tell_many(rows))
            else:
                for id, *what in rows:
                    tell = study.tell if what[0] is not None else study.tell_missing
                    patiently(lambda tell=tell, id=id, what=what: tell(id, what[-1]))
            say("tell", [(id, what[0]) for id, *what in rows])


def run(job):
    log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.environ["ULI_FAULT"] = job.pop("fault", "")

    def say(*what):
        os.write(log, (json.dumps(what) + "\n").encode())

    job.pop("log")
    drive(**job | {"patients": range(*job["patients"])}, say=say)


def main():
    """Fork for every job that comes in; say its process id, or how one ended."""
    from tests.study.clinic import treat_many

    treat_many(sys.argv[1], range(20), 4)  # loads and compiles everything
    import psycopg  # noqa: F401

    print("ready", flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        if isinstance(job, int):
            _, status = os.waitpid(job, 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
            continue
        pid = os.fork()
        if pid == 0:
            code = 1
            signal.alarm(int(PATIENCE))  # none outlives its test for long
            try:
                run(job)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        print(pid, flush=True)


class Crew:
    """Workers side by side."""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.study.crew", str(folder / "warm.db")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.workers = set()
        assert self.process.stdout.readline() == "ready\n"

    def _said(self, what):
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def start(self, **job):
        """Begin a job and return its process id."""
        pid = self._said(job)
        self.workers.add(pid)
        return pid

    def wait(self, pid):
        """Return how a job ended: its exit code, or minus the signal."""
        self.workers.remove(pid)
        return self._said(pid)

    def kill(self, pid):
        os.kill(pid, signal.SIGKILL)
        return self.wait(pid)

    def stop(self):
        """End the jobs that a failed test has left."""
        for pid in list(self.workers):
            self.kill(pid)

    def close(self):
        self.stop()
        self.process.stdin.close()
        self.process.wait(timeout=PATIENCE)
        self.process.stdout.close()


if __name__ == "__main__":
    main()
