"""Opening a study starts its player once, and with what the file says."""

import numpy as np
import pytest

import uli_fast as uli
from uli_fast.errors import ArgumentError
from uli_fast.players._player import LivePlayer

VECTORS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
REWARDS = np.random.default_rng(1).random((2, 2, 2))
KINDS = {
    "number": (uli.SuccessiveElimination(0.1), {"arms": 3}),
    "names": (uli.BettingElimination(0.1), {"arms": ["a", "b"], "low": -1.0, "high": 2.0}),
    "vectors": (uli.LinearElimination(0.1, R=0.1), {"arms": VECTORS, "intercept": 0.5}),
    "drawing": (uli.MetaElimination(uli.Exp3P(), 0.1), {"arms": 3, "seed": 7}),
    "set": (uli.SpannerElimination(0.1, R=0.1), {"arms": uli.arm_sets.Ball(2)}),
    "policies": (uli.PolicyElimination(0.1), {"rewards": REWARDS, "initial_support": [0]}),
}
kinds = pytest.mark.parametrize(("learner", "about"), KINDS.values(), ids=KINDS.keys())


@pytest.fixture
def starts(monkeypatch):
    found, init = [], LivePlayer.__init__

    def counting(self, *args):
        found.append(type(self).__name__)
        init(self, *args)

    monkeypatch.setattr(LivePlayer, "__init__", counting)
    return found


@kinds
def test_opening_a_study_starts_its_player_once(tmp_path, starts, learner, about):
    path = tmp_path / "study.db"
    ways = (
        lambda: uli.Study.open(path, learner, **about).close(),  # begins it
        lambda: uli.Study.open(path).close(),
        lambda: uli.Study.open(path, learner, **about).close(),
        lambda: uli.Study.read(path),
        lambda: uli.Study.audit(path),
    )
    for way in ways:
        starts.clear()
        way()
        assert len(starts) == 1


@kinds
def test_a_study_that_begins_decides_as_it_does_when_opened_again(tmp_path, learner, about):
    path, request = tmp_path / "study.db", {"state": 0} if "rewards" in about else {}
    with uli.Study.open(path, learner, **about) as study:
        decisions = [study.ask(f"p{i}", **request) for i in range(5)]
        state = study._replay.player.state()
    for given in ({}, {"learner": learner, **about}):
        with uli.Study.open(path, **given) as again:
            assert again._replay.player.state() == state
            known = [again.ask(f"p{i}", **request) for i in range(5)]
            assert repr(known) == repr(decisions)


def test_what_is_given_later_must_be_what_the_study_began_with(tmp_path):
    path = tmp_path / "study.db"
    learner, about = KINDS["vectors"]
    arms = VECTORS.copy()
    uli.Study.open(path, learner, **about | {"arms": arms}).close()
    arms[0, 0] = 0.5
    for other in ({"arms": arms}, {"intercept": 0.25}, {"high": 1.0, "low": 0.0}):
        with pytest.raises(ArgumentError, match="begun with"):
            uli.Study.open(path, learner, **about | other)


def test_arrays_that_change_after_the_beginning_change_nothing(tmp_path):
    learner, about = KINDS["vectors"]
    arms = VECTORS.copy()
    with uli.Study.open(tmp_path / "study.db", learner, **about | {"arms": arms}) as study:
        arms[:] = 0.0
        assert (study._replay.player.features == VECTORS).all()
        study.tell(study.ask().id, 0.5)
        study._play_again()
        assert (study._replay.player.features == VECTORS).all()
