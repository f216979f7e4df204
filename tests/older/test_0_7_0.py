"""What version 0.7.0 wrote with mode "sharp", and its bounds, mean what they meant."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import uli_fast as uli
from tests.older.write_sharp import AT, DELTA, PLAYERS, ROUNDS, RUNS, SMALL
from uli_fast.errors import ArgumentError, StateError

KEPT = Path(__file__).parent / "v0_7_0_sharp.zip"
OLD = {"exp3p": "sharp-0.7", "hedge": "sharp-0.7", "paper": "paper"}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("older") / "v0_7_0"
    shutil.unpack_archive(KEPT, folder)
    return folder


def states(kept):
    return json.loads((kept / "players.json").read_text())


@pytest.mark.parametrize("name", PLAYERS)
def test_a_saved_player_goes_on_as_it_would_have(kept, name):
    """Phases are as long as they were: every later decision is the same draw."""
    from tests.older.write import said

    then = states(kept)[name]
    player = uli.restore(then["state"])
    assert player.learner.mode == OLD[name] and player.phase == then["phase"]
    again = uli.restore(json.loads(json.dumps(player.state())))
    assert again.learner.mode == OLD[name]
    assert said(player) == said(again) == then["said"]


def test_read_as_the_sharp_of_today_it_would_be_refused(kept):
    """Its decisions are others: the fixture shows a silent change."""
    state = states(kept)["exp3p"]["state"]
    with pytest.raises(StateError):
        uli.restore({**state, "schema": 4})
    with pytest.raises(StateError, match="learner"):
        uli.restore(state, learner=uli.MetaElimination(uli.Exp3P(constant=SMALL), DELTA, "sharp"))


@pytest.mark.parametrize("name", PLAYERS)
def test_a_study_goes_on_as_it_would_have(kept, tmp_path, name):
    path = tmp_path / "study.db"
    shutil.copy(kept / f"{name}.db", path)
    then = states(kept)[name]["said"]
    with uli.Study.open(path) as study:
        assert study.learner.mode == OLD[name]
        assert list(study.active) == then["active"] and study.ask().arm == then["next"][0]
    assert len(uli.Study.audit(path).history) == ROUNDS[name] + 1


def test_a_study_is_opened_with_the_learner_that_it_means(kept, tmp_path):
    for name in PLAYERS:
        shutil.copy(kept / f"{name}.db", tmp_path / f"{name}.db")
    small = uli.Exp3P(constant=SMALL)
    uli.Study.open(tmp_path / "exp3p.db", uli.MetaElimination(small, DELTA, "sharp-0.7")).close()
    with pytest.raises(ArgumentError, match=r"begun with .*sharp-0\.7"):
        uli.Study.open(tmp_path / "exp3p.db", uli.MetaElimination(small, DELTA, "sharp"))
    for base in (uli.Exp3P(), uli.Exp3P(constant=361)):
        uli.Study.open(tmp_path / "paper.db", uli.MetaElimination(base, 0.1)).close()
    with pytest.raises(ArgumentError, match="learner"):
        uli.Study.open(tmp_path / "paper.db", uli.MetaElimination(uli.Exp3P(constant=62), 0.1))


def test_a_study_of_today_says_which_sharp_it_means(tmp_path):
    learner = uli.MetaElimination(uli.Exp3P(constant=SMALL), 0.1, mode="sharp")
    path = tmp_path / "new.db"
    with uli.Study.open(path, learner, arms=2, seed=1) as study:
        study.tell(study.ask().id, 0.5)
    with uli.Study.open(path) as study:
        assert study.learner == learner


@pytest.mark.parametrize("name", RUNS)
def test_saved_runs_keep_the_bound_that_they_were_made_with(kept, name):
    runs = uli.Runs.load(kept / "runs" / name)
    then = json.loads((kept / "bounds.json").read_text())[name]
    assert [runs.guarantee.bound(t) for t in AT] == then
    assert not runs.guarantee.formula.endswith("-schedule") and runs.guarantee.constants
