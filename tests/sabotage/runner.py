"""Apply sabotages to copies of the package, and see whether their tests notice."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from tests.sabotage.anchors import ROOT, Sabotage, file_of

# Copies that are worked on at once.
WORKERS = 2


def run(chosen: list[Sabotage]) -> int:
    """Show that sabotages are caught; return 1 if one is not."""
    # What one test should notice is played on one copy: it is run untouched only once.
    tests = sorted({s.test for s in chosen})
    caught: list[str] = []  # counted one by one: a worker may break off
    missed: list[str] = []
    with tempfile.TemporaryDirectory() as temporary:
        workers = []
        for i in range(WORKERS):
            share = [s for s in chosen if tests.index(s.test) % WORKERS == i]
            workers.append(
                threading.Thread(
                    target=work, args=(Path(temporary) / str(i), share, caught, missed)
                )
            )
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    for what in missed:
        print(f"not caught: {what}")
    print(f"{len(caught)} of {len(chosen)} caught")
    return int(len(caught) < len(chosen))


def work(folder: Path, chosen: list[Sabotage], caught: list[str], missed: list[str]) -> None:
    """Apply one sabotage after the other to a copy; kernels that stay the same stay compiled."""
    copy(folder)
    for test in dict.fromkeys(s.test for s in chosen):
        if red(folder, test):
            missed.append(f"{test} fails on the untouched package")
            return
    for s in chosen:
        try:
            noticed = notices(folder, s)
        except (ValueError, RuntimeError) as error:
            missed.append(f"{s.what}: {error}")
            continue
        (caught if noticed else missed).append(s.what)
        print(f"{'caught' if noticed else 'MISSED':7} {s.what:54} {s.test}", flush=True)


def notices(folder: Path, sabotage: Sabotage) -> bool:
    """Say whether the test of a sabotage fails with it in place; the copy is mended afterwards."""
    files = {file_of(change.at.partition(":")[0]) for change in sabotage.changes}
    try:
        for change in sabotage.changes:
            change.apply(folder)
        return red(folder, sabotage.test)
    finally:
        for file in files:
            shutil.copyfile(file, folder / file.relative_to(ROOT))


def red(folder: Path, test: str) -> bool:
    """Run one test in a copy; say whether it failed (an error elsewhere is not a catch)."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / ".cache")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", test],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{test}: pytest could not run\n{done.stdout}\n{done.stderr}")
    return done.returncode == 1


def copy(folder: Path) -> None:
    for name in ("uli_fast", "tests", "examples", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder)
