"""What Numba recognises at once, and when kernels are stale."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import uli_fast as uli
from uli_fast import kernels
from uli_fast._support.streams import stream
from uli_fast.formulas.mixture import boundary
from uli_fast.formulas.phased_elimination import quota
from uli_fast.kernels import _jit
from uli_fast.kernels._jit import lean_kernel, lean_step, sources_fingerprint

LAWS = {
    "coins": uli.BernoulliBandit([0.5, 0.4]),
    "normals": uli.GaussianBandit([0.5, 0.4]),
    "table": uli.TableBandit(np.eye(2)),
    "set": uli.LinearBandit([0.5, 0.2], arm_set=uli.arm_sets.Ball(2)),
}


@pytest.mark.parametrize("engine", ["rounds", "skip"])
@pytest.mark.parametrize("name", LAWS)
def test_laws_are_of_arrays_and_numbers(name, engine):
    """Numba has no quick way to tell the type of anything else: tens of us at each call."""
    law = LAWS[name].law(stream(1, 0), engine)
    assert all(type(x) in (np.ndarray, int, float) for x in law), law


def test_episodes_are_drawn_from_arrays():
    law = uli.mdps.random_dense(2, 2, 2, seed=0).law(stream(1, 0))
    assert all(type(x) is np.ndarray for x in law), law


def decorators(function):
    return {ast.unparse(x).partition("(")[0] for x in function.decorator_list}


def is_lean(function):
    return any(name.startswith("lean_") for name in decorators(function))


NUMBERS = {"None", "bool", "int", "float", "tuple", "Total"}


def words(annotation):
    return set(re.findall(r"\w+", ast.unparse(annotation)))


def test_rows_of_a_batch_are_taken_by_kernels_that_count_no_references():
    """Others would count down what was never counted up, and free arrays that are in use."""
    files = sorted(Path(kernels.__file__).parent.rglob("*.py"))
    nodes = [x for f in files for x in ast.walk(ast.parse(f.read_text()))]
    functions = [x for x in nodes if isinstance(x, ast.FunctionDef)]
    of_numbers = {  # tuples without an array
        x.name
        for x in nodes
        if isinstance(x, ast.ClassDef)
        and all(words(y.annotation) <= NUMBERS for y in x.body if isinstance(y, ast.AnnAssign))
    }
    takers = {
        f.name for f in functions if is_lean(f) and not words(f.returns) <= NUMBERS | of_numbers
    }
    takers.add("law_of")  # by type
    assert takers >= {"state_of", "record_of", "book_of", "start_of"}
    callers = [
        f
        for f in functions
        for x in ast.walk(f)
        if isinstance(x, ast.Call) and isinstance(x.func, ast.Name) and x.func.id in takers
    ]
    assert len(callers) > 20
    bodies = {  # of what is chosen by type
        x.id
        for f in functions
        if "lean_by_type" in decorators(f)
        for x in ast.walk(f)
        if isinstance(x, ast.Name)
    }
    for f in callers:
        assert is_lean(f) or f.name in bodies, f.name


def test_an_edit_of_any_kernel_makes_the_cache_stale(tmp_path):
    (tmp_path / "shared").mkdir()
    kernel, part = tmp_path / "kernel.py", tmp_path / "shared" / "part.py"
    kernel.write_text("a = 1")
    part.write_text("b = 1")
    before = sources_fingerprint(tmp_path)
    assert sources_fingerprint(tmp_path) == before
    part.write_text("b = 2")  # Numba looks at the file of the function alone
    edited = sources_fingerprint(tmp_path)
    part.rename(tmp_path / "part.py")
    assert len({before, edited, sources_fingerprint(tmp_path)}) == 3


def test_formulas_import_nothing_heavy_and_kernels_compile_them():
    """F is computed without a compiler, and by the code that kernels run."""
    code = "import sys, uli_fast as uli\n"
    code += "for x in (uli.BettingElimination, uli.PhasedElimination, uli.SuccessiveElimination):\n"
    code += "    x(0.05).guarantee(4).rounds_until(0.1)\n"
    code += "assert not {'numba', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    for phase in range(1, 25):
        assert compiled_quota(phase, 4, 0.05, 0.5) == quota(phase, 4, 0.05, 0.5)
    for v in (0.0, 1.0, 1e3, 1e17):
        assert compiled_boundary(v, 4.0, 25.0) == pytest.approx(boundary(v, 4.0, 25.0), rel=1e-15)


@lean_kernel
def compiled_quota(phase, K, delta, R):
    return quota(phase, K, delta, R)


@lean_kernel
def compiled_boundary(v, level, rho):
    return boundary(v, level, rho)


@lean_step
def doubled(x):
    return x + x


def test_what_a_kernel_calls_is_compiled_into_it(monkeypatch):
    """Of a part there is no machine code, and Python never gets at it."""
    monkeypatch.setattr(_jit, "CACHE_FOLDER", None)  # what is kept on disk is not compiled again

    @lean_kernel
    def doubled_twice(x):
        return doubled(doubled(x))

    assert doubled_twice(3) == 12
    (part,) = doubled._part.overloads.values()
    assert part.library.get_pointer_to_function(part.fndesc.llvm_func_name) == 0
    assert not doubled.overloads
    assert doubled(3) == 6  # Python calls an entry of its own
    assert doubled.overloads
