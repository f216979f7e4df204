"""The tests as on other machines: ``make test-portable``, about two hours on two cores.

Runs all of them in every setting below, one after the other, and prints a line for each. Names
choose settings, and what follows ``--`` chooses tests:

    .venv/bin/python -m tests.portable old-blas one-core -- tests/geometry tests/study

Kernels are kept in NUMBA_CACHE_DIR if it is set, else in a new folder. So the second setting is
what a second ``make test`` is: nothing has to be compiled. Numba tells apart what was compiled for
other processors.
"""

import contextlib
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

ROOT = Path(__file__).parent.parent
SUITE = ("-m", "pytest", "-n", "2", "--dist", "loadfile", "--benchmark-disable")
INTEL = platform.machine() in ("x86_64", "AMD64")


class Setting(NamedTuple):
    """What is different from this machine as it is."""

    name: str
    environment: tuple[tuple[str, str], ...] = ()
    cores: int = 0  # as many of them only; 0 is all
    beside: int = 0  # processes that keep a core busy
    possible: bool = True  # here


# NumPy has its own functions for the processors it knows, as the C library has.
NUMPY = " ".join(name for name in __cpu_dispatch__ if __cpu_features__[name])
SETTINGS = (
    Setting("as-it-is"),
    Setting("again"),
    Setting("old-blas", (("OPENBLAS_CORETYPE", "Prescott"),), possible=INTEL),
    Setting(
        "new-blas",
        (("OPENBLAS_CORETYPE", "SkylakeX"),),
        possible=INTEL and __cpu_features__.get("AVX512_SKX", False),
    ),
    Setting(
        "old-libraries",
        (
            ("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F"),
            ("NPY_DISABLE_CPU_FEATURES", NUMPY),
        ),
        possible=INTEL and platform.libc_ver()[0] == "glibc",
    ),
    Setting("any-processor", (("NUMBA_CPU_NAME", "generic"),)),
    Setting("one-core", cores=1, possible=hasattr(os, "sched_setaffinity")),
    Setting("busy", beside=4),
    Setting("nothing-installed", (("ULI_TESTS_WITHOUT", "postgresql chromium"),)),
)


@contextlib.contextmanager
def fewer(cores: int) -> Iterator[None]:
    """Let programs that are started use the first of the cores only."""
    if not cores:
        yield
        return
    all_of_them = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(all_of_them)[:cores])
    try:
        yield
    finally:
        os.sched_setaffinity(0, all_of_them)


@contextlib.contextmanager
def busy(processes: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Keep cores busy."""
    # Each ends by itself if whoever started it was killed.
    command = [sys.executable, "-c", "import os, sys\nwhile os.getppid() == int(sys.argv[1]): pass"]
    command.append(str(os.getpid()))
    started = [subprocess.Popen(command) for _ in range(processes)]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()


def run(setting: Setting, tests: list[str], cache: str) -> bool:
    """Run the tests in a setting; say what came out, and return whether all were green."""
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = os.environ | threads | {"NUMBA_CACHE_DIR": cache} | dict(setting.environment)
    begun = time.perf_counter()
    with fewer(setting.cores), busy(setting.beside):
        done = subprocess.run(
            [sys.executable, *SUITE, *tests],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    green, seconds = done.returncode == 0, time.perf_counter() - begun
    said = re.sub(r" in [\d.]+s.*", "", done.stdout.strip().rpartition("\n")[2].strip("= "))
    print(f"{setting.name:18} {'green' if green else 'RED  '} {seconds:5.0f} s  {said}", flush=True)
    if not green:
        print(done.stdout[-20_000:], flush=True)
    return green


def main(words: list[str]) -> int:
    """Run the settings that are named, or all."""
    at = words.index("--") if "--" in words else len(words)
    names, tests = words[:at], words[at + 1 :]
    if wrong := set(names) - {setting.name for setting in SETTINGS}:
        sys.exit(f"{', '.join(wrong)}: not one of {', '.join(x.name for x in SETTINGS)}")
    green = True
    with tempfile.TemporaryDirectory(prefix="portable-") as folder:
        cache = os.environ.get("NUMBA_CACHE_DIR", folder)
        for setting in SETTINGS:
            if setting.name not in (names or [x.name for x in SETTINGS]):
                continue
            if setting.possible:
                green &= run(setting, tests, cache)
            else:
                print(f"{setting.name:18} not on this machine", flush=True)
    return int(not green)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
