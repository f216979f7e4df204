"""Compiled kernels that are kept: a bad file or folder does no harm."""

import os
import subprocess
import sys

# Two small kernels; one of a learner takes seconds to compile.
RUN = (
    "import numpy as np\n"
    "from uli_fast.kernels.draws import binomial, coins\n"
    "words = np.arange(1, 5, dtype=np.uint64)\n"
    "print(binomial.log_likelihood(9.0, 0.4, 3.0), coins.toss_one(words, 0.4, 9))"
)


def run_with_cache(folder):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    return subprocess.run(
        [sys.executable, "-W", "default", "-c", RUN],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )


def test_an_empty_cache_file_is_purged(tmp_path):
    first = run_with_cache(tmp_path)
    assert first.returncode == 0, first.stderr
    kept = list(tmp_path.rglob("*.nbi"))
    assert kept
    for entry in kept:
        entry.write_bytes(b"")
    again = run_with_cache(tmp_path)
    assert (again.returncode, again.stdout) == (0, first.stdout), again.stderr


def test_an_unusable_cache_folder_is_one_warning(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    done = run_with_cache(blocked)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("CacheWarning") == 1
