"""Figures of ModelElimination: certificates under F, and the actions left."""

import csv
import re
from dataclasses import replace

import numpy as np
import pytest

import uli_fast as uli
from uli_fast.errors import ArgumentError, UnsupportedError
from uli_fast.report.canvas import lines_of
from uli_fast.report.data import tables_of
from uli_fast.report.figures_models import draw_actions, draw_certificates, mean_left


@pytest.fixture(scope="module")
def runs():
    problem = uli.mdps.river_swim(3, 4).restricted()
    return uli.simulate(uli.ModelElimination(0.1), problem, 10**5, 4, seed=1)


def axes():
    from matplotlib.figure import Figure

    return Figure().subplots()


def test_certificates_and_gaps_are_those_of_the_looks(runs):
    shown = axes()
    draw_certificates(shown, lines_of([runs], ["ours"]))
    said, ahead, bound = shown.get_lines()[:3]
    rounds = said.get_xdata()
    floor = shown.get_ylim()[0]
    for r in range(2):  # by hand, at some episodes
        for i in (0, rounds.size // 2, rounds.size - 1):
            made = runs.look_first[:, :] <= rounds[i]
            at = (made & (runs.look_first > 0)).sum(axis=1) - 1
            facts = runs.look_facts[np.arange(4), at]
            assert said.get_ydata()[i] == max(floor, np.median(facts[:, 0]))
            later = [runs.look_facts[r, at[r] :, 4].max() for r in range(4)]
            assert ahead.get_ydata()[i] == max(floor, *later)
    assert np.array_equal(bound.get_ydata(), runs.guarantee.bound(rounds))
    assert (np.diff(said.get_ydata()) <= 0.0).all() and (np.diff(ahead.get_ydata()) <= 0.0).all()
    # No gap of what is played lies above what was certified, in any run.
    assert (runs.look_facts[:, :, 4] <= runs.look_facts[:, :, 0] + 1e-12).all()


def test_a_withdrawn_certificate_leaves_the_figure(runs):
    facts = runs.look_facts.copy()
    facts[:, 5:, 0] = np.nan
    shown = axes()
    draw_certificates(shown, lines_of([replace(runs, look_facts=facts)], ["ours"]))
    assert (shown.get_lines()[0].get_ydata()[-50:] > shown.get_ylim()[1]).all()


def test_the_map_counts_the_actions_that_are_left(runs):
    left = mean_left(runs)
    problem = uli.mdps.river_swim(3, 4).restricted()
    assert (np.isnan(left) == ~problem.decision_points).all()
    counted = runs.actions_left.sum(axis=3).mean(axis=0)
    assert (left == counted)[problem.decision_points].all()
    shown = axes()
    draw_actions(shown, lines_of([runs], ["ours"]))
    assert np.array_equal(shown.get_images()[0].get_array().filled(np.nan), left.T, equal_nan=True)


def test_a_grid_world_is_drawn_as_its_grid():
    P, r = np.zeros((5, 2, 5)), np.zeros((5, 2))  # 2 x 2 cells and an end
    P[:, 0, 4] = P[4, 1, 4] = 1.0
    for s in range(4):
        P[s, 1, (s + 1) % 4] = 1.0
        r[s] = 0.1 * s, 0.3
    problem = uli.TabularMDP(P, r, horizon=3)
    runs = uli.simulate(uli.ModelElimination(0.1), problem, 30, 2, seed=1)
    shown = axes()
    draw_actions(shown, lines_of([runs], ["ours"]), grid=(2, 2))
    sheet = shown.get_images()[0].get_array().filled(np.nan)
    left = mean_left(runs)
    assert sheet.shape == (2, 8)  # three stages side by side
    for h in range(3):
        wanted = left[h, :4].reshape(2, 2)
        assert np.array_equal(sheet[:, 3 * h : 3 * h + 2], wanted, equal_nan=True)
    assert [t.get_text() for t in shown.texts if "stage" in t.get_text()] == [
        "stage 1",
        "stage 2",
        "stage 3",
    ]


@pytest.mark.parametrize("what", ["certificate", "actions"])
def test_files_are_the_same_again(runs, what, tmp_path):
    for name in ("one.svg", "two.svg"):
        runs.plot(tmp_path / name, what=what)
    one, two = ((tmp_path / name).read_bytes() for name in ("one.svg", "two.svg"))
    assert one == two and b"replications: 4" in one


def test_the_page_has_both_figures_for_learners_that_look(runs, tmp_path):
    problem = uli.mdps.river_swim(3, 4).restricted()
    rivals = uli.compare([uli.ModelElimination(0.1), uli.UBEV(0.1)], problem, 10**4, 2, seed=1)
    rivals.report(tmp_path / "both.html")
    page = (tmp_path / "both.html").read_text(encoding="utf-8")
    titles = re.findall(r"<title>([^<]*)</title>", page)
    assert "What was certified: ModelElimination" in titles
    assert "Actions left: ModelElimination" in titles
    uli.compare([uli.UBEV(0.1)], problem, 10**4, 2, seed=1).report(tmp_path / "one.html")
    alone = (tmp_path / "one.html").read_text(encoding="utf-8")
    assert "What was certified" not in alone and "Actions left" not in alone


@pytest.fixture(scope="module")
def rivals():
    learners = [uli.UBEV(0.1), uli.ModelElimination(0.1), uli.PolicyElimination(0.1)]
    return uli.compare(learners, uli.mdps.river_swim(2, 2).restricted(), 10**5, 3, seed=1)


def columns_of(table):
    return {str(column.header): [str(x) for x in column.cells] for column in table.columns}


def test_tables_have_the_certificate_of_those_that_have_one(runs, rivals):
    shown = columns_of(rivals.table())
    assert shown["within"] == ["", "0", ""]
    assert columns_of(runs.table())["within"] == [f"{np.median(runs.certificates[:, -1]):.2g}"]
    assert "within: the certificate" in str(rivals.table())
    assert "within" not in columns_of(rivals["UBEV"].table())
    facts = runs.look_facts.copy()
    facts[:3, :, 0] = np.nan
    assert columns_of(replace(runs, look_facts=facts).table())["within"] == ["none"]
    facts = runs.look_facts.copy()
    facts[0, :, 0] = np.nan  # as good as no bound at all: the median is of the others
    known = sorted(runs.certificates[1:, -1])
    middle = f"{(known[1] + known[2]) / 2:.2g}"
    assert columns_of(replace(runs, look_facts=facts).table())["within"] == [middle]


def test_tables_say_from_when_on_a_learner_on_mdps_is_ahead(rivals, tmp_path):
    ahead = columns_of(rivals.table())["ahead"]
    own, rival = rivals["ModelElimination"], rivals["UBEV"]
    larger = own.regret.mean(axis=0) > rival.regret.mean(axis=0)
    assert ahead == ["", str(own.rounds[larger.nonzero()[0][-1] + 1]), "not yet"]
    rivals.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "once nothing worse is left in any run" in page and "Within: the certificate" in page


def test_rows_have_the_certificate_of_their_episode(rivals):
    data = next(x for x in tables_of(rivals.runs) if x.name == "runs")
    said = {name: [] for name in rivals.runs}
    for row in csv.DictReader(data.text.splitlines()):
        said[row["learner"]].append(row["certificate"])
    assert said["UBEV"] == said["PolicyElimination"] == [""] * 3
    assert [float(x) for x in said["ModelElimination"]] == [0.0] * 3
    frame = rivals.to_pandas()
    ours = frame[frame.learner == "ModelElimination"]
    assert (ours.certificate == rivals["ModelElimination"].certificates.ravel()).all()
    assert frame[frame.learner == "UBEV"].certificate.isna().all()
    assert "certificate" not in rivals["UBEV"].to_pandas()


@pytest.mark.parametrize("what", ["certificate", "actions"])
def test_comparisons_draw_those_that_look_in_their_colours(rivals, what):
    drawn = rivals.plot(what=what).axes[0]
    if what == "certificate":
        regret = rivals.plot(what="regret").axes[0]
        colours = {line.get_label(): line.get_color() for line in regret.get_lines()}
        first = drawn.get_lines()[0]
        assert first.get_label() == "ModelElimination"
        assert first.get_color() == colours["ModelElimination"]
    said = [text.get_text() for text in drawn.texts]
    assert not any("UBEV" in text or "PolicyElimination" in text for text in said)


@pytest.mark.parametrize("grid", [(3,), (2, 2, 1), (0, 3), (1.0, 3), "33", 9, (2, 2), (1, 1)])
def test_grids_that_are_none_are_refused(runs, grid):
    with pytest.raises(ArgumentError, match="grid"):
        runs.plot(what="actions", grid=grid)


def test_what_has_no_looks_is_refused(runs):
    with pytest.raises(ArgumentError, match="grid"):
        runs.plot(what="regret", grid=(1, 3))
    rival = uli.simulate(uli.UBEV(0.1), uli.mdps.river_swim(2, 2), 100, seed=1)
    for what in ("certificate", "actions"):
        with pytest.raises(UnsupportedError, match="no certificate"):
            rival.plot(what=what)
