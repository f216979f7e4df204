"""Processes forked while threads of their parent are at work: none of them waits for ever."""

import os
import subprocess
import sys

import pytest

import uli_fast as uli
from tests.service.conftest import SE
from tests.study.places import Database
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.slow)], ids=["few", "many"])
def many(request):
    """Whether to fork often, which takes minutes."""
    return request.param


CHURN = """
import gc, os, signal, sys, threading
import uli_fast as uli
kind, where, name, patience = sys.argv[1:]
if kind == "client":
    open_one = lambda: uli.Client(where, patience=float(patience))
else:
    open_one = lambda: uli.Study.open(where, name=name or None)
shared, stop = open_one(), threading.Event()
look = shared.totals if kind == "client" else shared.counts

def work(number):
    for k in range(10**9):
        if stop.is_set():
            return
        one = threading.Thread(target=look)  # of its own: a client makes it a connection
        one.start()
        one.join()
        if kind != "client" and k < 200:
            shared.tell(shared.ask(f"{number}-{k}").id, 1.0)

def child(number, ends):
    signal.alarm(int(float(patience)))  # whoever waits that long waits for ever
    if kind == "client":
        shared.totals()
    else:
        for call in (shared.counts, lambda: shared.ask("mine"), lambda: shared.overview()):
            try:
                call()
                os._exit(3)
            except uli.errors.StudyError as problem:
                assert "opened in another process" in str(problem)
    if ends == "closes":
        shared.close()
    if kind != "file":
        with open_one() as own:
            own.ask(f"child {number}")
            assert len(own.history()) >= 1

workers = [threading.Thread(target=work, args=(n,)) for n in range(4)]
[t.start() for t in workers]
hung, forks = 0, int(os.environ["FORKS"])
for k in range(forks):
    pid = os.fork()
    if pid == 0:
        how = ("leaves", "closes", "drops")[k % 3]
        try:
            child(k, how)
        except BaseException as problem:
            print(repr(problem), file=sys.stderr, flush=True)
            os._exit(4)
        if how == "drops":
            shared = look = None
            gc.collect()
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    hung += os.WIFSIGNALED(status)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, status
    if hung:
        break
stop.set()
[t.join() for t in workers]
shared.close()
print(k + 1, "forks,", hung, "hung", flush=True)
"""


def churned(kind, where, name="", forks=0):
    done = subprocess.run(
        [sys.executable, "-c", CHURN, kind, str(where), name, str(PATIENCE)],
        capture_output=True,
        text=True,
        env=os.environ | {"FORKS": str(forks)},
    )
    assert done.stdout == f"{forks} forks, 0 hung\n", done.stderr[-2000:] + done.stdout
    return done


IMPORTS = """
import sys
import uli_fast as uli
if "://" in sys.argv[1]:
    one = uli.Client(sys.argv[1], patience=float(sys.argv[2]))
else:
    one = uli.Study.open(sys.argv[1], getattr(uli, sys.argv[3])(0.1), ["a", "b"])

class Unlocked:
    def find_spec(self, name, *_):
        compiler = sys.modules.get("numba.core.compiler_lock")  # forks wait for it
        if not (compiler and compiler.global_compiler_lock.is_locked()):
            print(name)

sys.meta_path.insert(0, Unlocked())
for k in range(5):
    one.tell(one.ask(str(k)).id, 1.0)
one.tell_missing(one.ask("gone").id, "gone")
one.ask_many(["x", "y"])
for look in (one.totals, one.counts, one.intervals, one.recommend, one.history, one.pending):
    look()
"""


@pytest.mark.parametrize(
    "of", ["client", "UCB", "PhasedElimination", "SuccessiveElimination", "BettingElimination"]
)
def test_calls_import_nothing(of, serve, folder):
    # A child that is forked in the middle of another thread's import waits for its end for ever.
    where = serve().url if of == "client" else folder / "trial.db"
    command = [sys.executable, "-c", IMPORTS, str(where), str(PATIENCE), of]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


COMPILES = """
import os, signal, sys, threading, time
from numba.core.compiler_lock import global_compiler_lock
from uli_fast.kernels import _jit
compiling, forking = threading.Event(), threading.Event()

def compile_for_long():
    with global_compiler_lock:
        compiling.set()
        forking.wait()
        time.sleep(0.5)

threading.Thread(target=compile_for_long).start()
compiling.wait()
forking.set()
if (pid := os.fork()) == 0:
    signal.alarm(int(float(sys.argv[1])))
    with global_compiler_lock:
        os._exit(0)
print(os.waitpid(pid, 0)[1])
"""


def test_a_fork_waits_for_the_compiler():
    command = [sys.executable, "-c", COMPILES, "20"]  # seconds that a free lock does not need
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0"]


def test_no_child_of_a_process_with_a_client_hangs(serve, many):
    served, forks = serve(), 200 if many else 40
    churned("client", served.url, forks=forks)
    assert len(served.study.history()) == forks


def test_no_child_of_a_process_with_a_study_in_a_file_hangs(folder, many):
    path = folder / "trial.db"
    uli.Study.open(path, SE, ["a", "b"]).close()
    churned("file", path, forks=200 if many else 24)
    assert uli.Study.audit(path).statuses["pending"] == 0


def test_no_child_of_a_process_with_a_study_in_a_database_hangs(server, many):
    place, forks = Database(server.url), 200 if many else 12
    place.open(SE, 2).close()
    churned("database", place.where, place.name, forks)
    assert place.audit().statuses["pending"] == forks
