"""What shows itself in a notebook: plain HTML, escaped, never raising, never changing anything."""

import json
import pydoc
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import uli_fast as uli
from tests.support.examples import LIVE, drive
from uli_fast._support import html
from uli_fast.errors import NoGuaranteeError, StudyUnavailableError

pytestmark = pytest.mark.filterwarnings("ignore::uli_fast.errors.SaturationWarning")
PROBLEM = uli.BernoulliBandit([0.7, 0.5], names=["<b>&one", "two"])
VOID = {"br", "img", "hr"}


class Reader(HTMLParser):
    """Checks that tags are closed in order, and keeps the text."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.tags = [], [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.open.append(tag)
        for name, value in attrs:
            assert name in ("style", "class"), name
            assert not re.search("url|background|color:(?!rgba)", value), value

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(value):
    page = value._repr_html_()
    reader = Reader()
    reader.feed(page)
    assert reader.open == [] and reader.tags <= {"div", "table", "tr", "th", "td"}
    assert len(page) < 50_000
    return " ".join(reader.text)


def test_runs_say_what_is_wanted_first():
    runs = uli.simulate(uli.BettingElimination(0.05), PROBLEM, 20_000, 5, seed=1)
    text = read(runs)
    for part in ("BettingElimination", "BernoulliBandit", "5 replications", "regret", "seed 1"):
        assert part in text
    assert "its own F held in 5 of 5 runs, delta = 0.05" in text
    assert f"settled in {int(runs.settled.sum())} of 5 runs" in text


def test_runs_without_means_or_guarantee_say_so():
    runs = uli.play(uli.UCB(), lambda arm: 1.0, 20, 2)
    assert "unknown: the means are" in read(runs)
    assert "drops nothing" in read(uli.simulate(uli.UCB(), PROBLEM, 100, seed=1))


def test_a_comparison_has_a_line_per_learner():
    found = uli.compare({"<i>a": uli.BettingElimination(0.1), "b": uli.UCB()}, PROBLEM, 5000, 3, 1)
    text = read(found)
    assert "<i>a" in text and "the tightest F of the others" in text


def test_a_plan_has_a_line_per_learner_and_one_of_the_usual_trial():
    learners = {"<i>a": uli.BettingElimination(0.1), "b": uli.KLUCB()}
    plan = uli.operating_characteristics(learners, PROBLEM, 200, replications=5, seed=1)
    text = read(plan)
    for part in ("<i>a", "b", "fixed-size trial", "200 patients", "5 trials", "on inferior"):
        assert part in text


def test_printed_a_comparison_is_its_table_and_a_guarantee_a_sentence_or_two():
    found = uli.compare([uli.BettingElimination(0.1), uli.UCB()], PROBLEM, 500, 3, seed=1)
    assert str(found) == str(found.table()) and "BettingElimination" in str(found)
    promise = uli.BettingElimination(0.05).guarantee(3)
    said = str(promise)
    assert said.startswith("With probability 0.95 the gap of every round t is at most F(t): ")
    assert f"{promise.bound(10**4):.3g} at t = 10,000" in said and "Proved: BET, K = 3" in said
    own = uli.OwnLearner(object, claim=lambda K, delta, t: 1 / 0).guarantee(3)
    assert str(own).startswith("By a user's claim, not proved, with probability 0.95")


def test_runs_without_a_guarantee_say_how_to_hold_them_against_another():
    problem = uli.BernoulliBandit([0.7, 0.5])
    runs = uli.simulate(uli.UCB(), problem, 100, 3, seed=1)
    with pytest.raises(NoGuaranteeError) as refused:
        runs.coverage()
    code = str(refused.value)[str(refused.value).index("runs.") :]
    assert eval(code, {"runs": runs, "uli": uli, "problem": problem}).shape == (3,)


def test_a_race_has_its_ranking():
    race = uli.race(["<a>", "b"], lambda c, i: float(c == "<a>"), list(range(40)), seed=1)
    assert race.verdict() in read(race) and "<a>" in read(race)
    with pytest.raises(KeyError, match="there is no 'c': the candidates are '<a>', 'b'"):
        race["c"]


def test_a_guarantee_says_when():
    promise = uli.BettingElimination(0.05).guarantee(3)
    text = read(promise)
    assert f"{promise.rounds_until(0.1):,} rounds" in text and "proved: BET" in text
    own = uli.OwnLearner(object, claim=lambda K, delta, t: 0.5).guarantee(3)
    assert "a user's claim, not proved" in read(own) and "does not fall" in read(own)


@pytest.mark.parametrize("example", LIVE, ids=str)
def test_players_show_themselves_and_stay_as_they_are(example):
    player = example.start()
    drive(player, 25)
    before = json.dumps(player.state())
    text = read(player)
    assert json.dumps(player.state()) == before
    assert "25 asked, 25 told, 0 awaited" in text and "certain" in text


def test_a_certificate_is_its_sentence():
    certificate = uli.SuccessiveElimination(0.05).start(["<x>", "y"]).certificate()
    text = read(certificate)
    assert certificate.sentence[1:] in text and "<x>, y" in text
    assert certificate.sentence in repr(certificate)


def test_a_study_shows_where_it_stands_also_when_it_is_closed_or_its_database_is_away(
    tmp_path, monkeypatch
):
    with uli.Study.open(tmp_path / "s.db", uli.SuccessiveElimination(0.05), 2, seed=1) as study:
        study.tell(study.ask().id, 1.0)
        study.ask()
        events = len(study.history())
        assert "2 asked, 1 told, 1 awaited" in read(study)
        assert len(study.history()) == events
        with monkeypatch.context() as away:
            gone = StudyUnavailableError("cannot be reached")
            away.setattr(study, "_get_ready", lambda *_: (_ for _ in ()).throw(gone))
            assert "cannot be reached; below is what was known last" in read(study)
    assert "closed" in read(study) and "2 asked" in read(study)


def test_whatever_fails_is_said_and_never_raised():
    class Broken:
        def __repr__(self):
            raise ValueError

        @html.as_shown
        def _repr_html_(self):
            raise RuntimeError("<no>")

    text = read(Broken())
    assert "a Broken" in text and "<no>" in text


def test_long_tables_and_long_names_are_cut():
    page = html.grid("t", ["a"], [[i] for i in range(10**5)])
    assert f"and {10**5 - html.MOST_ROWS} more" in page and len(page) < 10_000
    assert len(html.facts("x" * 10**6, [("a", "b" * 10**6)])) < 3000
    assert "and 92 more" in html.listing(range(100))


def test_the_core_install_is_enough():
    without = "import sys; sys.modules.update(dict.fromkeys(('jinja2', 'matplotlib', 'pandas')))"
    script = f"""{without}
import uli_fast as uli
problem, learner = uli.BernoulliBandit([0.7, 0.5]), uli.SuccessiveElimination(0.1)
found = uli.compare([learner], problem, 100, seed=1)
race = uli.race(["a", "b"], lambda c, i: float(c == "a"), list(range(40)), seed=1)
for x in (found, found[0], race, learner.guarantee(2), learner.start(2), race.certificate):
    assert "shown as" not in x._repr_html_(), x._repr_html_()
"""
    subprocess.run([sys.executable, "-c", script], check=True)


# Looking things up.


def test_runs_and_comparisons_are_looked_up_as_users_expect():
    found = uli.compare([uli.SuccessiveElimination(0.1), uli.UCB()], PROBLEM, 100, 4, seed=1)
    assert list(found) == list(found.keys()) == ["SuccessiveElimination", "UCB"]
    assert len(found) == 2 and "UCB" in found and "KLUCB" not in found and 0 not in found
    assert found["UCB"] is found[1] is found[-1] is dict(found.items())["UCB"]
    assert next(iter(found.values())) is found[np.int64(0)]
    for wrong in ("ucb", None, True, 1.0, []):
        with pytest.raises(KeyError, match="the learners are 'SuccessiveElimination', 'UCB'"):
            found[wrong]
    with pytest.raises(IndexError):
        found[2]
    assert len(found["UCB"]) == 4 and bool(found["UCB"])


def test_help_begins_with_what_is_called_first():
    said = pydoc.plain(pydoc.render_doc(uli.Runs)).splitlines()
    first = next(line for line in said[2:] if line.startswith(" |  "))
    assert first == " |  What happened in the replications of a learner on a problem."
    assert "runs.table()" in " ".join(said[:12]) and "recorded_regret" not in " ".join(said[:70])


# Figures.


@pytest.fixture(scope="module")
def plotted():
    log = {"arm": ["a", "b"] * 100, "reward": [1.0, 0.0] * 100}
    plan = uli.operating_characteristics([uli.SuccessiveElimination()], PROBLEM, 200, 5, seed=1)
    found = uli.compare([uli.SuccessiveElimination(0.1), uli.UCB()], PROBLEM, 100, 2, seed=1)
    return {
        "runs": found[0].plot,
        "comparison": found.plot,
        "plan": plan.plot,
        "replay": uli.replay(uli.SuccessiveElimination(0.1), log, arm="arm", reward="reward").plot,
    }


@pytest.mark.parametrize("name", ["runs", "comparison", "plan", "replay"])
def test_plots_draw_on_the_axes_they_are_given_and_leave_the_rest_alone(plotted, name, tmp_path):
    import matplotlib
    from matplotlib import pyplot
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    pyplot.switch_backend("Agg")
    before, plot = dict(matplotlib.rcParams), plotted[name]
    figure, (left, right) = pyplot.subplots(1, 2)
    try:
        assert plot(ax=left, path=tmp_path / "both.png") is left
        assert left.lines and not right.lines and (tmp_path / "both.png").stat().st_size
        part = Figure().subfigures(1, 2)[0].subplots()
        assert isinstance(plot(ax=part), Axes)
        own = plot()
        assert isinstance(own, Figure) and own._repr_png_().startswith(b"\x89PNG")
        assert pyplot.get_fignums() == [figure.number] and dict(matplotlib.rcParams) == before
        with pytest.raises(ValueError, match="ax: must be the Axes of a figure, got Figure"):
            plot(ax=figure)
    finally:
        pyplot.close(figure)
