"""The service: eight clients in a process of their own, commits that wait for the disk.

Clients, service and study share the machine: a client is a thread of one process, the service
another process. Beside it stands a loop of single asks and tells on a Study, as one program drives
it without a service.
"""

import atexit
import json
import subprocess
import sys
from itertools import count

import pytest

import uli_fast as uli
from bench.support.cases import Case
from bench.support.swarm import drive, quantile
from bench.test_study import ARMS, folder

pytest.importorskip("uvicorn")

CLIENTS, GOAL = 8, 0.010
SERVE = [sys.executable, "-c", "from uli_fast.cli import main; main()", "serve"]
NUMBERS = count()


def new_study():
    path = folder() / f"study-{next(NUMBERS)}.db"
    return path, uli.Study.open(path, uli.SuccessiveElimination(0.1), ARMS)


def served():
    """Begin a study and serve it; return its address and how to end it."""
    path, study = new_study()
    study.close()
    words = [str(path), "--no-token", "--port", "0", "--rate", "1e9"]
    process = subprocess.Popen([*SERVE, *words], stdout=subprocess.PIPE, text=True)
    atexit.register(process.kill)
    url = process.stdout.readline().split(" at ")[-1].split(",")[0]

    def end():
        process.terminate()
        process.communicate()

    return url, end


def through(size, batches, figure):
    """Return clients in another process, which says its figure."""

    def prepare(seed):
        url, end = served()
        numbers = {"clients": CLIENTS, "size": size, "batches": batches}
        words = [f"--{name}={value}" for name, value in numbers.items()]
        swarm = [sys.executable, "-m", "bench.support.swarm", url, *words]

        def run():
            done = subprocess.run(swarm, capture_output=True, text=True, check=True)
            end()
            return json.loads(done.stdout)[figure]

        return run

    return Case(prepare, says_its_time=True)


def direct(size, batches, figure="seconds", clients=CLIENTS):
    """Return threads on a Study of their own process."""

    def prepare(seed):
        _, study = new_study()

        def run():
            took, waits = drive(study, clients, size, batches)
            study.close()
            return took if figure == "seconds" else quantile(waits, 0.99)

        return run

    return Case(prepare, says_its_time=True)


@pytest.mark.long
@pytest.mark.parametrize("size", [1, 16])
def test_against_one_by_one(versus, size):
    """Ask and tell through the service, 8 clients, in batches; against a loop of single calls."""
    batches = 40 if size > 1 else 80
    alone = direct(1, CLIENTS * size * batches, clients=1)
    versus(through(size, batches, "seconds"), alone, seeds=1, repeats=2)


@pytest.mark.long
@pytest.mark.parametrize("size", [1, 16])
def test_against_the_same_calls_on_a_study(versus, size):
    """Ask and tell through the service, 8 clients, in batches; against 8 threads on a Study."""
    batches = 40 if size > 1 else 80
    versus(through(size, batches, "seconds"), direct(size, batches), seeds=1, repeats=2)


@pytest.mark.long
@pytest.mark.parametrize("how", ["service", "study"])
def test_wait(versus, how):
    """The 99th of 100 asks, by how long it takes with 8 threads asking; against 10 ms."""
    ours = through(1, 150, "p99") if how == "service" else direct(1, 150, "p99")
    versus(ours, Case(lambda seed: lambda: GOAL, says_its_time=True), seeds=1, repeats=2)
