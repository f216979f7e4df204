"""Figures as files."""

import pytest

import uli_fast as uli


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
