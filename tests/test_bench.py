"""Goals and benchmarks belong together; the figures are held against them as they say.

Nothing is timed here: ``make bench-check`` does that.
"""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BENCH = ROOT / "bench"
GOALS = tomllib.loads((BENCH / "goals.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def results():
    sys.path.insert(0, str(BENCH))
    try:
        import results

        yield results
    finally:
        sys.path.remove(str(BENCH))
        del sys.modules["results"]


def test_every_goal_names_a_benchmark_and_every_benchmark_has_its_words():
    command = [sys.executable, "-m", "pytest", "bench", "--collect-only", "-q"]
    command += ["-o", "addopts=", "-p", "no:cacheprovider"]
    said = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, env=os.environ
    ).stdout
    names = [line for line in said.splitlines() if "::" in line]
    assert names, said
    found = set()
    for name in names:
        file, test = name.split("::", 1)
        found.add(f"{Path(file).stem.removeprefix('test_')}/{test.removeprefix('test_')}")
    timed = {key for key in found if not key.startswith("plain/")}
    assert set(GOALS) == timed


def test_goals_are_complete():
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    for key, goal in GOALS.items():
        assert goal["work"], key
        assert f"<!-- begin {goal['part']} -->" in page, key
        assert goal.get("at_most", 1.0) > 0.0 and goal.get("at_least", 1.0) > 0.0
        assert "at_least" not in goal or goal.get("rival"), key
        assert set(goal) <= {"part", "work", "rival", "at_most", "at_least", "note"}, key


def test_a_verdict_is_what_was_measured(results):
    figure = results.Measured(ours=1.0, slowest=1.0, rival=5.0, ratio=5.0, yardstick=False)
    assert results.verdict({"at_most": 1.0}, figure) == "met"
    assert results.verdict({"at_most": 0.99}, figure) == "missed"
    assert results.verdict({"at_least": 5.0}, figure) == "met"
    assert results.verdict({"at_least": 5.01}, figure) == "missed"
    assert results.verdict({"at_least": 5.0}, None) == "not measured"
    assert results.verdict({}, figure) == ""


def test_what_has_become_slower_is_found(results):
    def run(ratio):
        figure = results.Measured(1.0, 1.0, ratio, ratio, False)
        return results.Results({}, "", {"a": figure})

    before = [run(x) for x in (9.0, 10.0, 30.0)]
    assert results.slower(run(7.1), before) == {}
    assert results.slower(run(10.0 / 1.5), before) == {"a": (10.0 / 1.5, 10.0)}
    assert results.slower(run(1.0), before[:2]) == {}  # too little is known


def test_the_history_can_be_read_and_names_no_place(results):
    for path in results.HISTORY.glob("*.json"):
        kept = results.read(path)
        assert kept.figures
        assert set(kept.machine) == {"cpu", "python_version", "numpy", "numba", "uli_fast"}
