"""Experiments on a real Ray of this machine (`make compat-test LIBRARIES=ray`): the same bytes.

Everything that is begun here ends here: the tests look at the processes and at their sockets.
"""

import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

ray = pytest.importorskip("ray", reason="Ray is not installed")

from tests.experiments.test_running import EXPERIMENT, LONG, MDP  # noqa: E402
from tests.experiments.watching import parts_in  # noqa: E402
from uli_fast import experiments  # noqa: E402
from uli_fast.errors import ArgumentError, ResultsError, UnsupportedError  # noqa: E402
from uli_fast.experiments import ray_tasks, running  # noqa: E402

PATIENCE = 120.0  # seconds before something that hangs is given up
linux = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="looks into /proc")


def experiment(text=EXPERIMENT):
    return experiments.ExperimentFile.parse(text)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return experiments.run(experiment(), tmp_path_factory.mktemp("whole") / "results").digest()


@pytest.fixture
def own():
    """A Ray of the user's own."""
    folder = tempfile.mkdtemp(prefix="uli-ray-")
    with ray_tasks._unreachable():
        ray.init(
            address="local",
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="error",
            _temp_dir=folder,
        )
        try:
            yield
        finally:
            ray.shutdown()
            shutil.rmtree(folder, ignore_errors=True)


def until(true, patience=PATIENCE):
    """Wait for something; return whether it came."""
    end = time.monotonic() + patience
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def family(pid):
    """A process and all that came from it and run; zombies do not."""
    command = ["ps", "-A", "-o", "pid=,ppid=,stat="]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in shown.splitlines()]
    parents = {int(p): int(q) for p, q, state in lines if not state.startswith("Z")}
    found = {pid} & parents.keys()
    while more := {p for p, q in parents.items() if q in found} - found:
        found |= more
    return found


def listening(pids):
    """The addresses on which processes listen, as /proc writes them."""
    sockets = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A":
                sockets[f"socket:[{words[9]}]"] = words[1].split(":")[0]
    found = set()
    for pid in pids:
        try:
            links = [os.readlink(x) for x in Path(f"/proc/{pid}/fd").iterdir()]
        except OSError:  # it has ended meanwhile
            continue
        found |= {sockets[x] for x in links if x in sockets}
    return found


def begun(folder, *words, text=LONG):
    """Begin `uli run --backend ray` in a session of its own."""
    (folder / "experiment.toml").write_text(text)
    command = [sys.executable, "-c", "from uli_fast.cli import main; main()", "run"]
    command += [str(folder / "experiment.toml"), "--out", str(folder / "r"), "--backend", "ray"]
    command += ["--jobs", "2", "--keep-every", "0.02", *words]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env=os.environ | {"TMPDIR": str(folder)},
    )


def ended(pids, patience=PATIENCE):
    """Whether all of some processes end by themselves."""
    running_still = lambda: {p for p in pids if Path(f"/proc/{p}").exists() and _runs(p)}  # noqa: E731
    return until(lambda: not running_still(), patience)


def _runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def short():
    """A folder with a short name: Ray's sockets are in it."""
    folder = Path(tempfile.mkdtemp(prefix="ur", dir="/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("text", [EXPERIMENT, MDP], ids=["bandits", "others"])
def test_ray_gives_the_same_bytes_and_ends(text, tmp_path):
    expected = experiments.run(experiment(text), tmp_path / "serial").digest()
    seen, said = [], []
    found = experiments.run(
        experiment(text),
        tmp_path / "ray",
        jobs=2,
        backend="ray",
        keep_every=0.02,
        progress=seen.append,
        say=said.append,
    )
    assert found.digest() == expected and found.complete
    assert len(seen) > 9 and seen == sorted(seen) and seen[0] < 0.5 < seen[-1]
    assert said[0] == f"Ray {ray.__version__} on this machine, jobs=2"
    assert not ray.is_initialized() and os.environ.get(ray_tasks.VARIABLE) is None
    assert ray._private.ray_constants.ENABLE_RAY_CLUSTER == (sys.platform == "linux")


def test_what_is_kept_is_not_run_again(whole, tmp_path):
    experiments.run(experiment(), tmp_path / "r", replications=5)
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "r").rglob("*.npy")}
    found = experiments.run(experiment(), tmp_path / "r", backend="ray", jobs=2, resume=True)
    assert found.digest() == whole
    assert all(path.stat().st_mtime_ns == at for path, at in before.items())


def test_nothing_missing_begins_no_ray(tmp_path):
    experiments.run(experiment(), tmp_path / "r", replications=1)
    said = []
    options = {"replications": 1, "resume": True, "backend": "ray", "say": said.append}
    experiments.run(experiment(), tmp_path / "r", **options)
    assert said == ["nothing is missing"]


def test_the_users_own_ray_is_used_and_left_alone(own, whole, tmp_path):
    said = []
    found = experiments.run(experiment(), tmp_path / "r", backend="ray", jobs=2, say=said.append)
    assert found.digest() == whole and ray.is_initialized()
    assert not any("on this machine" in x for x in said)


def test_shards_on_ray_merge_to_the_same_bytes(own, whole, tmp_path):
    for i in (1, 2):
        experiments.run(experiment(), tmp_path / str(i), backend="ray", jobs=2, shard=(i, 3))
    experiments.run(experiment(), tmp_path / "3", shard=(3, 3))
    found = experiments.merge([tmp_path / x for x in "123"], tmp_path / "merged")
    assert found.digest() == whole


def test_ray_as_a_backend_of_joblib_gives_the_same_bytes(own, whole, tmp_path):
    from joblib import parallel_config
    from ray.util.joblib import register_ray

    register_ray()
    seen = []
    with parallel_config("ray"):
        found = experiments.run(experiment(), tmp_path / "r", jobs=2, progress=seen.append)
    assert found.digest() == whole and len(seen) > 9


# Tasks.


def test_results_come_as_they_are_done_and_never_more_than_jobs_at_once(own):
    assert list(ray_tasks.played(_square, range(7), 1)) == [x * x for x in range(7)]
    assert sorted(ray_tasks.played(_square, range(7), 2)) == [x * x for x in range(7)]
    assert list(ray_tasks.played(_square, [], 2)) == []


def _square(x):
    return x * x


def test_a_worker_has_one_thread_for_linear_algebra(own):
    variables = list(ray_tasks.played(_threads, [0, 1], 2))
    assert variables == ["1", "1"]


def _threads(_):
    return os.environ["OMP_NUM_THREADS"]


def test_errors_of_the_work_come_back_as_they_were(own):
    with pytest.raises(ArgumentError, match=r"^delta: must be smaller$") as raised:
        list(ray_tasks.played(_refuse, [1, 2, 3], 2))
    assert raised.value.argument == "delta" and type(raised.value) is ArgumentError


def _refuse(_):
    raise ArgumentError("delta", "must be smaller")


def test_what_a_worker_that_died_had_in_hand_is_done_again(own, tmp_path):
    marks = [tmp_path / str(i) for i in range(3)]
    assert sorted(ray_tasks.played(_die_once, marks, 2)) == marks


def _die_once(mark):
    if not mark.exists():
        mark.touch()
        os._exit(1)
    return mark


def test_workers_that_always_die_are_a_typed_error(own):
    said = r"^Ray: WorkerCrashedError: .*; finished parts are kept"
    with pytest.raises(ResultsError, match=said):
        list(ray_tasks.played(os._exit, [1], 1))


def test_workers_of_other_versions_are_refused(own, tmp_path, monkeypatch):
    ours = running.versions()
    monkeypatch.setattr(running, "versions", lambda: ours | {"numpy": "1.0"})
    with pytest.raises(ResultsError, match=r"a worker has numpy [\d.]+, not 1\.0"):
        experiments.run(experiment(), tmp_path / "r", backend="ray")


def test_a_ray_that_others_could_reach_is_ended_at_once(tmp_path, monkeypatch):
    check, seen = ray_tasks._only_here, []

    def elsewhere(address):
        check(address)
        seen.append(address)
        check("192.0.2.1")

    monkeypatch.setattr(ray_tasks, "_only_here", elsewhere)
    with pytest.raises(UnsupportedError, match=r"listens on 192\.0\.2\.1"):
        experiments.run(experiment(), tmp_path / "r", backend="ray")
    assert seen == ["127.0.0.1"] and not ray.is_initialized()


def test_a_ray_that_does_not_start_is_a_typed_error(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("x" * 90)))
    (tmp_path / ("x" * 90)).mkdir()
    with pytest.raises(ResultsError, match=r"Ray at local: .*socket"):
        experiments.run(experiment(), tmp_path / "r", backend="ray")
    assert not ray.is_initialized()


# The command, from outside.


@linux
def test_the_command_listens_on_the_loopback_device_and_leaves_nothing(short):
    child = begun(short)
    seen, addresses = set(), set()

    def over():
        seen.update(family(child.pid))
        addresses.update(listening(seen))
        return child.poll() is not None

    assert until(over), "it hangs"
    said = child.stdout.read()
    assert child.returncode == 0, said
    assert len(seen) > 6 and addresses  # Ray was there, and something did listen
    loopback = re.compile(r"0100007F|0{16}FFFF00000100007F|0{24}01000000")
    assert all(loopback.fullmatch(x) for x in addresses), addresses
    assert ended(seen, 20.0)
    assert not list(short.glob("uli-ray-*"))
    expected = experiments.run(experiment(LONG), short / "serial", jobs=2).digest()
    assert experiments.Results.load(short / "r").digest() == expected


@linux
def test_ctrl_c_keeps_what_is_done_and_ends_ray(short):
    text = LONG.replace("replications = 60", "replications = 300")
    child = begun(short, text=text)
    assert until(lambda: child.poll() is not None or parts_in(short / "r") > 8)
    seen = family(child.pid)
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does: to all that are in the foreground
    said = child.communicate(timeout=PATIENCE)[0]
    assert child.returncode == 130, said
    kept = int(re.search(r"(\d+) of 600 kept; go on with --resume", said)[1])
    assert 0 < kept < 600 and "Traceback" not in said
    assert len(seen) > 6 and ended(seen, 20.0)
    assert not list(short.glob("uli-ray-*")) and not list((short / "r").rglob(".part-*"))
    (short / "experiment.toml").write_text(text)
    again = begun(short, "--resume", "--replications", "80", text=text)
    assert again.communicate(timeout=PATIENCE)[0] and again.returncode == 0
    options = {"jobs": 2, "replications": 80}
    expected = experiments.run(experiment(text), short / "serial", **options).digest()
    assert experiments.Results.load(short / "r").digest() == expected


@linux
def test_ray_ends_with_a_parent_that_is_killed(short):
    child = begun(short, text=LONG.replace("replications = 60", "replications = 9999"))
    assert until(lambda: child.poll() is not None or parts_in(short / "r") > 8)
    seen = family(child.pid)
    child.kill()
    child.wait()
    assert len(seen) > 6
    left = not ended(seen)  # two idle agents of Ray's look for their parent for about a minute
    for pid in seen if left else ():
        if _runs(pid):
            os.kill(pid, signal.SIGKILL)
    assert not left


CLUSTER = """
import sys, tempfile
import ray
from uli_fast.experiments import ray_tasks
with ray_tasks._folder() as folder, ray_tasks._unreachable():
    with ray_tasks._begun("local", num_cpus=2, _temp_dir=folder):
        print(ray.get_runtime_context().gcs_address, flush=True)
        sys.stdin.readline()
"""


def test_a_cluster_that_runs_elsewhere_is_used_and_goes_on(short, whole, monkeypatch):
    # This one is on the loopback device too: without it, Ray looks for it on the network.
    monkeypatch.setenv(ray_tasks.VARIABLE, "0")
    monkeypatch.setenv("RAY_AUTH_MODE", "token")  # one of the cluster's own, that both know
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    command = [sys.executable, "-c", CLUSTER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    elsewhere = subprocess.Popen(command, **pipes, env=os.environ | {"TMPDIR": str(short)})
    try:
        address = elsewhere.stdout.readline().strip()
        for way in ("option", "variable"):
            folder = short / way
            folder.mkdir()
            words = ("--address", address) if way == "option" else ()
            if way == "variable":
                monkeypatch.setenv("RAY_ADDRESS", address)
            child = begun(folder, *words, text=EXPERIMENT)
            said = child.communicate(timeout=PATIENCE)[0]
            assert child.returncode == 0 and "on this machine" not in said, said
            assert experiments.Results.load(folder / "r").digest() == whole
            assert elsewhere.poll() is None
    finally:
        elsewhere.communicate("\n", timeout=PATIENCE)
    assert elsewhere.returncode == 0


def test_a_cluster_that_does_not_answer_is_given_up_soon(short):
    for address, said in (("127.0.0.1:1", "no scheduler answers"), ("x://y", "must be like")):
        child = begun(short, "--address", address)
        assert said in child.communicate(timeout=PATIENCE)[0] and child.returncode == 1
        assert [p.name for p in short.iterdir()] == ["experiment.toml"]
