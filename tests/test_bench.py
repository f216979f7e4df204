"""Goals and benchmarks belong together; the figures are held against them as they say.

Nothing is timed here: ``make bench-check`` does that.
"""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from statistics import median

import pytest

from bench.tools import check, report, results
from bench.tools.figures import draw_growth, draw_trend
from bench.tools.growth import Curve

ROOT = Path(__file__).parent.parent
BENCH = ROOT / "bench"
ENTRIES = tomllib.loads((BENCH / "goals.toml").read_text(encoding="utf-8"))
GOALS = results.goals()


def a_run(ratio, seeds=5, about="", **more):
    """Return a run of one benchmark, "a"."""
    figure = results.Measured(1.0, ratio, seeds, about, **more)
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
    gone = sorted(set(GOALS) - timed)
    assert not gone, f"bench/goals.toml has entries of benchmarks that are not there: {gone}"
    rest = sorted(timed - set(GOALS))
    silent = [key for key in rest if not docstring(key)]
    assert not silent, (
        f"nobody says what these benchmarks do: {silent}; give each function a docstring, or an "
        "entry in bench/goals.toml"
    )
    left = [key for key in rest if key.startswith("everyday/")]
    assert not left, f"everyday sizes need an entry in bench/goals.toml: {left}"


def docstring(key):
    """Return what a benchmark itself says that it does."""
    stem, name = key.partition("[")[0].split("/")
    tree = ast.parse((BENCH / f"test_{stem}.py").read_text(encoding="utf-8"))
    (found,) = [x for x in tree.body if getattr(x, "name", "") == f"test_{name}"]
    return ast.get_docstring(found)


def test_every_algorithm_has_a_suite():
    stems = {path.stem for path in (ROOT / "uli_fast" / "learners").glob("[!_]*.py")}
    assert stems <= {path.stem.removeprefix("test_") for path in BENCH.glob("test_*.py")}
    # At the top there are suites and nothing else.
    others = {path.name for path in BENCH.glob("*.py") if not path.name.startswith("test_")}
    assert others == {"__init__.py", "conftest.py"}


def test_goals_are_complete():
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    for key, goal in GOALS.items():
        assert goal["work"], key
        assert f"<!-- begin {goal['part']} -->" in page, key
        assert goal.get("at_most", 1.0) > 0.0 and goal.get("at_least", 1.0) > 0.0
        assert "at_least" not in goal or goal.get("rival"), key
        known = {"part", "work", "rival", "at_most", "at_least", "note", "row", "column"}
        assert set(goal) <= known, key


def test_every_rule_of_a_grid_names_points_that_are_there():
    """A misspelt axis or name would be about all points, or about none."""
    for name, entry in ENTRIES.items():
        assert "{" not in entry["work"] or "grid" in entry, name
        axes = {axis: results.words_of(values) for axis, values in entry.get("grid", {}).items()}
        fields = {"at_most", "at_least", "note"}
        for rule in (*entry.get("instead", ()), *entry.get("without", ())):
            assert set(rule) <= set(axes) | fields and set(rule) & set(axes), name
            for axis in set(rule) & set(axes):
                assert set(map(str, rule[axis])) <= set(axes[axis]), name


GRID = {
    "part": "P",
    "work": "{who}, {size} rounds",
    "rival": "r",
    "row": "{who}",
    "column": "{size} x",
    "at_least": 1,
    "instead": [{"at_least": 3, "who": ["b"], "size": [1000]}, {"at_least": 4, "size": [10]}],
    "without": [{"who": ["a"], "size": [1000]}],
    "grid": {"who": {"a": "Anna", "b": "Bert"}, "size": [10, 1000]},
}


def test_a_grid_is_a_goal_for_each_of_its_points():
    found = results.cells("x/y", GRID)
    assert {key: goal["at_least"] for key, goal in found.items()} == {
        "x/y[a-10]": 4,
        "x/y[b-10]": 4,
        "x/y[b-1000]": 3,
    }
    last = found["x/y[b-1000]"]
    assert (last["work"], last["row"], last["column"]) == ("Bert, 1,000 rounds", "Bert", "1,000 x")
    assert results.cells("x/y", {"work": "{w}"}) == {"x/y": {"work": "{w}"}}


def test_a_grid_is_shown_as_one_table_with_rival_beside_rival(monkeypatch):
    found = results.cells("x/y", GRID)
    found |= results.cells("x/z", {**GRID, "rival": "s", "instead": [], "without": []})
    monkeypatch.setattr(report, "goals", lambda: found)
    ratios = {"x/y[a-10]": 4.0, "x/y[b-1000]": 2.9, "x/z[b-1000]": 1234.5, "x/z[a-1000]": 0.96}
    figures = {key: results.Measured(1.0, ratio, 1) for key, ratio in ratios.items()}
    shown = report.figures_table("P", results.Results({}, "2026-01-02T03:04", figures))
    assert "How many times faster than r / s" in shown
    assert shown.splitlines()[2:] == [
        "|  | 10 x | 1,000 x |",
        "| --- | --- | --- |",
        "| Anna | 4 / ? | - / **0.96** |",
        "| Bert | ? / ? | **2.9** / 1,234 |",
    ]


def test_a_part_is_a_grid_or_a_list():
    for part in {goal["part"] for goal in GOALS.values()}:
        here = [goal for goal in GOALS.values() if goal["part"] == part]
        assert len({("row" in goal, "column" in goal) for goal in here}) == 1, part
        places = [(goal["row"], goal["column"], goal["rival"]) for goal in here if "row" in goal]
        assert len(set(places)) == len(places), part


def test_laps_are_joined_by_the_least_of_each_seed(tmp_path):
    laps = [[[3.0, 1.0, 5.0], [8.0, 8.0, 20.0]], [[2.0, 4.0, 6.0], [9.0, 7.0, 30.0]]]
    paths = [tmp_path / name for name in ("first.json", "last.json")]
    for path, best in zip(paths, laps, strict=True):
        info = dict(key="a", yardstick=False, seeds=3, repeats=2, **results.figures(best))
        data = {"machine_info": {}, "datetime": path.stem, "benchmarks": [{"extra_info": info}]}
        path.write_text(json.dumps(data))
    results.join(*paths)
    joined = results.read(paths[1])
    figure = joined.figures["a"]
    assert joined.when == "last"
    assert (figure.ours, figure.slowest, figure.rival, figure.ratio) == (2.0, 5.0, 8.0, 4.0)
    kept = json.loads(paths[1].read_text())["benchmarks"][0]["extra_info"]
    assert kept["best"] == [[2.0, 1.0, 5.0], [8.0, 7.0, 20.0]] and kept["repeats"] == 4


def test_laps_of_different_benchmarks_are_not_joined(tmp_path):
    paths = [tmp_path / name for name in ("first.json", "last.json")]
    for path, keys in zip(paths, ("ab", "a"), strict=True):
        each = [{"extra_info": {"key": key, **results.figures([[1.0], [2.0]])}} for key in keys]
        path.write_text(json.dumps({"benchmarks": each}))
    with pytest.raises(SystemExit, match="not in both laps: b"):
        results.join(*paths)


def test_what_looks_slow_is_measured_once_more_and_its_least_counts(tmp_path, monkeypatch):
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


def test_a_verdict_is_what_was_measured():
    figure = a_run(5.0).figures["a"]
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


def test_what_has_become_slower_is_found():
    before = [a_run(x) for x in (9.0, 10.0, 30.0)]
    assert results.slower(a_run(10.0 / 1.29), before) == {}
    assert results.slower(a_run(10.0 / 1.31), before) == {"a": (10.0 / 1.31, 10.0)}
    assert results.slower(a_run(6.0), before[:1]) == {"a": (6.0, 9.0)}


def test_only_like_is_held_against_like():
    """Other seeds have another median, and other work another ratio."""
    before = [a_run(10.0)]
    assert results.slower(a_run(1.0, seeds=3), before) == {}
    assert results.slower(a_run(1.0, about="other work"), before) == {}


def test_what_takes_half_as_long_again_as_usual_is_named():
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


def test_a_count_beyond_what_is_allowed_is_wrong(monkeypatch):
    monkeypatch.setattr(check, "goals", lambda: {"a": {"work": "w"}})
    assert check.held(a_run(1.0, counts={"swaps": (7, 7)}), [])[1] == {}
    assert check.held(a_run(1.0, counts={"swaps": (8, 7)}), [])[1] == {"a": "missed"}


def test_what_is_not_measured_has_the_verdict_of_the_last_run_that_did(monkeypatch):
    goal = {"work": "w", "rival": "r", "at_least": 5.0}
    monkeypatch.setattr(check, "goals", lambda: {"a": goal})
    nothing = results.Results({}, "2026-01-03", {})
    met, missed, other = (
        a_run(ratio, about=about)
        for ratio, about in ((5.0, "w / r"), (4.9, "w / r"), (5.0, "w / another"))
    )
    lines, wrong = check.held(nothing, [missed, met, other])
    assert lines[0].startswith("met, in the run of 2026-01-02 ") and wrong == {}
    assert check.held(nothing, [met, missed])[1] == {"a": "missed"}
    assert check.held(nothing, [other])[1] == {"a": "not measured"}


def test_benchmarks_want_one_thread(monkeypatch):
    for name in results.ONE_THREAD:
        monkeypatch.setenv(name, "1")
    results.refuse_threads()
    monkeypatch.delenv(results.ONE_THREAD[0])
    with pytest.raises(RuntimeError, match=results.ONE_THREAD[0]):
        results.refuse_threads()


def test_growth_is_fitted_through_three_points_and_its_sizes_are_not_rounded():
    four = Curve("", "", "", [1.0, 10.0, 100.0, 1000.0], [5.0, 1.0, 10.0, 1000.0])
    six = Curve("", "", "", [10.0**e for e in range(6)], [9.0, 9.0, 9.0, 1.0, 10.0, 100.0])
    assert four.power() == pytest.approx(1.5) and six.power() == pytest.approx(1.0)
    assert [results.size(x) for x in (2.0, 512.0, 65_536.0, 1e12)] == ["2", "512", "65,536", "1e12"]


def test_the_history_can_be_read_and_names_no_place(capsys):
    least = {"cpu", "python_version", "numpy", "numba", "uli_fast"}
    more = {"scipy", "cvxpy", "highspy", "clarabel", "gcc"}
    lines = results.HISTORY.read_text(encoding="utf-8").splitlines()
    runs = results.history()
    assert len(runs) == len(lines) and not capsys.readouterr().err
    for kept in runs:
        assert kept.figures
        assert least <= set(kept.machine) <= least | more


@pytest.fixture
def empty_history(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "HISTORY", tmp_path / "history.jsonl")
    assert results.history() == []
    return results.HISTORY


def test_a_run_is_kept_once_as_a_line_of_what_is_read_again(empty_history):
    figure = results.Measured(1 / 3, 2 / 3, 5, "w / r", {"swaps": [7, 8]}, 1.0, 2.0)
    first = results.Results({"cpu": "x"}, "2026-01-02", {"a": figure})
    second = first._replace(when="2026-01-01")
    for run in (first, second, first):
        results.keep(run)
    assert len(empty_history.read_text().splitlines()) == 2
    old, new = results.history()
    assert (old.when, new.when) == ("2026-01-01", "2026-01-02") and new.machine == {"cpu": "x"}
    assert new.figures["a"][:5] == (0.333333, 0.666667, 5, "w / r", {"swaps": [7, 8]})


@pytest.mark.parametrize(
    "garbled",
    [
        b"{",
        b"[]",
        b"\xff\x00",
        b'{"when": "2026-01-05", "machine": {}}',
        b'{"when": 5, "machine": {}, "figures": {}}',
        b'{"when": "x", "machine": {}, "figures": []}',
        b'{"when": "x", "machine": {}, "figures": {"a": {"ours": 1.0}}}',
        b'{"when": "x", "machine": {}, "figures": {"a": {"ours": 1, "ratio": 0, "seeds": 1}}}',
    ],
)
def test_a_garbled_line_is_named_and_the_others_are_read(empty_history, capsys, garbled):
    results.keep(a_run(2.0))
    with empty_history.open("ab") as file:
        file.write(garbled)  # torn: the next run begins a line of its own
    results.keep(a_run(3.0)._replace(when="2026-01-09"))
    capsys.readouterr()
    assert [run.figures["a"].ratio for run in results.history()] == [2.0, 3.0]
    assert "history.jsonl, line 2 is no run" in capsys.readouterr().err


def test_figures_have_text_as_text_and_are_the_same_again(tmp_path):
    runs, curves = results.history(), report.curves_of(report.grown())
    drawings = ((draw_trend, runs, runs[0].when[:10]), (draw_growth, curves, curves[0].short))
    for draw, data, word in drawings:
        twice = []
        for _ in range(2):
            draw(data, tmp_path / "figure.svg")
            twice.append((tmp_path / "figure.svg").read_text(encoding="utf-8"))
        assert twice[0] == twice[1]
        assert word in words(twice[0]) and "dc:date" not in twice[0]


def test_the_figures_of_the_page_are_those_of_what_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "DOCS", tmp_path)
    report.draw(results.history())
    assert len(list(tmp_path.iterdir())) == 2
    for path in tmp_path.iterdir():
        drawn = path.read_text(encoding="utf-8")
        page = (ROOT / "docs" / path.name).read_text(encoding="utf-8")
        assert words(page) == words(drawn)


def words(svg):
    return re.findall(r">([^<>]+)</text>", svg)
