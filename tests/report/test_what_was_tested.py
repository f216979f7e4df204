"""A verdict claims a test only where F could have been broken; incomplete experiments say so."""

from io import StringIO

import numpy as np
import pytest

import uli_fast as uli
from tests.report.test_page import Page, made, page
from uli_fast import experiments
from uli_fast.guarantees import Guarantee
from uli_fast.report import bounds, data
from uli_fast.report.canvas import lines_of
from uli_fast.report.checks import is_void, verdict
from uli_fast.report.overview import _column, overall
from uli_fast.results.comparison import Comparison

F = Guarantee("SE-MAB", 0.05, {"K": 2, "R": 0.5, "largest_gap": 1.0})


def judged(**learners):
    return verdict(lines_of(list(learners.values()), list(learners)))


def last_untested(gap=0.5):
    """The last horizon at which F does not yet exclude the gap."""
    return bounds.binds_from(F, gap) - 1


def test_f_binds_where_it_first_excludes_a_gap():
    first = bounds.binds_from(F, 0.5)
    assert F.bound(first) < 0.5 <= F.bound(first - 1)
    assert not bounds.tested(made(0, T=first - 1), F)
    assert bounds.tested(made(0, T=first), F)
    exact = float(F.bound(1000))  # F = gap still allows the gap
    assert bounds.binds_from(F, exact) == 1001


def test_where_f_excludes_nothing_nothing_was_tested(tmp_path):
    T = last_untested()
    found = judged(A=made(0, T=T), rival=made(0, T=T, guarantee=None, baseline=True))
    assert found.status == "untested"
    assert found.headline.startswith("F was above every possible gap up to the horizon")
    assert "stayed within" not in " ".join(found.sentences)
    assert f"from round {T + 1:,} on" in found.sentences[0]
    shown = page(Comparison({"A": made(0, T=T)}), tmp_path)
    assert shown.verdict == "verdict untested"
    assert "nothing was tested" in shown.text and "0 of 20, untested" in shown.text
    assert "figure-1-failures" not in shown.figures
    assert shown.table(1)["A"] == [0.5, T + 1, 0.5, T + 1]
    assert judged(A=made(0, T=T + 1)).status == "kept"


def test_learners_that_were_not_tested_are_left_out_of_the_praise():
    T = last_untested() + 1
    slow = Guarantee("PE-MAB", 0.05, F.parameters)
    found = judged(A=made(0, T=T), B=made(0, T=T, guarantee=slow))
    assert found.status == "kept" and found.headline.endswith("where it was tested")
    assert found.sentences[0] == "A stayed within F at every round of all 20 runs."
    assert found.sentences[1].startswith("Not tested: B (F excludes the largest gap from round")


def test_without_gaps_or_without_f_at_hand_nothing_is_claimed():
    tie = judged(A=made(0, gaps=np.zeros(2)))
    assert tie.status == "untested" and tie.headline.startswith("No choice here has a gap")
    lost = judged(A=made(0, guarantee=None, ratios=np.full(20, 0.5)))  # loaded again
    assert lost.status == "untested" and "not known" in lost.headline
    assert judged(A=made(0, guarantee=None, ratios=np.full(20, 1.5))).status == "broken"
    never = Guarantee("user", 0.05, function=lambda t: 1.0)
    found = judged(A=made(0, guarantee=never, ratios=np.full(20, 0.5)))
    assert found.status == "untested" and "never, as far as is known" in found.sentences[0]
    dips = Guarantee("user", 0.05, function=lambda t: 0.1 if t == 500 else 1.0)
    assert judged(A=made(0, guarantee=dips, ratios=np.full(20, 0.5))).status == "kept"


def test_the_terminal_says_so_too_within_80_columns():
    from rich.console import Console

    T = last_untested()
    long = "a learner with a name that goes on and on"
    learners = {
        long: made(0, T=T),
        "B": made(0, T=T, guarantee=None, baseline=True),
        "C": made(0, T=T, final_plays=np.full((20, 2), 10**9), last_play=np.full((20, 2), 10**9)),
    }
    console = Console(width=80, record=True, file=open("/dev/null", "w"))
    console.print(Comparison(learners).table("the problem"))
    console.file.close()
    text = console.export_text()
    assert "the problem: Two()" in text
    header = next(line for line in text.splitlines() if line.startswith("learner"))
    assert header.split() == "learner regret last bad late gap beyond F ahead rounds/s".split()
    assert all(len(line.rstrip()) <= 80 for line in text.splitlines())
    assert "…" not in text  # names are broken into lines, and nothing is cut
    assert any(line.startswith("a learner with a name ") for line in text.splitlines())
    assert "that goes on and on" in [line.strip() for line in text.splitlines()]
    assert "untested  " in text and "untested*" in text and "5.0e+08" in text
    assert "untested: F excluded no gap" in text
    assert f"from round: {long} {T + 1}, {T + 1}" in " ".join(text.split())
    assert f"held against that of {long}" in " ".join(text.split())


def test_what_tells_two_learners_apart_is_shown_whole():
    learners = [uli.SpannerElimination(0.1, schedule=x, R=0.5) for x in ("paper", "sharp")]
    problem = uli.LinearBandit([0.6, 0.3], np.eye(2), noise="bernoulli")
    table = uli.compare(learners, problem, 100, seed=1).table()
    names = [cell.plain for cell in table.columns[0]._cells]
    assert names == ["SpannerElimination\n(schedule=paper)", "SpannerElimination\n(schedule=sharp)"]


def test_of_many_learners_the_first_are_named_one_by_one():
    caption = str(Comparison({f"L{i}": made(0) for i in range(11)}).table().caption)
    for said in ("mean regret: L0 ", "the best arm: L0 ", "every gap from round: L0 "):
        words = caption.partition(said)[2].partition("\n")[0]
        assert "L7 " in words and "L8" not in words and words.endswith("; 3 others"), words


@pytest.mark.parametrize("width", [24, 50, 60])
def test_narrow_terminals_show_every_number_whole(width):
    from rich.console import Console

    late = {"final_plays": np.full((20, 2), 10**9), "last_play": np.full((20, 2), 10**9)}
    learners = {
        "a learner with a name": made(0, **late),
        "B": made(3, guarantee=None, baseline=True),
        "untouched": made(0, T=last_untested()),
    }
    file = StringIO()
    Console(width=width, file=file).print(Comparison(learners).table())
    text = file.getvalue()
    assert "\u2026" not in text and max(map(len, text.splitlines())) <= width
    table = text.partition("regret at")[0].split()
    for cell in ("5.0e+08", "1.0e+09", "20/20", "3/20*", "untested", "0.5", "beyond", "ahead"):
        assert cell in table, cell
    caption = " ".join(text.partition("regret at")[2].split())
    assert "a fraction delta = 0.05 of runs" in caption
    assert max(map(len, text.partition("regret at")[2].splitlines())) > width - 12  # not a part's


def test_more_learners_than_colours_are_told_apart_by_dashes(tmp_path):
    learners = {f"L{i}": made(0) for i in range(26)}
    lines = lines_of(list(learners.values()), list(learners))
    assert len({(line.colour, str(line.dash)) for line in lines}) == 26
    assert len({(line.colour, line.marker) for line in lines}) == 26
    assert lines[0].dash == "-" and lines[0].colour == lines[5].colour != lines[6].colour
    shown = page(Comparison(learners), tmp_path)
    keys = [a for t, a in shown.elements if "key" in a.get("class", "").split()]
    assert len({(a["class"], a["style"]) for a in keys}) == 26
    assert ".key.cycle-1 {" in shown.raw
    assert "L0, L1, L2, L3, L4, L5, L6, L7 and 18 others stayed within F" in shown.text


def test_mdps_have_episodes_and_no_rounds(tmp_path):
    lock = uli.mdps.combination_lock(length=2, n_actions=2).restricted()
    learners = [uli.PolicyElimination(0.1, "sharp"), uli.UBEV(0.1)]
    result = uli.compare(learners, lock, 10**4, 2, seed=1)
    shown = page(result, tmp_path)
    section = shown.raw.partition("<main>")[2].partition('id="provenance"')[0]
    words = Page(section).text.replace("rounds.csv", "").replace("the ground", "")
    assert "round" not in words and "episode t" in words and "last bad episode" in words
    caption = str(result.table().caption)
    assert "episode" in caption and "round" not in caption


def test_files_are_named_after_the_problem(tmp_path):
    from uli_fast.report.page import write_report

    sections = {name: Comparison({"A": made(0)}) for name in ("my trial/1", "my trial-1", "../..")}
    write_report(sections, tmp_path / "page.html", "Title", {})
    shown = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    files = [a["download"] for _, a in shown.elements if "download" in a]
    assert [f for f in files if f.endswith("runs.csv")] == [
        "my-trial-1-runs.csv",
        "my-trial-1-2-runs.csv",
        "problem-3-runs.csv",
    ]


EXPERIMENT = """
horizon = 1_000
replications = 4

[problems.two]
type = "BernoulliBandit"
means = [0.9, 0.1]

[learners.SE]
type = "SuccessiveElimination"

[learners.UCB]
type = "UCB"
"""


def test_parts_beyond_the_number_asked_for_are_not_taken_for_missing_ones(tmp_path):
    import shutil

    folder = tmp_path / "r"
    file = experiments.ExperimentFile.parse(EXPERIMENT)
    whole = experiments.run(file, folder, keep_every=1e-6)
    experiments.run(file, folder, resume=True, replications=2)
    (cell,) = (folder / "cells").glob("two-SE-*")
    shutil.rmtree(cell / "part-0-1")
    few = experiments.Results.load(folder)
    assert few.missing == {"two": {"SE": 1}}
    left = few.comparisons["two"]["SE"]
    expected = whole.comparisons["two"]["SE"].last_play[1:2]
    assert left.replications == 1 and (left.last_play == expected).all()


@pytest.mark.parametrize("title", [5, None, ""])
def test_a_title_is_text(title, tmp_path):
    from uli_fast.report.page import write_report

    with pytest.raises(uli.errors.ArgumentError, match="title"):
        write_report({"x": Comparison({"A": made(0)})}, tmp_path / "page.html", title, {})
    assert list(tmp_path.iterdir()) == []


def test_long_names_leave_the_label_of_the_failures_in_the_middle(tmp_path):
    from xml.etree import ElementTree

    shown = page(Comparison({"W" * 99: made(0), "B": made(0)}), tmp_path)
    drawing = ElementTree.fromstring(shown.drawings[2])
    (label,) = (x for x in drawing.iter("text") if "probability of" in "".join(x.itertext()))
    width = float(drawing.get("viewBox").split()[2])
    assert abs(float(label.get("x")) - width / 2.0) < 1.0
    assert "text-anchor: middle" in label.get("style")


def withdrawn(failures, times, M=20):
    """Return runs of which the last ones withdrew F, from round 17 on."""
    since = np.where(np.arange(M) >= M - times, 17, 0)
    return made(failures, M=M, withdrawn=since)


REASON = "F was withdrawn in 5 of 20 runs, from round 17 on: rounding leaves less"


def test_failures_of_runs_that_kept_f_count_where_others_withdrew_it():
    found = judged(A=withdrawn(14, 5), B=made(0))
    assert found.status == "broken"
    assert "A went beyond F in 14 of 15 runs that kept F, more than" in found.sentences[1]
    assert found.sentences[-1].startswith(f"A: {REASON}")
    alone = judged(A=withdrawn(20, 20))
    assert alone.status == "none" and "withdrawn in 20 of 20 runs" in alone.sentences[-1]
    assert is_void(made(0, guarantee=None)) and not is_void(withdrawn(0, 20))


def test_a_withdrawn_f_is_no_silent_pass(tmp_path):
    found = judged(A=withdrawn(0, 5))
    assert found.status == "kept"
    assert found.headline.endswith("held at every round of every run, where it was not withdrawn")
    assert found.sentences[0] == "A stayed within F at every round of all 15 runs that kept F."
    assert found.sentences[1].startswith(f"A: {REASON}")
    assert found.power[0].startswith("0 of 15 runs that kept F broke F.")
    shown = page(Comparison({"A": withdrawn(0, 5)}), tmp_path)
    assert REASON in shown.text and "0 of 15" in shown.text
    others = {"one": Comparison({"A": withdrawn(0, 5)}), "two": Comparison({"A": made(0)})}
    lines = [lines_of(list(x.runs.values()), list(x.runs)) for x in others.values()]
    assert "withdrawn in some runs" in overall([verdict(x) for x in lines], lines).headline
    rows = [row for row in data._runs({"A": withdrawn(0, 5)})]
    assert [row[5] == "" for row in rows] == [False] * 15 + [True] * 5


@pytest.mark.parametrize("times", [5, 20])
def test_tables_say_where_f_was_withdrawn(times):
    from rich.console import Console

    runs = withdrawn(0, times)
    console = Console(width=80, record=True, file=StringIO())
    console.print(Comparison({"A": runs, "B": made(0)}).table())
    text = " ".join(console.export_text().split())
    assert f"A: F was withdrawn in {times} of 20 runs, from round 17 on" in text
    assert ("0/15 " in text) == (times == 5) and "no guarantee covers" not in text
    assert f"withdrawn in {times} of 20 runs" in runs._repr_html_()
    cell = _column(lines_of([runs], ["A"]))["A"].failures
    assert cell.replace("\u00a0", " ") == (
        "0 of 15 beyond F, withdrawn in 5" if times == 5 else "F withdrawn"
    )
