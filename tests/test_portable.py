"""Tests are green on any machine: none looks at a clock, and each setting is what it says."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import portable
from tests.support import browser, postgres

TESTS = Path(__file__).parent
CLOCKS = {"perf_counter", "monotonic", "process_time", "time", "thread_time"}
# Waits at its own pace, in Ray's environment; sets the clock itself.
OTHERS = {"compat/drivers/test_ray_tasks.py", "simulation/test_clock.py"}
LIMITS = {"timeout", "patience"}


def looks_at_a_clock(node):
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in CLOCKS
        and ast.unparse(node.func.value) == "time"
    )


def has_a_limit_of_its_own(node):
    """What is to end without success may do so at once; all else has PATIENCE."""
    return (
        isinstance(node, ast.keyword)
        and node.arg in LIMITS
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, int | float)
        and node.value.value >= 1
    )


def test_no_test_needs_a_speed():
    files = {file.relative_to(TESTS).as_posix(): file for file in TESTS.rglob("test_*.py")}
    wrong = [
        f"{name}: {ast.unparse(x)}"
        for name in sorted(files.keys() - OTHERS)
        for x in ast.walk(ast.parse(files[name].read_text(encoding="utf-8")))
        if looks_at_a_clock(x) or has_a_limit_of_its_own(x)
    ]
    assert wrong == []


def test_a_setting_reaches_the_tests(tmp_path, capfd, monkeypatch):
    """Each runs on its own; a red one makes all of it red, and is shown."""
    file = tmp_path / "test_it.py"
    file.write_text(
        "import os\n"
        "def test_it():\n"
        "    if 'NUMBA_CPU_NAME' in os.environ: assert os.environ['NUMBA_CPU_NAME'] == 'AMD'\n"
        "    assert os.environ['NUMBA_CACHE_DIR'] and os.environ['OMP_NUM_THREADS'] == '1'\n"
    )
    monkeypatch.setattr(portable, "SUITE", ("-m", "pytest", "-p", "no:cacheprovider"))
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    words = ["--", f"--rootdir={tmp_path}", "-c", os.devnull, str(file)]
    assert portable.main(["again", "nothing-installed", *words]) == 0
    said = capfd.readouterr().out
    assert re.findall(r"(\S+) +green +\d+ s +1 passed", said) == ["again", "nothing-installed"]
    assert portable.main(["again", "any-processor", *words]) == 1
    said = capfd.readouterr().out
    assert "any-processor      RED" in said and "== 'AMD'" in said
    assert re.search(r"again +green", said)
    with pytest.raises(SystemExit, match=r"nowhere: not one of as-it-is, again"):
        portable.main(["nowhere"])


def test_what_is_hidden_is_not_there(monkeypatch):
    monkeypatch.setenv("ULI_TESTS_WITHOUT", "postgresql chromium")
    assert "chromium" in browser.missing() and "PostgreSQL" in postgres.missing()
    assert postgres.program("pg_dump") is None


def test_contributing_names_every_setting():
    page = (TESTS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    _, _, table = page.partition("| setting |")
    for setting in portable.SETTINGS:
        assert f"`{setting.name}`" in table
        for name, value in setting.environment:
            assert name in table and (name == "NPY_DISABLE_CPU_FEATURES" or value in table)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="needs sched_setaffinity")
def test_one_core_is_one_core():
    before = os.sched_getaffinity(0)
    command = [sys.executable, "-c", "import os; print(len(os.sched_getaffinity(0)))"]
    with portable.fewer(1):
        assert subprocess.check_output(command, text=True) == "1\n"
    assert os.sched_getaffinity(0) == before


def test_what_keeps_a_core_busy_ends_with_the_setting():
    with portable.busy(1) as processes:
        (process,) = processes
        assert process.poll() is None
    assert process.returncode is not None
