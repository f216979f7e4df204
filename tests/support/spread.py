"""However an experiment is spread, the same bytes: ``python -m tests.support.spread``.

A row of the campaign. Serially, on threads, on processes, on a Dask cluster, on a local Ray and in
shards that are merged, killed and resumed on the way: every file is compared, hash by hash, once a
merge has made one part of each cell. Ray has an environment of its own, .venv-ray.
"""

import hashlib
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

from tests.experiments.clusters import dask_cluster
from tests.experiments.files import timeless
from tests.experiments.test_running import EXPERIMENT, MDP
from tests.experiments.watching import parts_in
from uli_fast import experiments
from uli_fast._support.versions import versions
from uli_fast.errors import GuaranteeWarning

ROOT = Path(__file__).parents[2]
RAY = ROOT / ".venv-ray"
STUDIES = {
    "bandits": EXPERIMENT.replace("replications = 12", "replications = 40"),
    "others": MDP.replace("replications = 5", "replications = 12"),
}


def whole(**options):
    """A way that runs an experiment at once."""

    def way(text, folder):
        experiments.run(experiments.ExperimentFile.parse(text), folder / "whole", **options)
        return [folder / "whole"]

    return way


def shards(n, *each):
    """A way of n shards, run as the given options say, one after the other."""

    def way(text, folder):
        folders = [folder / f"{i}-of-{n}" for i in range(1, n + 1)]
        for i, one in enumerate(folders):
            options = each[i % len(each)]
            experiments.run(
                experiments.ExperimentFile.parse(text), one, shard=(i + 1, n), **options
            )
        return folders

    return way


def killed(text, folder):
    """Three shards as commands, each killed once it has kept something, and resumed."""
    (folder / "experiment.toml").write_text(text)
    folders = [folder / f"{i}-of-3" for i in (1, 2, 3)]
    for i, one in enumerate(folders, 1):
        words = ["--out", str(one), "--shard", f"{i}/3", "--resume", "--keep-every", "1e-6"]
        command = [sys.executable, "-c", "from uli_fast.cli import main; main()", "run"]
        command += [str(folder / "experiment.toml"), *words]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        child = subprocess.Popen(command, **quiet)
        while child.poll() is None and parts_in(one) < 3:
            time.sleep(0.005)
        child.send_signal(signal.SIGKILL)
        child.wait()
        subprocess.run(command, check=True, **quiet)
    return folders


def dask(text, folder):
    """A Dask cluster of two processes."""
    with dask_cluster():
        return whole(jobs=2)(text, folder)


def through_joblib(text, folder):
    """Ray as a backend of joblib, which gives lists only."""
    import ray
    from joblib import parallel_config
    from ray.util.joblib import register_ray

    from uli_fast.experiments import ray_tasks

    register_ray()
    with ray_tasks.connected(2, lambda said: None), parallel_config("ray"):
        assert ray.is_initialized()
        return whole(jobs=2)(text, folder)


SMALL = {"keep_every": 1e-6}
HERE = {
    "serial": whole(),
    "2 threads, small parts": whole(jobs=2, **SMALL),
    "2 processes": whole(jobs=2, backend="loky"),
    "2 shards": shards(2, {}),
    "7 shards, in turn serial, on threads and on processes": shards(
        7, {}, {"jobs": 2, **SMALL}, {"jobs": 2, "backend": "loky"}
    ),
    "3 shards, each killed and resumed": killed,
    "Dask": dask,
}
ON_RAY = {
    "serial": whole(),
    "Ray": whole(jobs=2, backend="ray", keep_every=0.05),
    "Ray through joblib": through_joblib,
    "2 shards, one on Ray": shards(2, {"jobs": 2, "backend": "ray"}, {}),
}


def compared(ways):
    """Run both experiments in all ways; return the files' hashes, and whether all ways agree."""
    found, same = {}, True
    for name, text in STUDIES.items():
        for way, run in ways.items():
            folder = Path(tempfile.mkdtemp(prefix="ur"))
            begun = time.perf_counter()
            results = experiments.merge(run(text, folder), folder / "merged")
            files = timeless(folder / "merged") | {"digest": results.digest()}
            agrees = found.setdefault(name, files) == files and results.complete
            same &= agrees
            seconds = time.perf_counter() - begun
            print(f"{name}, {way}: {'same' if agrees else 'DIFFERS'}, {seconds:.1f} s", flush=True)
            shutil.rmtree(folder)
    return found, same


def on_ray():
    """Return what the same came to in Ray's environment; None where there is none."""
    python = RAY / "bin" / "python"
    if not (RAY / ".ready").exists():
        return None
    done = subprocess.run(
        [python, "-m", "tests.support.spread", "--ray"], cwd=ROOT, text=True, capture_output=True
    )
    *lines, last = done.stdout.splitlines() or [""]
    print(*lines, sep="\n", flush=True)
    if done.returncode:
        print(last, done.stderr[-3000:], sep="\n", flush=True)
        return {"same": False}
    return json.loads(last)


def summary(found):
    """Say of a dictionary of files what they come to."""
    text = json.dumps(found, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def main(words):
    """Run all ways, or those on Ray, and say what came out."""
    warnings.simplefilter("ignore", GuaranteeWarning)
    if words == ["--ray"]:
        import ray

        found, same = compared(ON_RAY)
        said = {"same": same, "files": summary(found), "versions": versions()}
        print(json.dumps(said | {"ray": ray.__version__}))
        return 0
    if find_spec("distributed") is None:
        del HERE["Dask"]
        print("Dask is not installed: skipped", flush=True)
    found, same = compared(HERE)
    ray, ways = on_ray(), len(HERE)
    if ray is None:
        word = "Ray skipped: it could not be installed (.venv-ray.log says why)"
    else:
        same &= ray["same"]
        if ray.get("versions") == versions():
            same &= ray["files"] == summary(found)
        ways += len(ON_RAY) - 1
        word = f"with Ray {ray.get('ray', '(it failed)')}"
    files = [path for each in found.values() for path in each if path != "digest"]
    cells = sum(path.endswith("about.json") for path in files)
    verdict = "the same bytes" if same else "NOT the same bytes"
    print(f"{ways} ways, {cells} cells, {len(files)} files compared by SHA-256: {verdict}; {word}")
    return int(not same)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
