"""The web app of examples/web_trial, run by gunicorn, and clients that never give up."""

import http.client
import json
import os
import random
import re
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from queue import Empty, SimpleQueue
from urllib.parse import urlencode

from tests.study.clinic import outcome
from tests.support.patience import PATIENCE, wait_until
from tests.support.processes import Program, free_port, wait_for
from uli_fast.service.tokens import new_token

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = ROOT / "examples" / "web_trial"
LETTERS = {"usual care": "a", "old drug": "b", "new drug": "c"}
AWAY = 503


class Gunicorn:
    """Four workers of the app."""

    def __init__(self, folder, trial, **more):
        self.port, self._log = free_port(), folder / "gunicorn.log"
        self._environment = {"PYTHONPATH": str(ROOT), "TRIAL": str(trial), **more}
        self.start()

    def start(self):
        command = [sys.executable, "-m", "gunicorn", "--bind", f"127.0.0.1:{self.port}"]
        command += ["--no-control-socket", "--graceful-timeout", "10"]
        command += ["--timeout", f"{PATIENCE:.0f}", "intake:app"]  # a busy machine begins slowly
        self._program = Program(command, self._log, self._environment, EXAMPLE)
        wait_for(self.port, "/health")

    def stop(self, how=signal.SIGTERM):
        return self._program.stop(how)

    def restart(self, how):
        assert self.stop(how) == (0 if how == signal.SIGTERM else -how), self._log.read_text()
        self.start()

    def workers(self):
        return self._program.children()

    def kill_worker(self, rng):
        """Kill a worker; gunicorn starts another one."""
        workers = wait_until(self.workers, lambda: "gunicorn has no workers any more")
        os.kill(rng.choice(workers), signal.SIGKILL)

    def close(self):
        self._program.close()


class Service:
    """A study behind ``uli serve``, and a token to drive it."""

    def __init__(self, folder, place):
        self.port, self._log = free_port(), folder / "service.log"
        self.token = new_token(folder / "tokens", "app", "drive")
        words = ["serve", place.where, "--port", self.port, "--token-file", folder / "tokens"]
        words += [x for key, value in place.more.items() for x in (f"--{key}", value)]
        run = "from uli_fast.cli import main; main()"
        self._command = [sys.executable, "-c", run, *words]
        self.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        self._program = Program(self._command, self._log, {"PYTHONPATH": str(ROOT)})
        wait_for(self.port, "/health/ready")

    def stop(self, how=signal.SIGTERM):
        return self._program.stop(how)

    def restart(self, how):
        assert self.stop(how) == (0 if how == signal.SIGTERM else -how), self._log.read_text()
        self.start()

    def close(self):
        self._program.close()


class Caller:
    """Somebody who makes a request again until it is answered."""

    def __init__(self, port, counts):
        self._port, self._counts, self._connection = port, counts, None

    def post(self, path, body):
        """Return the status and what was said."""
        until, pause = time.monotonic() + PATIENCE, 0.01
        while True:
            self._counts["requests"] += 1
            try:
                status, said = self._sent(path, body)
            except ConnectionRefusedError:
                self._counts["refused"] += 1
            except (OSError, http.client.HTTPException):
                self._counts["broken off"] += 1  # nobody knows what has become of it
            else:
                if status != AWAY:
                    return status, said
                self._counts["away"] += 1
            self.hang_up()
            assert time.monotonic() < until, f"nobody answers {path}"
            time.sleep(pause)
            pause = min(2.0 * pause, 0.2)

    def _sent(self, path, body):
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        self._connection.request("POST", path, body)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def hang_up(self):
        """Have the next request go to whichever worker takes it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def key(i):
    return f"patient {i} <&>"


def read_page(said):
    """Return the case and the treatment that a page shows."""
    shown = dict(re.findall(r'<output name="(\w+)">([^<]*)</output>', said.decode()))
    return int(shown["case"]), shown["treatment"]


def report(i, case, treatment):
    """Return what the follow-up says of a patient."""
    result = outcome(i, LETTERS[treatment])
    if result is None:
        return {"case": case, "lost": "did not come back"}
    return {"case": case, "recovered": result == 1.0}


class Day:
    """Patients who come in, eight at a time, and what they were told.

    Some come alone and some in groups, some are entered twice, at once or much later; outcomes are
    reported late, some of them twice, and some are contradicted, which must be refused.
    """

    def __init__(self, port, patients, seed, callers=8):
        self._port, self._rng = port, random.Random(seed)
        self.assigned, self.reported = {}, {}  # by patient, by case: what was acknowledged
        self.counts, self.problems = Counter(), []
        self._lock, self._groups = threading.Lock(), SimpleQueue()
        for group in self._parted(patients):
            self._groups.put(group)
            if self._rng.random() < 0.05:
                self._groups.put(group)  # at two desks at once
        names = [(self._rng.random(),) for _ in range(callers)]
        self._threads = [threading.Thread(target=self._work, args=x, daemon=True) for x in names]

    def _parted(self, patients):
        """Half of the patients come one by one."""
        order, first = list(range(patients)), 0
        self._rng.shuffle(order)
        while first < patients:
            size = 1 if self._rng.random() < 0.9 else self._rng.randrange(2, 18)
            yield order[first : first + size]
            first += size

    def begin(self):
        for thread in self._threads:
            thread.start()

    def settled(self):
        """Return how many outcomes were acknowledged; fail if anything went wrong."""
        if self.problems:
            raise self.problems[0]
        return len(self.reported)

    def wait_for(self, outcomes):
        """Wait until so many outcomes were acknowledged."""
        last = time.monotonic(), self.settled()
        while self.settled() < outcomes:
            if self.settled() > last[1]:
                last = time.monotonic(), self.settled()
            assert time.monotonic() < last[0] + PATIENCE, "nobody gets any further"
            time.sleep(0.005)

    def finish(self):
        for thread in self._threads:
            thread.join()
        self.settled()

    def _work(self, seed):
        rng, caller, waiting = random.Random(seed), Caller(self._port, Counter()), []
        try:
            while True:
                try:
                    group = self._groups.get_nowait()
                except Empty:
                    break
                waiting.append(self._enter(caller, rng, group))
                if len(waiting) > rng.randrange(6):
                    self._report(caller, rng, waiting.pop(rng.randrange(len(waiting))))
            for told in waiting:
                self._report(caller, rng, told)
            self.repeat(caller, rng, 20)
        except BaseException as problem:
            self.problems.append(problem)
        finally:
            caller.hang_up()
            with self._lock:
                self.counts += caller._counts

    def repeat(self, caller, rng, times):
        """Enter and report patients again, whenever they were there."""
        for _ in range(times):
            i = rng.choice(list(self.assigned))
            self._entered(caller, [i])
            told = report(i, *self.assigned[i])
            if told["case"] in self.reported:
                assert self._posted(caller, "/outcomes", told) == {"taken": 1}
            caller._counts["repeated"] += 2

    def _enter(self, caller, rng, group):
        self._entered(caller, group)
        if rng.random() < 0.15:
            caller.hang_up()
            self._entered(caller, group)
            caller._counts["repeated"] += 1
        if rng.random() < 0.05:
            self.repeat(caller, rng, 1)
        return [report(i, *self.assigned[i]) for i in group]

    def _entered(self, caller, group):
        """Have patients assigned; nobody is ever told anything else than the first time."""
        if len(group) == 1:
            status, said = caller.post("/intake", urlencode({"patient": key(group[0])}))
            assert status == 200, (status, said)
            made = [read_page(said)]
        else:
            rows = self._posted(caller, "/intakes", [key(i) for i in group])
            made = [(row["case"], row["treatment"]) for row in rows]
        with self._lock:
            for i, one in zip(group, made, strict=True):
                assert self.assigned.setdefault(i, one) == one, (i, one, self.assigned[i])

    def _report(self, caller, rng, told):
        body = told[0] if len(told) == 1 else told
        assert self._posted(caller, "/outcomes", body) == {"taken": len(told)}
        with self._lock:
            for one in told:
                assert self.reported.setdefault(one["case"], one) == one
        if rng.random() < 0.15:
            caller.hang_up()
            assert self._posted(caller, "/outcomes", body) == {"taken": len(told)}
            caller._counts["repeated"] += 1
        if rng.random() < 0.03:
            other = {"case": told[0]["case"], "recovered": not told[0].get("recovered", False)}
            status, said = caller.post("/outcomes", json.dumps(other))
            assert status == 409, (status, said)
            caller._counts["contradicted"] += 1

    def _posted(self, caller, path, body):
        status, said = caller.post(path, json.dumps(body))
        assert status == 200, (status, said)
        return json.loads(said)
