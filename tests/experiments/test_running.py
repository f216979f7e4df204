"""Experiments: resumed, grown, spread and killed, they give the same bytes."""

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import uli_fast as uli
from tests.experiments.clusters import dask_cluster
from tests.experiments.killing import LONG
from tests.experiments.watching import parts_in
from tests.support.patience import wait_until
from tests.support.unprivileged import open_folder, said_by
from uli_fast import experiments
from uli_fast.errors import ArgumentError, ResultsError, RunsFileError
from uli_fast.results import storage
from uli_fast.results.parts import Store, locked

ROOT = Path(__file__).parents[2]
EXPERIMENT = """
horizon = 20_000
replications = 12
seed = 5

[problems.two]
type = "BernoulliBandit"
means = [0.5, 0.4]

[problems.noisy]
type = "GaussianBandit"
means = [0.5, 0.3]
sigma = 0.5

[learners.SE]
type = "SuccessiveElimination"
R = 0.5
sweep = { delta = [0.1, 0.05] }

[learners.UCB]
type = "UCB"
R = 0.5

[learners.Exp3P]
type = "Exp3P"
on = ["two"]
"""
MDP = """
horizon = 3_000
replications = 5

[problems.river]
type = "mdps.river_swim"
n_states = 2
horizon = 2

[problems.ball]
type = "LinearBandit"
theta = [0.6, 0.3]
arm_set = { type = "Ball", d = 2 }

[learners.UBEV]
type = "UBEV"
on = ["river"]

[learners.UCBVI]
type = "UCBVI"
on = ["river"]

[learners.Spanner]
type = "SpannerElimination"
R = 1.0
on = ["ball"]
"""


def experiment(text=EXPERIMENT):
    return experiments.ExperimentFile.parse(text)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return experiments.run(experiment(), tmp_path_factory.mktemp("whole") / "results")


def test_results_are_those_of_simulate(whole):
    assert whole.complete and set(whole.comparisons) == {"two", "noisy"}
    runs = whole.comparisons["two"]["SE (delta=0.05)"]
    alone = uli.simulate(
        uli.SuccessiveElimination(0.05, R=0.5), uli.BernoulliBandit([0.5, 0.4]), 20_000, 12, seed=5
    )
    assert runs.digest() == alone.digest()
    noisy = whole.comparisons["noisy"]["UCB"]
    alone = uli.simulate(uli.UCB(R=0.5), uli.GaussianBandit([0.5, 0.3], 0.5), 20_000, 12, seed=5)
    assert noisy.digest() == alone.digest() and noisy.tv_bound > 0.0


@pytest.mark.parametrize("text", [EXPERIMENT, MDP], ids=["bandits", "others"])
@pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
def test_parts_threads_and_growing_change_no_byte(text, tmp_path):
    once = experiments.run(experiment(text), tmp_path / "once", keep_every=1e9).digest()
    small = experiments.run(experiment(text), tmp_path / "small", keep_every=1e-6, jobs=2)
    assert small.digest() == once
    experiments.run(experiment(text), tmp_path / "grown", replications=2)
    experiments.run(experiment(text), tmp_path / "grown", replications=3, resume=True)
    parts = sorted((tmp_path / "grown").rglob("part-*"))
    grown = experiments.run(experiment(text), tmp_path / "grown", resume=True, jobs=2)
    assert grown.digest() == once
    assert all(part.exists() for part in parts)  # only what was missing was run
    fewer = experiments.run(experiment(text), tmp_path / "grown", replications=2, resume=True)
    assert fewer.replications == 2
    assert all(r.replications == 2 for c in fewer.comparisons.values() for r in c.runs.values())


def test_processes_give_the_same_bytes(whole, tmp_path):
    spread = experiments.run(experiment(), tmp_path / "loky", jobs=2, backend="loky")
    assert spread.digest() == whole.digest()


def test_a_dask_cluster_gives_the_same_bytes(whole, tmp_path):
    pytest.importorskip("distributed")
    with dask_cluster():
        spread = experiments.run(experiment(), tmp_path / "dask", jobs=2)
    assert spread.digest() == whole.digest()


def test_a_cell_that_is_added_leaves_the_others_alone(whole, tmp_path):
    short = EXPERIMENT.split("[learners.Exp3P]")[0]
    experiments.run(experiment(short), tmp_path / "r")
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "r").rglob("*.npy")}
    results = experiments.run(experiment(), tmp_path / "r", resume=True)
    assert results.digest() == whole.digest()
    assert all(path.stat().st_mtime_ns == t for path, t in before.items())


def test_results_are_not_overwritten(tmp_path):
    experiments.run(experiment(), tmp_path / "r", replications=1)
    with pytest.raises(ResultsError, match="holds results already"):
        experiments.run(experiment(), tmp_path / "r")


def test_another_process_is_kept_out(tmp_path):
    with locked(tmp_path / "r"), pytest.raises(ResultsError, match="another process"):
        experiments.run(experiment(), tmp_path / "r")


def test_other_versions_are_not_mixed(tmp_path, monkeypatch):
    experiments.run(experiment(), tmp_path / "r", replications=1)
    about = next((tmp_path / "r").rglob("about.json"))
    changed = json.loads(about.read_text())
    changed["versions"]["numba"] = "0.1"
    about.write_text(json.dumps(changed))
    with pytest.raises(ResultsError, match=r"numba was 0\.1"):
        experiments.run(experiment(), tmp_path / "r", resume=True)


DEEP = "[" * 200_000


@pytest.mark.parametrize(
    "damage",
    ["cut", "flip", "gone", "manifest", "cells", "about", "about gone", "about folder", "deep"],
)
def test_damaged_results_are_typed_errors(damage, tmp_path):
    experiments.run(experiment(), tmp_path / "r", replications=2)
    arrays = sorted((tmp_path / "r").rglob("last_play.npy"))
    about = next((tmp_path / "r").rglob("about.json"))
    if damage == "cut":
        arrays[0].write_bytes(arrays[0].read_bytes()[:-9])
    elif damage == "flip":
        data = bytearray(arrays[0].read_bytes())
        data[-1] ^= 1
        arrays[0].write_bytes(bytes(data))
    elif damage == "gone":
        arrays[0].unlink()
    elif damage == "manifest":
        (tmp_path / "r/manifest.json").write_text("{")
    elif damage.startswith("about"):
        about.unlink()
        if damage == "about":
            about.write_text(DEEP)
        elif damage == "about folder":
            about.mkdir()
    elif damage == "deep":
        (arrays[0].parent / "manifest.json").write_text(DEEP)
    else:
        manifest = json.loads((tmp_path / "r/manifest.json").read_text())
        manifest["cells"][0]["id"] = "../../etc"
        (tmp_path / "r/manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(RunsFileError):
        experiments.Results.load(tmp_path / "r")


def test_what_a_cell_is_about_can_be_written_again(tmp_path):
    whole = experiments.run(experiment(), tmp_path / "r", replications=2).digest()
    next((tmp_path / "r").rglob("about.json")).unlink()
    assert (
        experiments.run(experiment(), tmp_path / "r", resume=True, replications=2).digest() == whole
    )


@pytest.mark.parametrize("about", ["[]", '{"identity": 5}', '{"identity": "x", "versions": []}'])
def test_a_cell_that_is_about_something_strange_is_not_gone_on_with(about, tmp_path):
    experiments.run(experiment(), tmp_path / "r", replications=1)
    next((tmp_path / "r").rglob("about.json")).write_text(about)
    with pytest.raises(ResultsError, match="holds other results"):
        experiments.run(experiment(), tmp_path / "r", resume=True)


def test_names_that_are_too_long_for_the_disk_are_typed_errors(tmp_path):
    long = "a" * 300
    with pytest.raises(ResultsError, match="too long"):
        experiments.run(experiment(), tmp_path / long)
    with pytest.raises(ResultsError, match="too long"):
        uli.simulate(
            uli.UCB(), uli.BernoulliBandit([0.9, 0.1]), 50, seed=1, checkpoint=tmp_path / long
        )
    experiments.run(experiment(), tmp_path / "r", replications=1)
    manifest = json.loads((tmp_path / "r/manifest.json").read_text())
    manifest["cells"][0]["id"] = long
    (tmp_path / "r/manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ResultsError, match="too long"):
        experiments.Results.load(tmp_path / "r")


CLOSED = """
from pathlib import Path
import uli_fast as uli
from uli_fast import experiments
folder, file = Path(sys.argv[1]), experiments.ExperimentFile.parse(sys.argv[2])
problem = uli.BernoulliBandit([0.9, 0.1])
# Whatever is imported or compiled on the way is so before: it may be out of reach afterwards.
experiments.run(file, folder / "r", replications=1)
experiments.Results.load(folder / "r")
uli.simulate(uli.UCB(), problem, 50, seed=1, checkpoint=folder / "c")
(folder / "r/cells").chmod(0)
(folder / "closed").mkdir(0)
folder.chmod(0o555)
drop()
say(lambda: experiments.run(file, folder / "closed/r"))
say(lambda: uli.simulate(uli.UCB(), problem, 50, seed=1, checkpoint=folder / "closed/c"))
say(lambda: experiments.Results.load(folder / "closed/r"))
say(lambda: experiments.Results.load(folder / "r"))
say(lambda: experiments.run(file, folder / "new"))
"""


def test_folders_that_are_closed_are_typed_errors():
    with open_folder() as folder:
        said = said_by(CLOSED, folder, EXPERIMENT)
        assert len(said) == 5
        for line in said:
            assert line.startswith(f"ResultsError {folder}") and "Permission denied" in line


def test_a_folder_without_results_says_so(tmp_path):
    with pytest.raises(RunsFileError, match="does not hold"):
        experiments.Results.load(tmp_path)


def test_a_full_disk_is_a_typed_error_and_leaves_results_intact(tmp_path):
    experiments.run(experiment(), tmp_path / "r", replications=2)
    code = (
        "import resource, signal, sys; from uli_fast import experiments\n"
        "file = experiments.ExperimentFile.parse(sys.argv[2])\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))\n"
        "try: experiments.run(file, sys.argv[1], resume=True)\n"
        "except Exception as problem: print(type(problem).__name__, problem)\n"
    )
    environment = os.environ | {"NUMBA_DISABLE_JIT": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "r"), EXPERIMENT],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.stdout.startswith("ResultsError"), done.stderr
    assert "intact" in done.stdout
    results = experiments.Results.load(tmp_path / "r")
    assert results.replications == 2 and results.complete
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 300


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("full", [1, 9, 20])
def test_a_disk_that_is_full_at_a_part_keeps_the_others(full, jobs, whole, tmp_path, monkeypatch):
    write, written = storage._write, []

    def refuse(runs, folder, part_of):
        write(runs, folder, part_of)
        written.append(folder)
        if len(written) == full:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(storage, "_write", refuse)
        with pytest.raises(ResultsError, match=r"part-.*No space left on device; .* intact"):
            experiments.run(experiment(), tmp_path / "r", keep_every=1e-6, jobs=jobs)
    assert parts_in(tmp_path / "r") == full - 1
    assert not list((tmp_path / "r").rglob(".part-*"))
    assert experiments.run(experiment(), tmp_path / "r", resume=True).digest() == whole.digest()


def test_a_read_only_folder_is_a_typed_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ResultsError, match=r"Not a directory|File exists"):
        experiments.run(experiment(), tmp_path / "file" / "r")


# Killed.


def check_kills(tmp_path, kills, seed=1):
    expected = experiments.run(experiment(LONG), tmp_path / "whole", jobs=2).digest()
    command = [sys.executable, "-m", "tests.experiments.killing", tmp_path, str(kills), str(seed)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == kills
    runs = list(tmp_path.glob("run-*"))
    assert {experiments.Results.load(run).digest() for run in runs} == {expected}
    assert not [part for run in runs for part in run.rglob(".part-*")]


def test_twenty_kills_change_no_byte(tmp_path):
    check_kills(tmp_path, 20)


@pytest.mark.slow
def test_a_hundred_kills_change_no_byte(tmp_path):
    for seed in range(5):
        folder = tmp_path / str(seed)
        folder.mkdir()
        check_kills(folder, 20, seed + 2)


def processes():
    """The parent of every process that runs; zombies, whom nobody has asked for, do not."""
    command = ["ps", "-A", "-o", "pid=,ppid=,stat="]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = (line.split() for line in shown.splitlines())
    return {int(pid): int(parent) for pid, parent, state in lines if not state.startswith("Z")}


@pytest.mark.skipif(shutil.which("ps") is None, reason="looks at processes")
def test_processes_end_with_a_parent_that_is_killed(tmp_path):
    # Results of more than a pipe holds: without a reader, processes would wait to write them.
    (tmp_path / "experiment.toml").write_text(
        LONG.replace("replications = 60", "replications = 9999")
    )
    command = [sys.executable, "-c", "from uli_fast.cli import main; main()", "run"]
    command += [str(tmp_path / "experiment.toml"), "--out", str(tmp_path / "r")]
    command += ["--keep-every", "0.02", "--jobs", "2", "--backend", "loky"]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while child.poll() is None and parts_in(tmp_path) < 8:
        time.sleep(0.01)
    workers = {pid for pid, parent in processes().items() if parent == child.pid}
    child.kill()
    child.wait()
    assert len(workers) >= 2
    try:
        wait_until(lambda: not workers & processes().keys(), lambda: "they live on")
    finally:
        for worker in workers & processes().keys():
            os.kill(worker, signal.SIGKILL)


# simulate(checkpoint=...)


def test_simulate_goes_on_from_its_checkpoint(tmp_path):
    learner, problem = uli.SuccessiveElimination(0.1), uli.BernoulliBandit([0.5, 0.4])
    plain = uli.simulate(learner, problem, 5000, 9, seed=3)
    part = uli.simulate(learner, problem, 5000, 4, seed=3, checkpoint=tmp_path / "c")
    assert part.digest() == plain.first(4).digest()
    kept = sorted((tmp_path / "c").glob("part-*"))
    again = uli.simulate(learner, problem, 5000, 9, seed=3, checkpoint=tmp_path / "c")
    assert again.digest() == plain.digest()
    assert all(path.exists() for path in kept)
    for change in ({"seed": 4}, {"horizon": 5001}, {"engine": "rounds"}):
        call = {"horizon": 5000, "seed": 3} | change
        with pytest.raises(ResultsError, match=next(iter(change))):
            uli.simulate(learner, problem, replications=9, checkpoint=tmp_path / "c", **call)
    other = uli.BernoulliBandit([0.5, 0.41])
    with pytest.raises(ResultsError, match="problem"):
        uli.simulate(learner, other, 5000, 9, seed=3, checkpoint=tmp_path / "c")
    with pytest.raises(ArgumentError, match="seed"):
        uli.simulate(learner, problem, 5000, 9, checkpoint=tmp_path / "d")


def test_a_checkpoint_tells_problems_apart_by_what_is_in_them(tmp_path):
    a, b = uli.mdps.random_dense(2, 2, 2, seed=1), uli.mdps.random_dense(2, 2, 2, seed=2)
    uli.simulate(uli.UBEV(), a, 200, 2, seed=1, checkpoint=tmp_path / "c")
    assert a.optimal_value  # a value that is remembered changes nothing
    again = uli.simulate(uli.UBEV(), a, 200, 3, seed=1, checkpoint=tmp_path / "c")
    assert again.digest() == uli.simulate(uli.UBEV(), a, 200, 3, seed=1).digest()
    with pytest.raises(ResultsError, match="problem"):
        uli.simulate(uli.UBEV(), b, 200, 2, seed=1, checkpoint=tmp_path / "c")


def test_replications_can_be_added_by_number():
    learner, problem = uli.LilUCB(0.1), uli.BernoulliBandit([0.5, 0.4, 0.3])
    whole = uli.simulate(learner, problem, 3000, 8, seed=2)
    parts = [
        uli.simulate(learner, problem, 3000, n, seed=2, first_replication=at)
        for at, n in ((0, 3), (3, 5))
    ]
    assert uli.Runs.joined(parts).digest() == whole.digest()
    lanes = uli.simulate(uli.Exp3P(), problem, 3000, 40, seed=2)
    rest = uli.simulate(uli.Exp3P(), problem, 3000, 13, seed=2, first_replication=27)
    assert (lanes.last_play[27:] == rest.last_play).all()


def test_parts_that_overlap_are_refused(tmp_path):
    store = Store.writing(tmp_path, {})
    runs = uli.simulate(uli.UCB(), uli.BernoulliBandit([0.5, 0.4]), 100, 3, seed=1)
    store.add(0, runs)
    assert store.missing(5) == [(3, 2)]
    store.add(2, runs)
    with pytest.raises(ResultsError, match="overlaps"):
        store.missing(5)
    assert np.array_equal(uli.Runs.load(tmp_path / "part-0-3").last_play, runs.last_play)
