"""The horizon cuts runs off: figures say so, and mark what may still follow."""

import functools

import numpy as np
import pytest
from matplotlib.figure import Figure

import uli_fast as uli
from uli_fast.report.canvas import lines_of
from uli_fast.report.figures import draw_gaps, figure_of

PAPER = functools.partial(uli.LinearElimination, schedule="paper")

PROBLEM = uli.BernoulliBandit([0.9, 0.5, 0.1])


@pytest.fixture(scope="module")
def done():
    return uli.simulate(uli.SuccessiveElimination(0.05), PROBLEM, 10**5, 4, seed=1)


@pytest.fixture(scope="module")
def rival():
    return uli.simulate(uli.UCB(0.05), PROBLEM, 10**5, 4, seed=1)


def drawn(*runs):
    axes = Figure().subplots()
    draw_gaps(axes, lines_of(runs, [f"{i}" for i in range(len(runs))]))
    return axes


def triangles(axes):
    return [line for line in axes.lines if line.get_marker() == ">" and line.get_xdata().size]


def test_a_run_is_settled_once_all_worse_arms_are_eliminated(done, rival):
    assert done.settled.all()
    assert not rival.settled.any()  # it eliminates nothing, however late it is
    early = uli.simulate(uli.SuccessiveElimination(0.05), PROBLEM, 100, 4, seed=1)
    some = uli.simulate(uli.SuccessiveElimination(0.05), PROBLEM, 300, 4, seed=2)
    assert not early.settled.any()
    assert (some.eliminated_at[:, 2] > 0).all() and not some.settled.any()
    assert (some.decisions().for_good == (some.eliminated_at > 0)).all()


def test_a_lost_best_arm_never_settles_a_run(done):
    lost = uli.simulate(uli.SuccessiveElimination(0.05), PROBLEM, 10**5, 4, seed=1)
    lost.eliminated_at[0] = [7, 0, 9]
    assert lost.settled.tolist() == [False, True, True, True]


def test_linear_arms_settle_without_a_list_of_blocks():
    problem = uli.LinearBandit([0.9, 0.1], [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    learner = uli.LinearElimination(0.1, R=1.0)
    late, early = (uli.simulate(learner, problem, T, 2, seed=1) for T in (10**6, 10))
    assert late.settled.all()
    assert (late.decisions().for_good == (late.eliminated_at > 0)).all()
    assert not early.decisions().for_good.any()


def test_blocks_of_linear_arms_settle_with_their_run():
    problem = uli.LinearBandit([0.9, 0.1], [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    late, early = (uli.simulate(PAPER(0.1, R=1.0), problem, T, 2, seed=1) for T in (10**7, 10))
    assert late.settled.all() and late.decisions().for_good.all()
    assert late.decisions().for_good.shape == late.block_last.shape
    assert not early.decisions().for_good.any()


def test_nothing_is_known_to_settle_on_an_arm_set():
    problem = uli.LinearBandit([0.5, 0.2], arm_set=uli.arm_sets.Ball(2))
    runs = uli.simulate(uli.SpannerElimination(0.1, R=1.0), problem, 10**8, 2, seed=1)
    assert not runs.settled.any()


def test_policies_settle_when_a_best_one_is_left_alone():
    mdp = uli.TabularMDP(np.ones((1, 2, 1)), np.array([[1.0, 0.0]]), horizon=1)
    late, early = (
        uli.simulate(uli.PolicyElimination(0.1, "sharp"), mdp, T, 2, seed=1) for T in (10**9, 10)
    )
    assert late.settled.all() and late.decisions().for_good.all()
    assert not early.settled.any()
    late.gaps[0, :] = 0.5  # the one that is left is not a best one
    assert late.settled.tolist() == [False, True]


def test_the_caption_says_that_runs_end_at_the_horizon(done, rival, tmp_path):
    uli.Comparison({"SE": done, "UCB": rival}).report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "any more" not in page
    assert "At the bottom: no worse choice from there up to the horizon." in page
    assert "what is hollow is cut off there, not settled" in page
    assert "largest gap from round t to the horizon" in page


def test_what_is_cut_off_is_hollow_and_ends_in_a_triangle(done, rival):
    assert triangles(drawn(done)) == []
    (end,) = triangles(drawn(done, rival))
    assert end.get_xdata()[0] == 10**5 and end.get_markerfacecolor() == "white"
    assert end.get_color() == lines_of([done, rival], ["SE", "UCB"])[1].colour
    for runs, hollow in ((done, False), (rival, True)):
        dots = [x for x in drawn(runs).lines if x.get_marker() == "o" and x.get_xdata().size]
        assert [x.get_markerfacecolor() == "none" for x in dots] == [hollow]


def test_the_figure_says_where_it_is_censored(done, rival):
    axes = drawn(done, rival)
    said = {x.get_text(): x.get_position() for x in axes.texts}
    below = "no gap up to the horizon (the smallest: 0.4)"
    (bottom, top), (_, end) = axes.get_ylim(), axes.get_xlim()
    floor, zero = 0.04, said[below][1]  # a tenth of the smallest gap, or half of F
    assert bottom < zero < floor and end > 10**5
    assert 10**5 < said["beyond the horizon: not seen"][0] < end
    lowest = min(line.get_ydata().min() for line in axes.lines if line.get_xdata().size > 50)
    assert lowest == pytest.approx(zero)  # what is zero lies in the strip that says so
    assert all(y >= zero * 1.5 for y in axes.get_yticks())
    shades = [p.get_extents().transformed(axes.transData.inverted()) for p in axes.patches]
    assert [s.y1 < 0.4 and s.y0 == pytest.approx(bottom) for s in shades] == [True, False]
    assert shades[1].x0 == pytest.approx(10**5) and shades[1].x1 == pytest.approx(end)
    assert top > 0.8


def test_the_legend_of_a_plot_says_so_too(done, rival):
    said = [x.get_text() for x in figure_of("gap", [done, rival]).axes[0].get_legend().texts]
    assert "(hollow: cut off at the horizon, worse choices may follow)" in said
    said = [x.get_text() for x in figure_of("gap", [done]).axes[0].get_legend().texts]
    assert not any("hollow" in x for x in said)
