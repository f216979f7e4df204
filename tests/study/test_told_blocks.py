"""Studies that are told counts and sums."""

import json

import pytest

import uli_fast as uli
from uli_fast.errors import (
    ArgumentError,
    ConflictingRewardError,
    StudyDivergedError,
    UliError,
    UnsupportedError,
)
from uli_fast.study.events import digest
from uli_fast.study.past import Listed

ARMS = ["a", "b"]
MONDAY = {"a": (100, 60.0), "b": (50, 20.0, 5)}


@pytest.fixture
def study(place):
    with place.open(uli.BettingElimination(0.1), ARMS) as found:
        yield found


def test_blocks_are_on_the_disk_and_play_again(study, place):
    for _ in range(2):
        study.tell(study.ask().id, 1.0)
    assert study.allocation() == {"a": 2, "b": 1}
    study.tell_block(MONDAY, "monday")
    study.tell(study.ask("patient").id, 0.5)
    state, certificate = study._replay.player.state(), study.certificate()
    counts = {"a": 102, "b": 46}
    study.close()
    with place.open() as again:
        assert again._replay.player.state() == state and again.certificate() == certificate
        assert {arm: n["reward"] for arm, n in again.counts().items()} == counts
        assert again.counts()["b"]["missing"] == 5
        (block,) = again.blocks()
        assert block.id == "monday" and (block.plays, block.missing) == (150, 5)
        assert block.sums == {"a": (100, 60.0, 0), "b": (50, 20.0, 5)}
        assert [r.id for r in again.history()] == [1, 2, 3]
    audit = place.audit()
    assert audit.block_words == "1 block of sums: 145 rewards, 5 missing"
    b = audit.arms[1]
    assert (b.rewards, b.missing) == (46, 5) and b.mean == pytest.approx(21.0 / 46)
    assert "missing outcomes (5) taken at their worst" in audit.certificate


def test_a_block_told_twice_counts_once(study):
    study.tell_block(MONDAY, "monday")
    events, state = len(list(study._journal.events())), study._replay.player.state()
    study.tell_block(MONDAY, "monday")
    with pytest.raises(ConflictingRewardError) as caught:
        study.tell_block({"a": (100, 61.0), "b": (50, 20.0, 5)}, "monday")
    assert caught.value.argument == "sums"
    assert len(list(study._journal.events())) == events
    assert study._replay.player.state() == state and not study._stale


@pytest.mark.parametrize(
    ("sums", "block_id", "argument"),
    [
        ({"a": (1, 2.0), "b": (1, 0.0)}, "x", "sums"),
        ({"a": (1, 1.0)}, "x", "sums"),
        (MONDAY, None, "block_id"),
        (MONDAY, "", "block_id"),
        (MONDAY, 3, "block_id"),
    ],
)
def test_what_is_refused_is_not_recorded(study, sums, block_id, argument):
    with pytest.raises(ArgumentError) as caught:
        study.tell_block(sums, block_id)
    assert caught.value.argument == argument
    assert study.blocks() == () and len(list(study._journal.events())) == 1


def test_a_block_waits_for_decisions_to_settle(study):
    d = study.ask()
    with pytest.raises(ArgumentError, match="awaited"):
        study.tell_block(MONDAY, "monday")
    with pytest.raises(UliError, match="awaited"):
        study.allocation()
    study.tell(d.id, 1.0)
    study.tell(study.ask().id, 1.0)
    study.tell_block(MONDAY, "monday")
    assert len(study.blocks()) == 1


def test_other_learners_take_no_blocks(place):
    with place.open(uli.SuccessiveElimination(0.1), ARMS) as study:
        for call in (study.allocation, lambda: study.tell_block(MONDAY, "monday")):
            with pytest.raises(UnsupportedError, match="one by one"):
                call()


def test_a_stale_player_is_made_again_with_its_blocks(study):
    study.tell_block(MONDAY, "monday")
    state = study._replay.player.state()
    study._stale = True
    assert study.certificate().round == 151 and study._replay.player.state() == state
    study._saved = study._replay.saved()
    study.tell_block(MONDAY, "tuesday")
    state = study._replay.player.state()
    study._stale = True
    assert len(study.blocks()) == 2 and study._replay.player.state() == state


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x["sums"].append(["a", 1, 1.0, 0]),
        lambda x: x["sums"].__setitem__(0, ["z", 1, 1.0, 0]),
        lambda x: x["sums"].__setitem__(0, ["a", 1, 9.0, 0]),
        lambda x: x["sums"].pop(),
        lambda x: x.pop("sums"),
        lambda x: x.__setitem__("block", "monday"),
        lambda x: x.__setitem__("block", None),
    ],
)
def test_blocks_that_make_no_sense_are_refused(study, place, change):
    study.tell_block(MONDAY, "monday")
    study.tell_block(MONDAY, "tuesday")
    study.close()
    *events, last = place.events()
    content = last.content
    change(content)
    forged = last._replace(payload=json.dumps(content, separators=(",", ":")))
    forged = forged._replace(hash=digest(forged))
    with pytest.raises(StudyDivergedError):
        uli.Study._played(study.path, None, Listed([*events, forged]), None, {})
