"""What a first user waits for: a new interpreter each time, its start included.

Compiling is counted in CPU seconds, of which threads and a busy machine make no fewer and no more.
"""

import os
import resource
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
POLICIES = """
import uli_fast as uli
mdp = uli.mdps.random_dense(3, 2, 3, seed=1)
uli.simulate(uli.PolicyElimination(), mdp, 1000, 10, seed=1)
"""
DOCTOR = """
from uli_fast.cli import main
main(["doctor", "--warm"])
"""


def python(code, keep=True, cpu=False):
    """Return a program in a new interpreter, with or without the kernels kept on disk.

    What counts is the time until it ends, or its CPU time and that of its children.
    """

    def run():
        begun = cpu_of_children()
        with tempfile.TemporaryDirectory() as empty:
            more = {} if keep else {"NUMBA_CACHE_DIR": empty}
            command, env = [sys.executable, "-c", code], os.environ | more
            subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL)
        return cpu_of_children() - begun

    return Case(lambda seed: run, says_its_time=cpu)


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_import(versus):
    versus(python(IMPORT), python("pass"), seeds=1, repeats=10)


def test_first_result_with_kernels_kept(versus):
    versus(python(FIRST), python("pass"), seeds=1, repeats=5)


@pytest.mark.long
def test_first_result_without(versus):
    versus(python(FIRST, keep=False), python("pass"), seeds=1, repeats=1)


def test_cpu_with_kernels_kept(versus):
    versus(python(FIRST, cpu=True), python("pass", cpu=True), seeds=1, repeats=5)


@pytest.mark.long
@pytest.mark.parametrize("code", [FIRST, POLICIES, DOCTOR], ids=["arms", "policies", "doctor"])
def test_cpu_without(versus, code):
    versus(python(code, keep=False, cpu=True), python("pass", cpu=True), seeds=1, repeats=1)
