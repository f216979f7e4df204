"""The queue of decisions: order, telling twice, what is missing, saving."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uli_fast.errors import ArgumentError, ConflictingRewardError, StateError, UnknownDecisionError
from uli_fast.players._queue import DecisionQueue


def queue(n=0):
    found = DecisionQueue("reward", int)
    for i in range(n):
        assert found.add(100 + i) == i + 1
    return found


def taken(found, end=None):
    """Settle what can be settled; return it in the order in which it was taken in."""
    seen = []
    found.settle(lambda decision, outcome: seen.append((decision, outcome)), end)
    return seen


@settings(deadline=None, derandomize=True)
@given(st.permutations(range(6)), st.sets(st.integers(0, 5)))
def test_outcomes_are_taken_in_by_the_order_of_decisions_whatever_order_they_come_in(order, lost):
    found, seen = queue(6), []
    for told, i in enumerate(order, start=1):
        new = found.tell_missing(i, "gone") if i in lost else found.tell(i, 10 + i)
        assert new
        seen += taken(found)
        known = set(order[:told])
        ahead = next((j for j in range(6) if j not in known), 6)
        assert len(seen) == found.settled == ahead and found.waiting == (ahead < 6)
        assert found.pending == tuple(j + 1 for j in range(6) if j not in known)
    assert seen == [(100 + i, None if i in lost else 10 + i) for i in range(6)]


def test_telling_the_same_again_is_nothing_new_and_something_else_is_refused():
    found = queue(2)
    assert found.tell(0, 0.5) and not found.tell(0, 0.5)
    with pytest.raises(ConflictingRewardError, match=r"decision 1 already has reward 0\.5, got 0"):
        found.tell(0, 0.0)
    with pytest.raises(ConflictingRewardError, match=r"decision 1 already has 0\.5"):
        found.tell_missing(0, "gone")
    assert found.tell_missing(1, "gone") and not found.tell_missing(1, "gone")
    with pytest.raises(ConflictingRewardError, match="missing already: 'gone', got 'lost'"):
        found.tell_missing(1, "lost")
    with pytest.raises(ConflictingRewardError, match="decision 2 is missing: 'gone'"):
        found.tell(1, 0.5)
    with pytest.raises(ArgumentError, match="reason"):
        found.tell_missing(1, "")
    assert [found.became(i) for i in (0, 1)] == [(0.5, None), (None, "gone")]


def test_what_is_refused_leaves_no_trace():
    found = queue(1)
    with pytest.raises(ArgumentError):
        found.tell_missing(0, 3)
    assert found.pending == (1,) and found.save() == queue(1).save()


@pytest.mark.parametrize("id", [0, 3, -1, 1.0, "1", None])
def test_ids_that_nobody_gave_out_are_unknown(id):
    with pytest.raises(UnknownDecisionError):
        queue(2).position(id)


def test_settling_stops_where_it_is_told_to():
    found = queue(3)
    for i in range(3):
        found.tell(i, i)
    assert taken(found, 2) == [(100, 0), (101, 1)]
    assert taken(found) == [(102, 2)] and taken(found) == []


def test_what_is_taken_back_can_be_told_otherwise():
    found = queue(2)
    found.tell(0, 1)
    assert taken(found)
    found.take_back(0, 0)
    assert found.pending == (1, 2) and found.tell_missing(0, "gone")
    found.take_back(0, 0)
    assert found.tell(0, 2) and taken(found) == [(100, 2)]


def spoken():
    """Return a queue of pairs: one is settled, one awaited, one missing, one told too early."""
    found = DecisionQueue("states", tuple)
    for i in range(4):
        found.add((i, 7))
    found.tell(0, (0, 1))
    found.tell_missing(2, "gone")
    found.tell(3, (1, 1))
    taken(found)
    return found


def test_a_saved_queue_comes_back():
    found = spoken()
    saved = json.loads(json.dumps(found.save()))
    assert saved == {
        "decisions": [[0, 7], [1, 7], [2, 7], [3, 7]],
        "outcomes": [[0, 1], None, None, [1, 1]],
        "missing": [[3, "gone"]],
        "seen": [0, 0, 0, 0],
        "settled": 1,
        "forgotten": [0, 0],
    }
    again = DecisionQueue("states", tuple)
    again.load(saved)
    assert vars(again) == vars(found)
    again.tell(1, (0, 0))
    assert len(taken(again)) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"settled": 2},  # awaited
        {"settled": 5},
        {"settled": -1},
        {"settled": 1.5},
        {"missing": [[1, "gone"]]},  # which has an outcome
        {"missing": [[5, "gone"]]},
        {"missing": [[3, ""]]},
        {"missing": [[3, "gone"], [3, "lost"]]},
        {"missing": {"3": "gone"}},
        {"outcomes": [[0, 1]]},
        {"decisions": [[0, 7], [1, 7], [2, 7], [3, "7"]]},
        {"seen": [0, 0, 0]},
        {"seen": [0, 0, 1, 0]},
        {"seen": [1, 1, 1, 1]},
        {"seen": [0, 0, 0, -1]},
        {"seen": [0, 0, 0, 1.0]},
    ],
)
def test_a_saved_queue_that_contradicts_itself_is_refused(change):
    with pytest.raises(ArgumentError):
        DecisionQueue("states", tuple).load(spoken().save() | change)


def test_a_list_is_wanted_of_what_is_missing():
    with pytest.raises(StateError, match="must be a list"):
        DecisionQueue("states", tuple).load(spoken().save() | {"missing": "gone"})


def test_a_copy_is_told_everything_and_has_settled_nothing():
    found, other = DecisionQueue("states", tuple), spoken()
    found.copy(other)
    assert found.save() == other.save() | {"settled": 0}
    found.tell(1, (5, 5))
    assert other.outcomes[1] is None
    fresh = queue(3)
    for i in (0, 2):
        fresh.copy_outcome(other, i)
    assert fresh.outcomes == [(0, 1), None, None] and fresh.missing == {2: "gone"}


@settings(deadline=None, derandomize=True)
@given(st.permutations(range(6)), st.sets(st.integers(0, 5)), st.sets(st.integers(0, 5)))
def test_what_is_forgotten_is_asked_of_somebody_else(order, lost, moments):
    """Whenever a queue forgets, it goes on as one that remembers."""
    whole, short = queue(6), queue(6)
    for i, position in enumerate(order):
        told = []
        for found in (whole, short):
            missing = position in lost
            told.append(found.tell_missing(position, "x") if missing else found.tell(position, i))
            told.append(taken(found))
        assert told[:2] == told[2:]
        if i in moments:
            short.forget()
            assert short.forgotten == short.settled
        short.recall = whole.became
        assert (len(short), short.settled, short.pending) == (6, whole.settled, whole.pending)
        assert short.told_missing == whole.told_missing and short.waiting == whole.waiting
        for j in range(6):
            assert short.became(j) == whole.became(j)
    again = queue()
    again.load(json.loads(json.dumps(short.save())))
    assert again.save() == short.save() and again.forgotten == short.forgotten


def test_what_is_forgotten_is_settled_and_not_held():
    found = queue(4)
    for i in range(3):
        found.tell_missing(i, "gone") if i == 1 else found.tell(i, 10 + i)
    taken(found, 2)
    assert found.forget() == 2 and found.forget() == 0
    assert found.decisions == [102, 103] and found.missing == {}
    assert found.save()["forgotten"] == [2, 1]
    with pytest.raises(StateError, match="was forgotten"):
        found.tell(0, 10)
    found.recall = [(10, None), (None, "gone")].__getitem__
    assert not found.tell(0, 10) and not found.tell_missing(1, "gone")
    with pytest.raises(ConflictingRewardError):
        found.tell(0, 11)
    with pytest.raises(ConflictingRewardError):
        found.tell(1, 11)
    assert taken(found) == [(102, 12)] and found.add(104) == 5


@pytest.mark.parametrize("forgotten", [[-1, 0], [3, 4], [2], "x", [0.5, 0], [5, 0]])
def test_what_was_forgotten_must_make_sense(forgotten):
    found = queue(2)
    found.tell(0, 1)
    taken(found)
    found.forget()
    saved = found.save() | {"forgotten": forgotten}
    with pytest.raises((ArgumentError, ValueError)):
        queue().load(saved)


def test_a_queue_knows_how_much_was_settled_when_a_decision_was_asked_for():
    found = queue(2)
    found.tell(0, 1)
    taken(found)
    found.add(7)
    found.tell(2, 1)
    taken(found)
    found.add(8)
    found.tell(1, 1)
    taken(found)
    found.add(9)
    assert found.seen == [0, 0, 1, 1, 3]
    found.forget()
    assert found.seen == [1, 3] and found.save()["seen"] == [1, 3]
