"""What a first user waits for: a new interpreter each time, its start included."""

import os
import subprocess
import sys
import tempfile

import pytest

from bench.support.cases import Case

IMPORT = "import uli_fast"
FIRST = """
import uli_fast as uli
problem = uli.BernoulliBandit([0.5, 0.45])
uli.simulate(uli.SuccessiveElimination(), problem, 10**6, 10, seed=1)
"""


def python(code, keep=True):
    """Return a program in a new interpreter, with or without the kernels kept on disk."""

    def run():
        with tempfile.TemporaryDirectory() as empty:
            more = {} if keep else {"NUMBA_CACHE_DIR": empty}
            subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | more)

    return Case(lambda seed: run)


def test_import(versus):
    versus(python(IMPORT), python("pass"), seeds=1, repeats=10)


def test_first_result_with_kernels_kept(versus):
    versus(python(FIRST), python("pass"), seeds=1, repeats=5)


@pytest.mark.long
def test_first_result_without(versus):
    versus(python(FIRST, keep=False), python("pass"), seeds=1, repeats=1)
