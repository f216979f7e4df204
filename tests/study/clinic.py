"""A clinic that drives a study until it is killed, in processes that start at once.

``Clinic`` is one Python process with everything imported; every job is a fork of it.
"""

import itertools
import json
import os
import select
import signal
import subprocess
import sys
import time
import traceback
import zlib

from tests.support.patience import PATIENCE

ARMS = ["a", "b", "c"]


def outcome(i, arm):
    """Return what patient i has under an arm: a number, None where it is missing."""
    x = zlib.crc32(f"{i}-{arm}".encode())
    return None if x % 11 == 0 else float(x % 100 < {"a": 70, "b": 50, "c": 30}[arm])


def learner():
    import uli_fast as uli

    return uli.SuccessiveElimination(0.1)


def settle(study, i, decision):
    result = outcome(i, decision.arm)
    if result is None:
        study.tell_missing(decision.id, "did not come back")
    else:
        study.tell(decision.id, result)


def treat(path, patients, say=lambda *what: None):
    """Ask for every patient and tell, two patients late; what is acknowledged is said."""
    import uli_fast as uli

    with uli.Study.open(path, learner(), ARMS) as study:
        waiting = []
        for i in patients:
            decision = study.ask(f"patient-{i}", number=i)
            say("ask", i, decision.id, decision.arm)
            waiting.append((i, decision))
            while len(waiting) > 2:
                j, earlier = waiting.pop(0)
                settle(study, j, earlier)
                say("tell", j, earlier.id, outcome(j, earlier.arm))
        for j, earlier in waiting:
            settle(study, j, earlier)
            say("tell", j, earlier.id, outcome(j, earlier.arm))


def treat_many(path, patients, size, say=lambda *what: None):
    """Ask for some patients at once, and tell of them at once while the next ones are treated."""
    import uli_fast as uli

    patients = list(patients)
    with uli.Study.open(path, learner(), ARMS) as study:
        waiting = []
        for k in range(0, len(patients), size):
            some = patients[k : k + size]
            about = [{"number": i} for i in some]
            made = study.ask_many([f"patient-{i}" for i in some], about)
            say("ask", [(i, d.id, d.arm) for i, d in zip(some, made, strict=True)])
            tell_many(study, waiting, say)
            waiting = list(zip(some, made, strict=True))
        tell_many(study, waiting, say)


def tell_many(study, waiting, say):
    told = [(d.id, outcome(i, d.arm)) for i, d in waiting]
    study.tell_many([(id, None, "did not come back") if x is None else (id, x) for id, x in told])
    if told:
        say("tell", told)


def run(job):
    log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    said = itertools.count(1)

    def say(*what):
        os.write(log, (json.dumps(what) + "\n").encode())
        if next(said) == job.get("killed_after"):
            os.kill(os.getpid(), signal.SIGKILL)
        if "pause" in job:
            time.sleep(job["pause"])

    os.environ["ULI_FAULT"] = job.get("fault", "")
    if "behind" in job:
        from uli_fast.study import snapshots

        snapshots.BEHIND = job["behind"]  # events between two of them
    if job["do"] == "treat":
        treat(job["path"], range(job.get("first", 0), job["patients"]), say)
    elif job["do"] == "many":
        treat_many(job["path"], range(job.get("first", 0), job["patients"]), job["size"], say)
    elif job["do"] == "race":
        from tests.study.racing import race

        race(job["path"], say, job.get("kill"), job.get("n_jobs", 1))
    elif job["do"] == "blocks":
        from tests.study.test_crash import in_blocks

        in_blocks(job["path"], say)
    elif job["do"] == "hold":
        import uli_fast as uli

        study = uli.Study.open(job["path"], learner(), ARMS)
        say("held", len(study.history()))
        signal.pause()
    elif job["do"] == "unprivileged":
        import uli_fast as uli

        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        for what in (uli.Study.open, uli.Study.read):
            try:
                with what(job["path"]) as study:
                    say(what.__name__, len(study.history()))
            except uli.errors.UliError as problem:
                say(type(problem).__name__, str(problem))


def main():
    """Fork for every job that comes in; say its process id, and how it ended."""
    import uli_fast as uli

    with uli.Study.open(sys.argv[1], learner(), ARMS) as study:  # loads and compiles everything
        study.tell(study.ask("warm").id, 0.5)
        study.tell_missing(study.ask().id, "x")
        study.tell_many([(d.id, 1.0) for d in study.ask_many(3)])
    with uli.Study.read(sys.argv[1]):
        pass
    print("ready", flush=True)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            code = 1
            signal.alarm(int(PATIENCE))  # none outlives its test for long
            try:
                run(json.loads(line))
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


class Clinic:
    """One job at a time."""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.study.clinic", str(folder / "warm.db")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.job = None
        assert self.process.stdout.readline() == "ready\n"

    def start(self, **job):
        """Begin a job and return its process id."""
        self.stop()
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        self.job = int(self.process.stdout.readline())
        return self.job

    def alive(self):
        """Return whether the job has not ended yet: how it did would be there to read."""
        return not select.select([self.process.stdout], [], [], 0)[0]

    def wait(self):
        """Return how the job ended: its exit code, or minus the signal."""
        code = int(self.process.stdout.readline())
        self.job = None
        return code

    def stop(self):
        """End a job that a failed test has left."""
        if self.job is not None:
            if self.alive():
                os.kill(self.job, signal.SIGKILL)
            self.wait()

    def close(self):
        self.stop()
        self.process.stdin.close()
        self.process.wait(timeout=PATIENCE)
        self.process.stdout.close()


if __name__ == "__main__":
    main()
