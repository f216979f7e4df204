"""Figures as files."""

import pytest
from matplotlib import pyplot

import uli_fast as uli
from uli_fast.errors import ArgumentError

PROBLEM = uli.BernoulliBandit([0.9, 0.1])


@pytest.mark.parametrize("what", ["gap", "regret"])
def test_an_svg_has_its_text_as_text_and_is_the_same_again(what, tmp_path):
    problem = uli.BernoulliBandit([0.9, 0.1])
    runs = uli.simulate(uli.SuccessiveElimination(), problem, 10**4, 3, seed=1, progress=False)
    paths = [tmp_path / name for name in ("one.svg", "two.SVG")]
    for path in paths:
        runs.plot(path, what=what)
    one, two = (path.read_text(encoding="utf-8") for path in paths)
    assert one == two and "dc:date" not in one
    assert ">round t</text>" in one and "replications: 3</text>" in one


@pytest.fixture(scope="module")
def rivals():
    learners = [uli.BettingElimination(0.05), uli.UCB(0.05)]
    return uli.compare(learners, PROBLEM, 1000, 3, seed=1, progress=False)


@pytest.mark.parametrize("what", ["gap", "regret"])
def test_the_name_of_a_drawing_is_no_path(rivals, what, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for plot in (rivals.plot, rivals[0].plot):
        with pytest.raises(ArgumentError, match=f"path: .*did you mean what='{what}'"):
            plot(what)
    assert not list(tmp_path.iterdir())


def test_a_plan_says_so_too():
    plan = uli.operating_characteristics(uli.KLUCB(), PROBLEM, 20, replications=3, seed=1)
    with pytest.raises(ArgumentError, match="did you mean what='inferior'"):
        plan.plot("inferior")


def test_on_axes_of_the_caller_the_legend_has_names_only_and_leaves_the_strip_free(rivals):
    pyplot.switch_backend("Agg")
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4))
    try:
        for ax, what in ((left, "gap"), (right, "regret")):
            rivals.plot(ax=ax, what=what)
        names = [text.get_text() for text in left.get_legend().get_texts()]
        assert names == ["BettingElimination", "F of BettingElimination", "UCB"]
        figure.canvas.draw()
        strip = next(x for x in left.texts if x.get_text().startswith("no gap up to"))
        assert not left.get_legend().get_window_extent().overlaps(strip.get_window_extent())
    finally:
        pyplot.close(figure)
    alone = [text.get_text() for text in rivals.plot().axes[0].get_legend().get_texts()]
    assert any(name.startswith("(") for name in alone)  # there the notes are


def test_a_page_is_html_and_says_where_it_is(rivals, tmp_path):
    for shown in (rivals, rivals[0]):
        for name in ("x.pdf", "x.PNG", "x.md"):
            with pytest.raises(ArgumentError, match=r"path: must end in \.html"):
                shown.report(tmp_path / name)
        assert not list(tmp_path.iterdir())
        assert shown.report(str(tmp_path / "x.HTM")) == tmp_path / "x.HTM"
        (tmp_path / "x.HTM").unlink()
