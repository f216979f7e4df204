"""The page of a plan: the numbers of the plan, whatever the names, and nothing from outside."""

import io
import re

import pytest

import uli_fast as uli
from tests.report.test_page import HOSTILE, Page

LEARNERS = [uli.SuccessiveElimination(0.3), uli.PhasedElimination(0.3), uli.UCB(0.3)]


@pytest.fixture(scope="module")
def plan():
    problem = uli.BernoulliBandit([0.4, 0.7, 0.6], names=["neither", "both", "one"])
    return uli.operating_characteristics(
        LEARNERS, problem, 3000, 60, seed=3, followed=10**6, events="deaths"
    )


def read(plan, tmp_path, title=None):
    plan.report(tmp_path / "page.html", title)
    return Page((tmp_path / "page.html").read_text(encoding="utf-8"))


def test_the_page_needs_nothing_else_and_shows_the_plan(plan, tmp_path):
    shown = read(plan, tmp_path)
    assert not re.search(r"https?:|//\w+\.|@import|src=|javascript:", shown.raw)
    assert "<script" not in shown.raw
    assert shown.figures == ["figure-dropping", "figure-inferior"]
    assert len(shown.drawings) == 2
    each = plan["PhasedElimination"]
    numbers = shown.table(0)["PhasedElimination"]
    assert numbers == pytest.approx(
        [
            each.dropped_all.rate,
            each.needed_all(0.8),
            each.needed_all(0.9),
            each.on_inferior.mean,
            each.events_avoided.mean,
            each.lost_best.rate,
        ]
    )
    assert shown.table(0)["fixed-size trial"][0] == pytest.approx(plan.fixed.called_all)
    assert shown.table(0)["UCB"] == pytest.approx(
        [plan["UCB"].on_inferior.mean, plan["UCB"].events_avoided.mean]
    )
    assert shown.table(1)["PhasedElimination"] == [x.rate for x in each.dropped]
    for said in ("never drops", "deaths avoided", "Bonferroni", "A trial with 3,000 patients"):
        assert said in shown.text
    rows = shown.csv("trial-plan")
    assert len(rows) == 4 * 3
    assert float(rows[0]["dropped"]) == plan["SuccessiveElimination"].dropped[0].rate
    assert rows[1]["patients_80"] == ""  # the best arm


def test_the_page_has_no_number_as_a_computer_writes_it(plan, tmp_path):
    text = re.sub(r"<code>.*?</code>|<svg.*?</svg>", "", read(plan, tmp_path).raw, flags=re.DOTALL)
    assert "followed up to patient 10\u2076" in text and plan.fixed.lost_best < 1e-4
    assert re.findall(r"\S*\de[-+]?\d+\S*", Page(text).text) == []


def test_a_plan_for_more_patients_than_a_fixed_trial_can_have_says_why_there_is_none(tmp_path):
    problem = uli.BernoulliBandit([0.4, 0.7])
    large = uli.operating_characteristics(LEARNERS[:1], problem, 10**13, 2, seed=1)
    assert large.fixed is None and "10,000,000" in large.no_fixed
    assert large.no_fixed in large.table().caption.plain
    page = read(large, tmp_path)
    assert large.no_fixed in page.text and "Dashed: the chance" not in page.text


def test_the_same_plan_gives_the_same_page(plan, tmp_path):
    assert read(plan, tmp_path, "Again").raw == read(plan, tmp_path, "Again").raw


def test_hostile_names_do_no_harm(tmp_path):
    names = list(HOSTILE)
    problem = uli.BernoulliBandit([0.9] + [0.2] * (len(names) - 1), names=names)
    learners = {"<b>bold</b> $x^": LEARNERS[0], HOSTILE[0]: LEARNERS[2]}
    plan = uli.operating_characteristics(
        learners, problem, 500, 3, seed=1, followed=500, events="<i>events</i>"
    )
    shown = read(plan, tmp_path, HOSTILE[0])
    kinds = {tag for tag, _ in shown.elements}
    assert not kinds & {"script", "img", "b"}
    assert "<i>events" not in shown.raw
    plan.plot(tmp_path / "figure.png", "inferior")
    plan.plot(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").stat().st_size > 1000


def test_eighty_columns_are_enough(plan):
    from rich.console import Console

    console = Console(width=80, record=True, file=io.StringIO())
    for table in (plan.table(), plan.arms_table()):
        console.print(table)
    text = console.export_text()
    assert "\u2026" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("lost, %") == 1
    assert sum(line.startswith("UCB") for line in text.splitlines()) == 2  # no table was cut


def test_pandas_has_a_row_per_learner_and_arm(plan):
    frame = plan.to_pandas()
    assert len(frame) == 4 * 3
    one = frame[(frame.learner == "UCB") & (frame.arm == "both")].iloc[0]
    assert one["mean"] == 0.7
    assert one.patients == pytest.approx(plan["UCB"].plays[:, 1].mean())
    assert frame[frame.learner == "fixed-size trial"].dropped.tolist() == list(plan.fixed.called)


def test_many_arms_are_cut_where_they_are_shown(tmp_path):
    problem = uli.BernoulliBandit([0.9, *([0.2] * 19)])
    plan = uli.operating_characteristics(LEARNERS[:1], problem, 500, 3, seed=1, followed=500)
    assert "8 arms are left out." in plan.arms_table().caption.plain
    assert len(plan.to_pandas()) == 40
