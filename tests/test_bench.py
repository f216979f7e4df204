"""Goals and benchmarks belong together; the figures are held against them as they say.

Nothing is timed here: ``make bench-check`` does that.
"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parent.parent
BENCH = ROOT / "bench"
GOALS = tomllib.loads((BENCH / "goals.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def check():
    sys.path.insert(0, str(BENCH))
    try:
        import check

        yield check
    finally:
        sys.path.remove(str(BENCH))
        del sys.modules["check"]


@pytest.fixture(scope="module")
def results(check):
    yield sys.modules["results"]
    del sys.modules["results"]


def a_run(results, ratio, seeds=5, about="", **more):
    """Return a run of one benchmark, "a"."""
    figure = results.Measured(1.0, 1.0, ratio, ratio, False, seeds, about, **more)
    return results.Results({}, "2026-01-02", {"a": figure})


def test_every_goal_names_a_benchmark_and_every_benchmark_has_its_words():
    command = [sys.executable, "-m", "pytest", "bench", "--collect-only", "-q"]
    # Disabled in words: benchmarks that find themselves in a worker of a parallel run end in a
    # warning.
    command += ["-o", "addopts=", "-p", "no:cacheprovider", "--benchmark-disable"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    names = [line for line in said.stdout.splitlines() if "::" in line]
    assert names and not said.returncode, said.stdout + said.stderr
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


def test_laps_are_joined_by_the_least_of_each_seed(results, tmp_path):
    laps = [[[3.0, 1.0, 5.0], [8.0, 8.0, 20.0]], [[2.0, 4.0, 6.0], [9.0, 7.0, 30.0]]]
    paths = [tmp_path / name for name in ("first.json", "last.json")]
    for path, best in zip(paths, laps, strict=True):
        info = dict(key="a", yardstick=False, seeds=3, repeats=2, **results.figures(best))
        data = {"machine_info": {}, "datetime": path.stem, "benchmarks": [{"extra_info": info}]}
        path.write_text(json.dumps(data))
    results.join(*paths)
    joined = results.read(paths[1])
    assert joined.when == "last" and joined.figures["a"][:4] == (2.0, 5.0, 8.0, 4.0)
    kept = json.loads(paths[1].read_text())["benchmarks"][0]["extra_info"]
    assert kept["best"] == [[2.0, 1.0, 5.0], [8.0, 7.0, 20.0]] and kept["repeats"] == 4


def test_laps_of_different_benchmarks_are_not_joined(results, tmp_path):
    paths = [tmp_path / name for name in ("first.json", "last.json")]
    for path, keys in zip(paths, ("ab", "a"), strict=True):
        each = [{"extra_info": {"key": key, **results.figures([[1.0], [2.0]])}} for key in keys]
        path.write_text(json.dumps({"benchmarks": each}))
    with pytest.raises(SystemExit, match="not in both laps: b"):
        results.join(*paths)


def test_what_looks_slow_is_measured_once_more_and_its_least_counts(
    results, check, tmp_path, monkeypatch
):
    def write(path, times):
        each = [
            {
                "fullname": f"bench/test_x.py::test_{key}",
                "extra_info": {
                    "key": key,
                    "yardstick": False,
                    "seeds": 1,
                    "repeats": 1,
                    **results.figures([[ours], [10.0]]),
                },
            }
            for key, ours in times.items()
        ]
        content = {"machine_info": {}, "datetime": "2026-01-03", "benchmarks": each}
        path.write_text(json.dumps(content))

    last, called = tmp_path / "last.json", []
    monkeypatch.setattr(check, "LAST", last)
    goal = {"work": "w", "rival": "r", "at_least": 5.0}
    monkeypatch.setattr(check, "goals", lambda: {"a": goal, "b": goal})
    monkeypatch.setattr(check, "history", lambda: [])
    for second, status in ((1.0, 0), (3.0, 1)):

        def lap(command, second=second, **more):
            called.append(command[-1])
            write(tmp_path / "again.json", {"b": second})

        monkeypatch.setattr(check.subprocess, "run", lap)
        write(last, {"a": 1.0, "b": 4.0})
        assert check.main() == status
        assert results.read(last).figures["b"].ours == second
    assert called == ["bench/test_x.py::test_b"] * 2


def test_a_verdict_is_what_was_measured(results):
    figure = a_run(results, 5.0).figures["a"]
    assert results.verdict({"at_most": 1.0}, figure) == "met"
    assert results.verdict({"at_most": 0.99}, figure) == "missed"
    assert results.verdict({"at_least": 5.0}, figure) == "met"
    assert results.verdict({"at_least": 5.01}, figure) == "missed"
    assert results.verdict({"at_least": 5.0}, None) == "not measured"
    assert results.verdict({}, figure) == ""
    counts = {"calls": (7, 7), "swaps": (8, 7.5)}
    assert [said for *_, said in results.counted(figure._replace(counts=counts))] == [
        "met",
        "missed",
    ]


def test_what_has_become_slower_is_found(results):
    before = [a_run(results, x) for x in (9.0, 10.0, 30.0)]
    assert results.slower(a_run(results, 10.0 / 1.29), before) == {}
    assert results.slower(a_run(results, 10.0 / 1.31), before) == {"a": (10.0 / 1.31, 10.0)}
    assert results.slower(a_run(results, 6.0), before[:1]) == {"a": (6.0, 9.0)}


def test_only_like_is_held_against_like(results):
    """Other seeds have another median, and other work another ratio."""
    before = [a_run(results, 10.0)]
    assert results.slower(a_run(results, 1.0, seeds=3), before) == {}
    assert results.slower(a_run(results, 1.0, about="other work"), before) == {}


def test_what_takes_half_as_long_again_as_usual_is_named(results, check):
    """Every benchmark of the newest kept run at its median, and then one after the other x 1.5."""
    runs = results.history()
    figures = {
        key: figure._replace(ratio=median(results.usual(key, figure, runs)))
        for key, figure in runs[-1].figures.items()
    }
    now = runs[-1]._replace(figures=figures)
    assert "slower" not in check.held(now, runs)[1].values()
    for key, figure in figures.items():
        slow = figure._replace(ours=1.5 * figure.ours, ratio=figure.ratio / 1.5)
        _, wrong = check.held(now._replace(figures={**figures, key: slow}), runs)
        assert wrong[key] == "slower"


def test_a_count_beyond_what_is_allowed_is_wrong(results, check, monkeypatch):
    monkeypatch.setattr(check, "goals", lambda: {"a": {"work": "w"}})
    assert check.held(a_run(results, 1.0, counts={"swaps": (7, 7)}), [])[1] == {}
    assert check.held(a_run(results, 1.0, counts={"swaps": (8, 7)}), [])[1] == {"a": "missed"}


def test_what_is_not_measured_has_the_verdict_of_the_last_run_that_did(results, check, monkeypatch):
    goal = {"work": "w", "rival": "r", "at_least": 5.0}
    monkeypatch.setattr(check, "goals", lambda: {"a": goal})
    nothing = results.Results({}, "2026-01-03", {})
    met, missed, other = (
        a_run(results, ratio, about=about)
        for ratio, about in ((5.0, "w / r"), (4.9, "w / r"), (5.0, "w / another"))
    )
    lines, wrong = check.held(nothing, [missed, met, other])
    assert lines[0].startswith("met, in the run of 2026-01-02 ") and wrong == {}
    assert check.held(nothing, [met, missed])[1] == {"a": "missed"}
    assert check.held(nothing, [other])[1] == {"a": "not measured"}


def test_benchmarks_want_one_thread(results, monkeypatch):
    for name in results.ONE_THREAD:
        monkeypatch.setenv(name, "1")
    results.refuse_threads()
    monkeypatch.delenv(results.ONE_THREAD[0])
    with pytest.raises(RuntimeError, match=results.ONE_THREAD[0]):
        results.refuse_threads()


def test_growth_is_fitted_through_three_points_and_its_sizes_are_not_rounded(check):
    from report import Curve, size

    four = Curve("", "", "", [1.0, 10.0, 100.0, 1000.0], [5.0, 1.0, 10.0, 1000.0])
    six = Curve("", "", "", [10.0**e for e in range(6)], [9.0, 9.0, 9.0, 1.0, 10.0, 100.0])
    assert four.power() == pytest.approx(1.5) and six.power() == pytest.approx(1.0)
    assert [size(x) for x in (2.0, 512.0, 65_536.0, 1e12)] == ["2", "512", "65,536", "1e12"]


def test_the_history_can_be_read_and_names_no_place(results):
    least = {"cpu", "python_version", "numpy", "numba", "uli_fast"}
    more = {"scipy", "cvxpy", "highspy", "clarabel", "gcc"}
    for path in results.HISTORY.glob("*.json"):
        kept = results.read(path)
        assert kept.figures
        assert least <= set(kept.machine) <= least | more
