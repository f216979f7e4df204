"""What is published, as users get it: ``make wheel-test``.

Builds the source archive, and the wheel from it; compares what they hold with what is in the
checkout; installs the wheel into an empty environment, and there, far from the checkout, runs the
demo, a race, a live study and a report. Tests from the archive run in the archive.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
# In the checkout and of no use to anybody who has the archive.
NOT_SHIPPED = (".ci/",)
# Quick tests that read files of the project: they fail where one is missing.
ARCHIVE_TESTS = ("tests/test_package.py", "tests/test_project_files.py", "tests/test_docs_links.py")
DEMO = ("demo", "--horizon", "1000000", "--replications", "2", "--trials", "10")
TOUR = """
import importlib.resources
import sys
from pathlib import Path

import uli_fast as uli

assert Path(uli.__file__).is_relative_to(sys.prefix), uli.__file__
assert importlib.resources.files("uli_fast").joinpath("py.typed").is_file()

race = uli.race(["a", "b"], lambda name, i: float(name == "a"), range(100), seed=1)
assert race.best == "a" and race.certificate.bound == 0.0
race.report("race.html")

arms = ["placebo", "drug"]
with uli.Study.open("trial.db", learner=uli.BettingElimination(0.05), arms=arms) as study:
    for number in range(20):
        decision = study.ask(request_id=f"patient-{number}")
        study.tell(decision.id, float(decision.arm == "drug"))
with uli.Study.open("trial.db") as study:
    assert study.ask(request_id="patient-3").id == 4
assert uli.Study.audit("trial.db").events == 41

trial = uli.datasets.load("isis2")
learners = [uli.BettingElimination(), uli.KLUCB()]
result = uli.compare(learners, trial, horizon=10**4, replications=2, seed=1)
result.report("report.html")
result.plot("gap.png")
for page in ("race.html", "report.html"):
    assert "<svg" in Path(page).read_text(encoding="utf-8")
"""


def main() -> None:
    """Build, look inside, install, use."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        archive, wheel = build(folder / "dist")
        if (ROOT / ".git").exists():
            check_wheel(wheel)
        else:
            print("no checkout of git: what is in the archive and the wheel is not compared")
        check_archive(archive, folder)
        use(wheel, folder)


def run(*command: object, cwd: Path, **environment: str) -> None:
    """Run a command, print what it is and how long it took; its failure is ours."""
    began = time.perf_counter()
    words = [str(word) for word in command]
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(words, cwd=cwd, env=clean | environment, capture_output=True, text=True)
    label = " ".join(word if len(word) < 60 else f"{word.strip().split()[0]} ..." for word in words)
    print(f"{time.perf_counter() - began:5.1f} s  {label}", flush=True)
    if done.returncode:
        sys.exit(f"{done.stdout}\n{done.stderr}\nfailed: {label}")


def build(target: Path) -> tuple[Path, Path]:
    """Build the archive from the checkout, and the wheel from the archive."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", target, ROOT, cwd=ROOT)
    (archive,), (wheel,) = target.glob("*.tar.gz"), target.glob("*.whl")
    return archive, wheel


def tracked() -> set[str]:
    """Return the files of the project: those that git would keep."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}


def check_wheel(wheel: Path) -> None:
    """The wheel holds every file of the package, and no other."""
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    wanted = {name for name in tracked() if name.startswith("uli_fast/")}
    assert held == wanted, f"in one of checkout and wheel only: {sorted(held ^ wanted)}"


def check_archive(archive: Path, folder: Path) -> None:
    """The archive holds every file of the project, and its tests run in it."""
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    (root,) = (path for path in folder.iterdir() if (path / "PKG-INFO").is_file())
    if (ROOT / ".git").exists():
        held = {x.relative_to(root).as_posix() for x in root.rglob("*") if x.is_file()}
        wanted = {name for name in tracked() if not name.startswith(NOT_SHIPPED)}
        assert wanted <= held, f"not in the archive: {sorted(wanted - held)}"
        assert held - wanted <= {"PKG-INFO"}, f"not in the checkout: {sorted(held - wanted)}"
    tests = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *ARCHIVE_TESTS)
    run(*tests, cwd=root, PYTHONPATH=str(root))


def use(wheel: Path, folder: Path) -> None:
    """Install the wheel where nothing else is, and use it."""
    environment, empty = folder / "environment", folder / "empty"
    venv.create(environment, with_pip=True)
    binaries = environment / ("Scripts" if os.name == "nt" else "bin")
    python = binaries / "python"
    pip = (python, "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check")
    run(*pip, f"{wheel}[report]", cwd=folder)
    empty.mkdir()
    run(python, "-W", "error::DeprecationWarning:uli_fast", "-c", TOUR, cwd=empty)
    run(binaries / "uli", *DEMO, cwd=empty)
    made = {path.name for path in (empty / "uli-demo").iterdir()}
    assert {"gap.png", "report.html", "trial.html"} <= made, made


if __name__ == "__main__":
    main()
