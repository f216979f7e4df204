"""Real instances come with their sources."""

import pytest

import uli_fast as uli


def test_datasets_have_sources():
    assert "isis2" in uli.datasets.names()
    for name in uli.datasets.names():
        facts, problem = uli.datasets.info(name), uli.datasets.load(name)
        assert facts["source"] and facts["licence"] and facts["certainty"]
        assert problem.n_arms == len(facts["events"]) == len(facts["patients"])
    best = uli.datasets.load("isis2")
    assert best.names[int(best.means.argmax())] == "both"
    assert best.gaps[0] == pytest.approx(568 / 4300 - 343 / 4292)
